"""The bench: loads, checks, times everything in turn, and reports."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from decoder.streaming.backend import Backend
from decoder.streaming.bench import cases, goals
from decoder.streaming.bench.checks import drift, stepped
from decoder.streaming.bench.footprint import footprint
from decoder.streaming.bench.official import official_forward
from decoder.streaming.bench.peak import ConvPeak, find_peak
from decoder.streaming.bench.report import (
    BackendReport,
    BenchReport,
    OtherRow,
    StreamsRow,
    other_row,
    step_row,
    streams_row,
)
from decoder.streaming.bench.subject import CodeSource, checkpoint_folder, load_weights, make_backends
from decoder.streaming.bench.timing import Case, Timing, time_in_turn
from decoder.streaming.checkpoint import load_checkpoint
from decoder.streaming.cost import macs_per_frame
from decoder.streaming.machine import this_machine
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.snr import snr_db
from decoder.streaming.threads import choose_threads, decode_settings
from decoder.streaming.tune import choose

STEP_FRAMES = (1, 2, 4, 12, 25)
"""Step lengths that are measured."""
STREAM_STEP_FRAMES = (1, 4, 12)
"""Step lengths of many streams."""
_COMPARED_FRAMES = 100
"""Decoded to compare with the whole forward; longer than the window."""

Tell = Callable[[str], object]
"""Hears what is going on."""


@dataclass(frozen=True)
class BenchRequest:
    """What to measure.

    Attributes:
        checkpoint: folder or repository id; None makes random weights of full size.
        precision: ``exact``, ``auto`` or ``fast``, as ``load_decoder``'s; what is not exact is measured
            beside what is.
        backends: names, as in ``backend.backends``, in place of what ``precision`` stands for.
        device: ``cpu`` or ``cuda``.
        threads: of the CPU; None chooses as the application does.
        rounds: in which every case is timed in turn, at most.
        limit_s: no new round starts later than this after the first.
        step_frames: lengths of the steps.
        official: compare with qwen-tts.
        streams: utterances side by side; 1 leaves that out.
        drift: compare late steps with early ones (a minute or so).
        footprint: measure load time and memory in processes of their own.
        also: modules that those processes import as well.

    """

    checkpoint: str | None = None
    precision: str = goals.EXACT
    backends: tuple[str, ...] = ()
    device: str = "cpu"
    threads: int | None = None
    rounds: int = 5
    limit_s: float = math.inf
    step_frames: tuple[int, ...] = STEP_FRAMES
    official: bool = False
    streams: int = 1
    drift: bool = False
    footprint: bool = True
    also: tuple[str, ...] = ()


def bench(request: BenchRequest, tell: Tell = lambda _: None) -> BenchReport:
    """Measure.

    Raises:
        CheckpointError: no such checkpoint.
        BenchError: something that was asked for is missing here.
        ValueError: ``threads`` is below 1.

    """
    load_average = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    tell("preparing weights")
    with checkpoint_folder(request.checkpoint) as (folder, weights):
        decoder = load_weights(folder, request.device)
        threads = choose_threads(request.threads, macs_per_frame=macs_per_frame(decoder))
        if request.precision == "auto" and not request.backends:
            tell("choosing by measurement")
            choice = choose(decoder, threads=request.threads)
            request, threads = replace(request, precision=choice.backend), choice.threads
        with decode_settings(threads):
            run = _Run(request, decoder, folder, threads, tell)
            return run.report(weights, load_average)


class _Run:
    """One run of the bench."""

    def __init__(
        self,
        request: BenchRequest,
        decoder: Qwen3TTSTokenizerV2Decoder,
        folder: Path,
        threads: int,
        tell: Tell,
    ) -> None:
        self.request = request
        self.decoder = decoder
        self.folder = folder
        self.threads = threads
        self.tell = tell
        self.codes = CodeSource(decoder)
        self.gflop_per_frame = 2e-9 * macs_per_frame(decoder)

    def report(self, weights: str, load_average: float | None) -> BenchReport:
        """Measure everything and put it together."""
        # First what can fail, then what takes time.
        made = make_backends(self.decoder, self._names())
        official = official_forward(self.decoder) if self.request.official else None
        snr_of = self._compare(made)
        peaks = self._find_peaks()
        timed = [cases.peak_case(name, peak) for name, peak in peaks.items()]
        timed += [case for backend in made for case in self._backend_cases(backend)]
        timed += self._batched_cases()
        timed += cases.official_cases(official, self.codes) if official else []
        timings = self._time(timed)
        peak_timings = {name: timings[cases.peak_case_name(name)] for name in peaks}
        rates = {name: peak.gflop_per_s(peak_timings[name].median_s) for name, peak in peaks.items()}
        best = {name: peak.gflop_per_s(peak_timings[name].best_s) for name, peak in peaks.items()}
        return goals.with_goals(
            BenchReport(
                machine=this_machine().describe(),
                versions=f"torch {torch.__version__}, Python {platform.python_version()}",
                device=_device_name(self.request.device),
                threads=self.threads,
                weights=weights,
                load_average=load_average,
                gflop_per_frame=self.gflop_per_frame,
                conv_peak_gflop_per_s=rates,
                conv_peak_best_gflop_per_s=best,
                backends=[self._backend_report(b, snr_of[b.name], timings, rates["float32"]) for b in made],
                official=self._official_rows(timings) if official else [],
                streams=self._streams_rows(made, timings),
            )
        )

    def _names(self) -> tuple[str, ...]:
        """Return the backends to measure."""
        if self.request.backends:
            return self.request.backends
        return tuple(dict.fromkeys((goals.EXACT, self.request.precision)))

    def _compare(self, made: Sequence[Backend]) -> dict[str, float]:
        self.tell("comparing with the whole forward")
        codes = self.codes.take(_COMPARED_FRAMES)
        # On the CPU in any case: there float32 is float32.
        on_cpu = self.decoder if self.request.device == "cpu" else load_checkpoint(self.folder)
        with torch.inference_mode():
            whole = on_cpu(codes)
        return {backend.name: snr_db(whole, stepped(backend, codes)) for backend in made}

    def _find_peaks(self) -> dict[str, ConvPeak]:
        self.tell("looking for the convolution peak")
        device = torch.device(self.request.device)
        return {
            str(dtype).removeprefix("torch."): find_peak(dtype, device)
            for dtype in cases.peak_dtypes(this_machine(), device)
        }

    def _backend_cases(self, backend: Backend) -> list[Case]:
        request, window = self.request, self.decoder.config.sliding_window
        made = [cases.step_case(backend, frames, self.codes, window) for frames in request.step_frames]
        if request.streams > 1:
            made += [
                cases.in_turn_case(backend, request.streams, frames, self.codes)
                for frames in STREAM_STEP_FRAMES
            ]
        return made

    def _batched_cases(self) -> list[Case]:
        if self.request.streams <= 1:
            return []
        return cases.batched_cases(self.decoder, self.request.streams, STREAM_STEP_FRAMES, self.codes)

    def _time(self, timed: Sequence[Case]) -> dict[str, Timing]:
        rounds = self.request.rounds
        self.tell(f"timing {len(timed)} cases in turn: once to warm up, then up to {rounds} rounds")
        return time_in_turn(
            timed,
            rounds=rounds,
            limit_s=self.request.limit_s,
            progress=lambda done: self.tell(f"round {done} of {rounds} done"),
        )

    def _backend_report(
        self, backend: Backend, snr: float, timings: dict[str, Timing], peak: float
    ) -> BackendReport:
        request, state = self.request, backend.new_state()
        backend.step(self.codes.take(self.decoder.config.sliding_window), state)
        late = found = None
        if request.drift:
            self.tell(f"{backend.name}: steps 1000 to 1010 against steps 10 to 20")
            late = drift(backend, self.codes)
        if request.footprint:
            self.tell(f"{backend.name}: load time and memory in a process of its own")
            found = footprint(
                self.folder,
                backend=backend.name,
                threads=self.threads,
                device=request.device,
                also=request.also,
            )
        return BackendReport(
            name=backend.name,
            snr_db=snr,
            state_bytes=state.nbytes,
            steps=[
                step_row(frames, timings[cases.step_case_name(backend, frames)], self.gflop_per_frame, peak)
                for frames in request.step_frames
            ],
            footprint=found,
            drift=late,
        )

    def _official_rows(self, timings: dict[str, Timing]) -> list[OtherRow]:
        return [other_row(name, new, timings[name]) for name, (_, new) in cases.OFFICIAL_FRAMES.items()]

    def _streams_rows(self, made: Sequence[Backend], timings: dict[str, Timing]) -> list[StreamsRow]:
        count = self.request.streams
        if count <= 1:
            return []
        names = [
            (f"{b.name}, in turn", cases.in_turn_name(b, n), n) for n in STREAM_STEP_FRAMES for b in made
        ]
        names += [("float32, all in one step", cases.batched_name(n), n) for n in STREAM_STEP_FRAMES]
        return [streams_row(title, count, n, timings[name]) for title, name, n in names]


def _device_name(device: str) -> str:
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device


__all__ = ["STEP_FRAMES", "STREAM_STEP_FRAMES", "BenchRequest", "bench"]
