"""What a front end without a window prints: live numbers in a terminal, plain lines elsewhere, or JSON."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Protocol, TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

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
    """Shows engine events."""

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
                self._print("\n".join(result_lines(event)))

    def _print(self, text: str) -> None:
        try:
            print(text, file=self._out, flush=True)
        except BrokenPipeError:
            # Whoever read the results has gone. What is left in the buffer must not be tried at exit again.
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._out.fileno())
            raise SystemExit(1) from None

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
            # Escapes are JSON wherever the characters themselves cannot be written.
            can_write_all = (self._out.encoding or "").lower().replace("-", "") == "utf8"
            self._print(json.dumps(as_dict(event), ensure_ascii=not can_write_all))
        else:
            super().show(event)


class LiveDisplay:
    """Numbers that move in place while it speaks, then the result as plain lines."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._texts: dict[int, str] = {}
        """Of the utterances in flight; the numbers shown are the oldest's."""

    def show(self, event: EngineEvent) -> None:
        """Draw progress, print results."""
        match event:
            case StageChanged() if event.stage is not Stage.DONE:
                self._texts[event.utterance] = event.text
            case Progress() if event.utterance == min(self._texts, default=event.utterance):
                text = self._texts.get(event.utterance, "")
                self._draw(progress_lines(text, event.stage, event.report))
            case UtteranceDone():
                self._texts.pop(event.utterance, None)
                self.close()
                self._print(*result_lines(event))
            case Notice():
                self.say(f"{event.severity.value}: {event.text}")
            case DecoderState() if not event.ready:
                self.say(f"decoder: {event.detail}")
            case LinkStatus() if event.state is LinkState.READY or self._live is not None:
                self._print(f"server: {event.detail}", style="dim")
            case OutputChanged() if event.info is not None:
                self._print(f"sound: {event.info.name}", style="dim")

    def say(self, text: str) -> None:
        """Print a note above the live numbers."""
        self._print(text, style="yellow")

    def close(self) -> None:
        """Take the live numbers away."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _print(self, *lines: str, style: str | None = None) -> None:
        # The terminal wraps what is too long; text that is copied then has no breaks that nobody wrote.
        self._console.print(*lines, sep="\n", style=style, markup=False, highlight=False, soft_wrap=True)

    def _draw(self, lines: Text) -> None:
        if self._live is None:
            self._live = Live(console=self._console, transient=True, auto_refresh=False)
            self._live.start()
        self._live.update(lines, refresh=True)


def progress_lines(text: str, stage: Stage, report: Report) -> Text:
    """Lay out the numbers of an utterance in flight, in 80 columns in which nothing moves."""
    rtf = _NOT_YET if report.rtf is None else f"{report.rtf:.2f}"
    numbers = (
        f"{stage.value:<22}  TTFA {milliseconds(report.ttfa_s):>7}  RTF {rtf:>5}"
        f"  buffer {report.buffered_s:5.2f} s  underruns {report.underruns}"
    )
    return Text(f"{_short(text, 79)}\n{numbers}", no_wrap=True, overflow="crop")


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
            *([("behind the text before", parts.behind_s)] if parts.behind_s else []),
            ("ring", parts.ring_s),
            ("device", parts.device_s),
        )
        sum_of = " + ".join(
            f"{name} {milliseconds(value)}" for name, value in terms if name != "behind" or value
        )
        lines.append(f"  TTFA {milliseconds(report.ttfa_s)} = {sum_of}")
        lines.append(
            f"  before the text was sent {milliseconds(report.before_sent_s)}, "
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
