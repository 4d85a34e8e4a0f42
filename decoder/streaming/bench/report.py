"""What a bench found: rows, and the goals that they are held against. Needs no torch."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from decoder.streaming.bench.timing import Timing

FRAME_S = 0.08
"""Sound in one frame."""


@dataclass(frozen=True)
class StepRow:
    """Steps of one length."""

    frames: int
    median_ms: float
    p95_ms: float
    best_ms: float
    """The fastest run: what it takes when nothing disturbs it."""
    cpu_ms: float
    """Median CPU time of all threads together."""
    rtf: float
    """Median time ÷ duration of the sound."""
    gflop_per_s: float
    """Of the direct form's arithmetic; a fast convolution does less, and may so exceed the peak."""
    peak_share: float | None
    """Of the convolution peak in float32, measured in the same run."""
    samples: int


@dataclass(frozen=True)
class OtherRow:
    """Something that is compared with."""

    name: str
    new_frames: int
    """That a listener gets from one run."""
    median_ms: float
    p95_ms: float
    best_ms: float
    """The fastest run: what it takes when nothing disturbs it."""
    cpu_ms: float
    """Median CPU time of all threads together."""
    rtf: float
    samples: int


@dataclass(frozen=True)
class StreamsRow:
    """Many utterances side by side."""

    name: str
    streams: int
    frames: int
    """Of each, per step."""
    median_ms: float
    """For a step of all of them."""
    real_time_streams: float
    """How many this rate would keep supplied."""


@dataclass(frozen=True)
class Footprint:
    """Of a process of its own that loads the checkpoint and decodes, and does nothing else."""

    import_s: float
    """Until torch and the decoder are imported."""
    load_s: float
    """From there until the weights can be used; the file was in the page cache."""
    warm_up_s: float
    """First steps of 1, 4, 12 and 25 frames, twice each."""
    resident_bytes: int | None
    """Afterwards; the mapped checkpoint counts."""
    peak_bytes: int | None


@dataclass(frozen=True)
class BackendReport:
    """One way to decode."""

    name: str
    snr_db: float
    """Of its steps against the float32 whole forward."""
    state_bytes: int
    """Of one utterance, window full."""
    steps: list[StepRow]
    footprint: Footprint | None = None
    drift: float | None = None
    """Median time of steps 1000 to 1010 ÷ that of steps 10 to 20."""

    def step(self, frames: int) -> StepRow | None:
        """Return the row for steps of ``frames``."""
        return next((row for row in self.steps if row.frames == frames), None)


@dataclass(frozen=True)
class Goal:
    """A number with what it should be at most (or, for decibels, at least)."""

    name: str
    value: float
    target: float
    unit: str = ""
    undisturbed: float | None = None
    """The same of the fastest runs, where the value is a ratio of medians: a busy machine shows there."""

    @property
    def reached(self) -> bool:
        """Whether it is."""
        return self.value >= self.target if self.unit == "dB" else self.value <= self.target


@dataclass(frozen=True)
class BenchReport:
    """All of it."""

    machine: str
    versions: str
    device: str
    threads: int
    weights: str
    """Where they are from."""
    load_average: float | None
    """Of the machine in the minute before: what else was running."""
    gflop_per_frame: float
    conv_peak_gflop_per_s: dict[str, float]
    """By type; medians."""
    conv_peak_best_gflop_per_s: dict[str, float]
    """By type; of the fastest runs."""
    backends: list[BackendReport]
    official: list[OtherRow] = field(default_factory=list)
    streams: list[StreamsRow] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; what is infinite or no number becomes None."""
        values = asdict(self)
        values["goals"] = [{**asdict(goal), "reached": goal.reached} for goal in self.goals]
        return {key: _plain(value) for key, value in values.items()}


def step_row(frames: int, timing: Timing, gflop_per_frame: float, peak_gflop_per_s: float | None) -> StepRow:
    """Make a row of the samples of steps of ``frames``."""
    rate = gflop_per_frame * frames / timing.median_s
    return StepRow(
        frames=frames,
        median_ms=timing.median_s * 1e3,
        p95_ms=timing.p95_s * 1e3,
        best_ms=timing.best_s * 1e3,
        cpu_ms=timing.median_cpu_s * 1e3,
        rtf=timing.median_s / (frames * FRAME_S),
        gflop_per_s=rate,
        peak_share=rate / peak_gflop_per_s if peak_gflop_per_s else None,
        samples=len(timing.samples_s),
    )


def other_row(name: str, new_frames: int, timing: Timing) -> OtherRow:
    """Make a row of the samples of something that is compared with."""
    return OtherRow(
        name=name,
        new_frames=new_frames,
        median_ms=timing.median_s * 1e3,
        p95_ms=timing.p95_s * 1e3,
        best_ms=timing.best_s * 1e3,
        cpu_ms=timing.median_cpu_s * 1e3,
        rtf=timing.median_s / (new_frames * FRAME_S),
        samples=len(timing.samples_s),
    )


def streams_row(name: str, streams: int, frames: int, timing: Timing) -> StreamsRow:
    """Make a row of the samples of a step of all streams."""
    return StreamsRow(
        name=name,
        streams=streams,
        frames=frames,
        median_ms=timing.median_s * 1e3,
        real_time_streams=streams * frames * FRAME_S / timing.median_s,
    )


def _plain(value: Any) -> Any:
    """Round-trip through JSON must not need its extensions."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
