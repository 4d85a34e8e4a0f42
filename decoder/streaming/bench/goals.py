"""The named ratios of a run, and what each should be. Needs no torch."""

from __future__ import annotations

from dataclasses import replace

from decoder.streaming.bench.report import BackendReport, BenchReport, Goal, OtherRow, StepRow

OFFICIAL_ONE = "official, 1 frame"
OFFICIAL_WHOLE = "official, whole forward of 125 frames"
DESCRIBED = "official, 25 new frames with 72 old ones"
"""Names of the rows that are compared with."""

EXACT = "exact"
"""The float32 backend; every other one is held against it."""

_UNJUDGED = frozenset({"modules"})
"""What others are made from, not what decodes."""

_GB = 1e9


def with_goals(report: BenchReport) -> BenchReport:
    """Return the report with every goal that its rows allow to judge."""
    goals: list[Goal] = []
    exact = next((backend for backend in report.backends if backend.name == EXACT), None)
    for backend in report.backends:
        if backend.name == EXACT:
            goals += _exact_goals(backend, report)
        elif backend.name not in _UNJUDGED:
            goals += _reduced_goals(backend, exact, report)
    return replace(report, goals=goals)


def _exact_goals(exact: BackendReport, report: BenchReport) -> list[Goal]:
    goals = [Goal("exact: SNR against the whole forward", exact.snr_db, 80.0, "dB")]
    goals += _against(exact, 1, OFFICIAL_ONE, report, "1-frame step ÷ official 1-frame forward", 0.22)
    if (row := exact.step(12)) and (peak := report.conv_peak_gflop_per_s.get("float32")):
        per_ms = 12 * report.gflop_per_frame * 1e3
        best = row.best_ms * report.conv_peak_best_gflop_per_s["float32"] / per_ms
        name = "exact: 12-frame steps ÷ direct-convolution floor"
        goals.append(Goal(name, row.median_ms * peak / per_ms, 1.15, undisturbed=best))
    goals += _against(exact, 25, DESCRIBED, report, "25-frame steps ÷ described scheme", 0.11)
    if exact.drift is not None:
        goals.append(Goal("exact: steps 1000-1010 ÷ steps 10-20", exact.drift, 1.05))
    goals += _footprint_goals(exact, resident_gb=1.1)
    return goals


def _reduced_goals(backend: BackendReport, exact: BackendReport | None, report: BenchReport) -> list[Goal]:
    name = backend.name
    goals = [Goal(f"{name}: SNR against the whole forward", backend.snr_db, 35.0, "dB")]
    ours, theirs = backend.step(12), exact.step(12) if exact else None
    if ours and theirs:
        goals.append(_ratio(f"{name}: 12-frame steps ÷ exact ones", ours, theirs, 0.5))
    goals += _against(backend, 1, OFFICIAL_ONE, report, "1-frame step ÷ official 1-frame forward", 0.15)
    goals += _footprint_goals(backend, resident_gb=0.8)
    return goals


def _against(
    backend: BackendReport, frames: int, other: str, report: BenchReport, name: str, target: float
) -> list[Goal]:
    ours, theirs = backend.step(frames), _row(report.official, other)
    if not ours or not theirs:
        return []
    return [_ratio(f"{backend.name}: {name}", ours, theirs, target)]


def _ratio(name: str, ours: StepRow, theirs: StepRow | OtherRow, target: float) -> Goal:
    value, undisturbed = ours.median_ms / theirs.median_ms, ours.best_ms / theirs.best_ms
    return Goal(name, value, target, undisturbed=undisturbed)


def _footprint_goals(backend: BackendReport, resident_gb: float) -> list[Goal]:
    footprint = backend.footprint
    if footprint is None:
        return []
    goals = [Goal(f"{backend.name}: load, file in the page cache", footprint.load_s, 2.0, "s")]
    if footprint.resident_bytes is not None:
        name = f"{backend.name}: resident memory of a headless process"
        goals.append(Goal(name, footprint.resident_bytes / _GB, resident_gb, "GB"))
    return goals


def _row(rows: list[OtherRow], name: str) -> OtherRow | None:
    return next((row for row in rows if row.name == name), None)
