"""What a front end without a window prints: live numbers in a terminal, plain lines elsewhere, or JSON."""

from __future__ import annotations

import json
from typing import Protocol, TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table

from app.engine.events import (
    DecoderState,
    EngineEvent,
    LinkStatus,
    Notice,
    OutputChanged,
    Progress,
    StageChanged,
    UtteranceDone,
)
from app.engine.state import Stage
from app.metrics.report import Report
from app.session.session import LinkState

_NOT_YET = "–"


class Display(Protocol):
    """Shows engine events; used as a context so that a terminal is left tidy."""

    def show(self, event: EngineEvent) -> None:
        """Take the next event."""
        ...

    def say(self, text: str) -> None:
        """Show a line of the front end's own."""
        ...

    def close(self) -> None:
        """Leave the terminal tidy."""
        ...


class PlainDisplay:
    """A line for each thing that matters; what is not the result goes to ``notes``."""

    def __init__(self, out: TextIO, notes: TextIO) -> None:
        self._out = out
        self._notes = notes

    def show(self, event: EngineEvent) -> None:
        """Print notices and results."""
        match event:
            case Notice():
                self.say(f"{event.severity.value}: {event.text}")
            case UtteranceDone():
                print(*result_lines(event), sep="\n", file=self._out, flush=True)

    def say(self, text: str) -> None:
        """Print a note."""
        print(text, file=self._notes, flush=True)

    def close(self) -> None:
        """Nothing is held open."""


class JsonDisplay(PlainDisplay):
    """One JSON object a line for each utterance; notices go to ``notes`` as text."""

    def show(self, event: EngineEvent) -> None:
        """Print results as JSON."""
        if isinstance(event, UtteranceDone):
            print(json.dumps(as_dict(event), ensure_ascii=False), file=self._out, flush=True)
        else:
            super().show(event)


class LiveDisplay:
    """Numbers that move in place while it speaks, then the result as plain lines."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._stage = Stage.QUEUED
        self._text = ""

    def show(self, event: EngineEvent) -> None:
        """Draw progress, print results."""
        match event:
            case StageChanged() if event.stage is not Stage.DONE:
                self._stage, self._text = event.stage, event.text
            case Progress():
                self._draw(progress_table(self._text, event.stage, event.report))
            case UtteranceDone():
                self.close()
                self._console.print(*result_lines(event), sep="\n", markup=False, highlight=False)
            case Notice():
                self.say(f"{event.severity.value}: {event.text}")
            case DecoderState() if not event.ready:
                self.say(f"decoder: {event.detail}")
            case LinkStatus() if event.state is not LinkState.CONNECTING:
                self._console.print(f"server: {event.detail}", style="dim", markup=False, highlight=False)
            case OutputChanged() if event.info is not None:
                self._console.print(f"sound: {event.info.name}", style="dim", markup=False, highlight=False)

    def say(self, text: str) -> None:
        """Print a note above the live numbers."""
        self._console.print(text, style="yellow", markup=False, highlight=False)

    def close(self) -> None:
        """Take the live numbers away."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _draw(self, table: Table) -> None:
        if self._live is None:
            self._live = Live(console=self._console, transient=True, auto_refresh=False)
            self._live.start()
        self._live.update(table, refresh=True)


def progress_table(text: str, stage: Stage, report: Report) -> Table:
    """Lay out the numbers of an utterance in flight."""
    table = Table.grid(padding=(0, 2))
    table.add_row(_short(text, 60))
    numbers = Table.grid(padding=(0, 3))
    numbers.add_row(
        stage.value,
        f"TTFA {milliseconds(report.ttfa_s)}",
        f"RTF {_NOT_YET if report.rtf is None else f'{report.rtf:.2f}'}",
        f"buffer {report.buffered_s:5.2f} s",
        f"underruns {report.underruns}",
        f"{report.frames} frames",
    )
    table.add_row(numbers)
    return table


def result_lines(done: UtteranceDone) -> list[str]:
    """Say in a few lines how an utterance went."""
    report, parts = done.report, done.report.parts
    ending = done.outcome.value + (f" ({done.reason})" if done.reason else "")
    lines = [f"“{_short(done.text, 70)}”  {ending}"]
    if report.ttfa_s is not None:
        terms = (
            ("server", parts.server_s),
            ("hold", parts.hold_s),
            ("decode", parts.decode_s),
            ("ring", parts.ring_s),
            ("device", parts.device_s),
        )
        sum_of = " + ".join(f"{name} {milliseconds(value)}" for name, value in terms)
        lines.append(f"  TTFA {milliseconds(report.ttfa_s)} = {sum_of}")
        lines.append(
            f"  before the text was sent {milliseconds(report.connect_s)}, "
            f"leading silence {milliseconds(report.leading_silence_s)}, slowest part: {parts.slowest()}"
        )
    if report.audio_s:
        rtf = "decoded by the server" if report.rtf is None else f"RTF {report.rtf:.3f}"
        low = _NOT_YET if report.lowest_buffer_s is None else f"{report.lowest_buffer_s:.2f} s"
        lines.append(
            f"  {report.audio_s:.2f} s of sound, {rtf}, buffer up to {report.highest_buffer_s:.2f} s, "
            f"never below {low}, underruns {report.underruns}, "
            f"{kilobytes(report.wire_bytes)} received, as PCM {kilobytes(report.pcm_bytes)}"
        )
    return lines


def as_dict(done: UtteranceDone) -> dict[str, object]:
    """Return an utterance's end as plain values."""
    return {
        "utterance": done.utterance,
        "text": done.text,
        "outcome": done.outcome.value,
        "reason": done.reason,
        **done.report.to_dict(),
    }


def milliseconds(value_s: float | None) -> str:
    """Format seconds as whole milliseconds."""
    return _NOT_YET if value_s is None else f"{value_s * 1000:.0f} ms"


def kilobytes(count: int) -> str:
    """Format bytes as kB of 1000 bytes."""
    return f"{count / 1000:.1f} kB"


def _short(text: str, limit_chars: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit_chars else f"{line[: limit_chars - 1]}…"
