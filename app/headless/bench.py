"""``nearfield bench``: measure the decoder here, and show it as tables, JSON or a picture."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from decoder.streaming.bench.report import BackendReport, BenchReport
    from decoder.streaming.tune import Choice

_ALSO = ("app.headless.run", "app.engine.build")
"""Imported beside the decoder by the process whose memory is measured: what a kiosk loads."""


@dataclass(frozen=True)
class BenchOptions:
    """What was asked for on the command line."""

    checkpoint: str | None = None
    precision: str = "exact"
    backends: tuple[str, ...] = ()
    device: str = "cpu"
    threads: int | None = None
    rounds: int = 5
    seconds: float = math.inf
    against_official: bool = False
    streams: int = 1
    drift: bool = False
    tune: bool = False
    as_json: bool = False
    plot: Path | None = None


def run(options: BenchOptions, out: Console, notes: Console) -> int:
    """Measure, print to ``out``, say what is going on to ``notes``; return an exit code.

    Raises:
        DecoderError: something that was asked for is missing; the text says what to do.

    """
    if options.plot is not None:
        from decoder.streaming.bench.plot import check_plot

        check_plot(options.plot)
    with _progress(notes) as tell:
        if options.tune:
            tell("measuring")
            choice = _tune(options)
        else:
            report = _bench(options, tell)
    if options.tune:
        _show_choice(choice, out, options.as_json)
        return 0
    if options.as_json:
        _print_json(report.to_dict(), out)
    else:
        show(report, out)
    if options.plot is not None:
        from decoder.streaming.bench.plot import plot

        plot(report, options.plot)
    return 0


def _bench(options: BenchOptions, tell: Callable[[str], None]) -> BenchReport:
    # torch takes seconds to import, so here.
    from decoder.streaming.bench.run import BenchRequest, bench

    request = BenchRequest(
        checkpoint=options.checkpoint,
        precision=options.precision,
        backends=options.backends,
        device=options.device,
        threads=options.threads,
        rounds=options.rounds,
        limit_s=options.seconds,
        official=options.against_official,
        streams=options.streams,
        drift=options.drift or options.against_official,
        also=_ALSO,
    )
    return bench(request, tell)


def _tune(options: BenchOptions) -> Choice:
    from decoder.streaming.bench.subject import checkpoint_folder, load_weights
    from decoder.streaming.tune import choose

    with checkpoint_folder(options.checkpoint) as (folder, _):
        return choose(load_weights(folder, options.device), threads=options.threads, redo=True)


@contextlib.contextmanager
def _progress(notes: Console) -> Iterator[Callable[[str], None]]:
    """Yield what shows a line in place on a terminal, and nowhere else."""
    if not notes.is_terminal:
        yield lambda text: None
        return
    with notes.status("starting") as status:
        yield status.update


def show(report: BenchReport, out: Console) -> None:
    """Print a report as tables, the machine first."""
    _line(out, report.machine)
    load = "" if report.load_average is None else f", load average {report.load_average:.1f} before"
    _line(out, f"{report.versions}, {report.device}, {report.threads} threads{load}")
    peaks = ", ".join(f"{dtype} {rate:.0f}" for dtype, rate in report.conv_peak_gflop_per_s.items())
    _line(out, f"weights: {report.weights}; {report.gflop_per_frame * 12.5:.0f} GFLOP for a second of sound")
    _line(out, f"convolution peak, GFLOP/s: {peaks}")
    for backend in report.backends:
        out.print(_step_table(backend))
        for text in _backend_lines(backend):
            _line(out, text)
    if report.official:
        out.print(_official_table(report))
    if report.streams:
        out.print(_streams_table(report))
    out.print(_goal_table(report))


def _step_table(backend: BackendReport) -> Table:
    columns = ("step", "median ms", "p95 ms", "CPU ms", "RTF", "GFLOP/s", "of peak", "runs")
    rows = [
        (
            f"{row.frames} frames" if row.frames > 1 else "1 frame",
            f"{row.median_ms:.1f}",
            f"{row.p95_ms:.1f}",
            f"{row.cpu_ms:.1f}",
            f"{row.rtf:.3f}",
            f"{row.gflop_per_s:.0f}",
            "" if row.peak_share is None else f"{row.peak_share:.0%}",
            str(row.samples),
        )
        for row in backend.steps
    ]
    return _table(backend.name, columns, rows)


def _backend_lines(backend: BackendReport) -> list[str]:
    lines = [
        f"SNR {backend.snr_db:.0f} dB against the float32 whole forward; "
        f"state {backend.state_bytes / 1e6:.1f} MB an utterance"
    ]
    if (found := backend.footprint) is not None:
        lines.append(
            f"a process of its own: import {found.import_s:.1f} s, load {found.load_s:.2f} s, "
            f"warm-up {found.warm_up_s:.1f} s, resident {_gigabytes(found.resident_bytes)}, "
            f"peak {_gigabytes(found.peak_bytes)}"
        )
    return lines


def _official_table(report: BenchReport) -> Table:
    rows = [
        (
            row.name,
            f"{row.median_ms:.0f}",
            f"{row.p95_ms:.0f}",
            f"{row.cpu_ms:.0f}",
            f"{row.rtf:.2f}",
            str(row.samples),
        )
        for row in report.official
    ]
    return _table("compared with", ("", "median ms", "p95 ms", "CPU ms", "RTF", "runs"), rows)


def _streams_table(report: BenchReport) -> Table:
    rows = [
        (row.name, str(row.frames), f"{row.median_ms:.0f}", f"{row.real_time_streams:.2f}")
        for row in report.streams
    ]
    title = f"{report.streams[0].streams} streams side by side"
    return _table(title, ("", "frames", "ms for all", "streams in real time"), rows)


def _goal_table(report: BenchReport) -> Table:
    rows = [
        (
            goal.name,
            f"{goal.value:.3g} {goal.unit}",
            "" if goal.undisturbed is None else f"{goal.undisturbed:.3g}",
            f"{'≥' if goal.unit == 'dB' else '≤'} {goal.target:g} {goal.unit}",
            "reached" if goal.reached else "missed",
        )
        for goal in report.goals
    ]
    return _table("goals", ("", "medians", "fastest runs", "target", ""), rows)


def _show_choice(choice: Choice, out: Console, as_json: bool) -> None:
    from decoder.streaming.tune import as_dict

    if as_json:
        _print_json(as_dict(choice), out)
        return
    rows = [
        (trial.backend, str(trial.threads), f"{trial.step_ms:.1f}", f"{trial.snr_db:.0f}")
        for trial in choice.trials
    ]
    out.print(_table("trials", ("backend", "threads", "ms for 4 frames", "dB"), rows))
    _line(out, f"chosen for decoder.precision: auto: {choice.backend} on {choice.threads} threads")


def _table(title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=number > 0)
    for row in rows:
        table.add_row(*row)
    return table


def _line(out: Console, text: str) -> None:
    out.print(text, markup=False, highlight=False, soft_wrap=True)


def _print_json(values: object, out: Console) -> None:
    out.print(json.dumps(values, ensure_ascii=False), markup=False, highlight=False, soft_wrap=True)


def _gigabytes(count: int | None) -> str:
    return "unknown" if count is None else f"{count / 1e9:.2f} GB"
