"""Rows and named ratios, from made-up timings."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from decoder.streaming.bench import goals
from decoder.streaming.bench.report import (
    BackendReport,
    BenchReport,
    Footprint,
    Goal,
    other_row,
    step_row,
    streams_row,
)
from decoder.streaming.bench.timing import Timing

GFLOP_PER_FRAME = 5.0
PEAK = 200.0


def backend(name: str, milliseconds: dict[int, float], snr_db: float = 100.0) -> BackendReport:
    steps = [
        step_row(frames, Timing([ms / 1e3]), GFLOP_PER_FRAME, PEAK) for frames, ms in milliseconds.items()
    ]
    footprint = Footprint(1.0, 1.5, 2.0, 1_000_000_000, 1_200_000_000)
    return BackendReport(name, snr_db, 5_000_000, steps, footprint, drift=1.01)


def report(*backends: BackendReport, official: bool = True) -> BenchReport:
    rows = [
        other_row(goals.OFFICIAL_ONE, 1, Timing([0.2])),
        other_row(goals.DESCRIBED, 25, Timing([5.0])),
    ]
    return BenchReport(
        machine="m",
        versions="v",
        device="cpu",
        threads=2,
        weights="random",
        load_average=None,
        gflop_per_frame=GFLOP_PER_FRAME,
        conv_peak_gflop_per_s={"float32": PEAK},
        conv_peak_best_gflop_per_s={"float32": 1.5 * PEAK},
        backends=list(backends),
        official=rows if official else [],
    )


EXACT = backend("exact", {1: 40.0, 12: 330.0, 25: 500.0})
FAST = backend("fast", {1: 30.0, 12: 165.0}, snr_db=34.0)


def values(found: BenchReport) -> dict[str, float]:
    return {goal.name: round(goal.value, 4) for goal in goals.with_goals(found).goals}


def test_a_step_is_put_in_proportion() -> None:
    """12 frames, 0.96 s of sound, 60 GFLOP, in 0.48 s."""
    row = step_row(12, Timing([0.48, 0.40, 0.60]), GFLOP_PER_FRAME, PEAK)
    assert row.rtf == pytest.approx(0.5)
    assert row.gflop_per_s == pytest.approx(125.0)
    assert row.peak_share == pytest.approx(0.625)
    assert (row.median_ms, row.samples) == (pytest.approx(480.0), 3)
    assert step_row(12, Timing([0.48]), GFLOP_PER_FRAME, None).peak_share is None


def test_streams_are_counted_in_real_time() -> None:
    """Four streams of one frame, 0.32 s of sound, in 0.16 s: eight could be kept supplied in turn."""
    assert streams_row("n", 4, 1, Timing([0.16])).real_time_streams == pytest.approx(2.0)


def test_the_exact_ratios() -> None:
    assert values(report(EXACT)) == {
        "exact: SNR against the whole forward": 100.0,
        "exact: 1-frame step ÷ official 1-frame forward": 0.2,
        "exact: 12-frame steps ÷ direct-convolution floor": 1.1,
        "exact: 25-frame steps ÷ described scheme": 0.1,
        "exact: steps 1000-1010 ÷ steps 10-20": 1.01,
        "exact: load, file in the page cache": 1.5,
        "exact: resident memory of a headless process": 1.0,
    }


def test_reduced_modes_are_held_against_the_exact_one() -> None:
    found = goals.with_goals(report(EXACT, FAST)).goals
    reduced = {goal.name: goal for goal in found if goal.name.startswith("fast")}
    assert reduced["fast: 12-frame steps ÷ exact ones"].value == pytest.approx(0.5)
    assert reduced["fast: 12-frame steps ÷ exact ones"].reached
    assert reduced["fast: 1-frame step ÷ official 1-frame forward"].value == pytest.approx(0.15)
    assert not reduced["fast: SNR against the whole forward"].reached
    assert not reduced["fast: resident memory of a headless process"].reached


def test_the_fastest_runs_make_ratios_too() -> None:
    """A disturbance that hit one side only shows as a difference between the two."""
    steps = [
        step_row(frames, Timing([ms / 1e3, ms / 2e3]), GFLOP_PER_FRAME, PEAK)
        for frames, ms in ((1, 40.0), (12, 330.0))
    ]
    found = {goal.name: goal for goal in goals.with_goals(report(replace(EXACT, steps=steps))).goals}
    assert found["exact: 1-frame step ÷ official 1-frame forward"].undisturbed == pytest.approx(0.1)
    assert found["exact: 12-frame steps ÷ direct-convolution floor"].undisturbed == pytest.approx(0.825)


def test_what_was_not_measured_is_no_goal() -> None:
    bare = replace(EXACT, footprint=None, drift=None)
    assert list(values(report(bare, official=False))) == [
        "exact: SNR against the whole forward",
        "exact: 12-frame steps ÷ direct-convolution floor",
    ]
    assert list(values(report(replace(FAST, footprint=None), official=False))) == [
        "fast: SNR against the whole forward"
    ]


def test_decibels_are_to_be_exceeded() -> None:
    assert Goal("snr", 90.0, 80.0, "dB").reached
    assert not Goal("time", 90.0, 80.0, "s").reached
    assert not Goal("nothing", math.nan, 1.0).reached


def test_json_is_strict() -> None:
    """Infinity, as equal signals have, is no JSON."""
    found = goals.with_goals(report(replace(EXACT, snr_db=math.inf)))
    text = json.dumps(found.to_dict(), allow_nan=False)
    parsed = json.loads(text)
    assert parsed["backends"][0]["snr_db"] is None
    assert parsed["goals"][1]["reached"] is True
