from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from app.audio.output import OutputInfo
from app.engine.events import (
    DecoderState,
    EngineEvent,
    LinkStatus,
    Notice,
    OutputChanged,
    Progress,
    Severity,
    StageChanged,
    UtteranceDone,
)
from app.engine.state import Stage
from app.headless.show import JsonDisplay, LiveDisplay, PlainDisplay, progress_lines, result_lines
from app.metrics.meter import Meter
from app.metrics.report import Report
from app.session.events import LinkState
from decoder.wire.events import Mode, Outcome

RATE_HZ = 24_000


def report(underruns: int = 0) -> Report:
    meter = Meter(0.0, RATE_HZ)
    meter.text_was_sent(0.1)
    meter.bytes_arrived(487)
    meter.sound_arrived(0.2, 12)
    meter.chunk_was_decoded(0.21, 0.25, 23040)
    meter.sound_was_heard(0.3, 0.4, 0.2, underruns, 0.0)
    meter.leading_silence_s = 0.05
    return meter.report()


def done(
    number: int = 1, outcome: Outcome = Outcome.COMPLETE, reason: str = "", what: Report | None = None
) -> UtteranceDone:
    return UtteranceDone(number, "Ein [bold] Öl.", outcome, reason, what or report())


NOTHING_YET = Meter(0.0, RATE_HZ).report()

EVERYTHING: list[EngineEvent] = [
    DecoderState(False, "preparing"),
    DecoderState(True, "loaded", 0.2),
    LinkStatus(LinkState.CONNECTING, Mode.UNKNOWN, "connecting to ws://h"),
    LinkStatus(LinkState.READY, Mode.CODEC, "ready"),
    OutputChanged(OutputInfo("Speaker [x]", 48_000, 2, 0.1, True), "opened"),
    OutputChanged(None, "unplugged"),
    StageChanged(1, "Ein [bold] Öl.", Stage.QUEUED),
    StageChanged(1, "Ein [bold] Öl.", Stage.PLAYING),
    StageChanged(2, "Zwei.", Stage.QUEUED),
    StageChanged(2, "Zwei.", Stage.BUFFERING),
    Progress(1, Stage.PLAYING, report(underruns=3)),
    Progress(2, Stage.BUFFERING, NOTHING_YET),
    Notice(Severity.WARNING, "the [red] link pauses"),
    StageChanged(1, "Ein [bold] Öl.", Stage.DONE),
    done(),
]


# -- plain -------------------------------------------------------------------------------------------------


def test_plain_prints_results_to_one_stream_and_notices_to_the_other() -> None:
    out, notes = io.StringIO(), io.StringIO()
    display = PlainDisplay(out, notes)
    for event in EVERYTHING:
        display.show(event)
    display.say("a word")
    display.close()
    assert out.getvalue().splitlines() == result_lines(done())
    assert notes.getvalue().splitlines() == ["warning: the [red] link pauses", "a word"]


def test_a_result_says_how_it_ended_and_where_the_time_went() -> None:
    first, *rest = result_lines(done(outcome=Outcome.CUT_OFF, reason="the talker ran away"))
    assert first == "“Ein [bold] Öl.”  cut off (the talker ran away)"
    assert "TTFA 300 ms = server 100 ms + hold 10 ms + decode 40 ms + ring 50 ms + device 100 ms" in rest[0]
    assert "RTF 0.042" in rest[2]
    assert "0.5 kB received" in rest[2]


def test_an_utterance_without_sound_is_one_line() -> None:
    lines = result_lines(done(outcome=Outcome.EMPTY, reason="no audio", what=NOTHING_YET))
    assert lines == ["“Ein [bold] Öl.”  no audio (no audio)"]


def test_sound_that_the_server_decoded_says_so() -> None:
    meter = Meter(0.0, RATE_HZ)
    meter.samples_arrived(0.1, 2400)
    assert "decoded by the server" in result_lines(done(what=meter.report()))[-1]


# -- JSON --------------------------------------------------------------------------------------------------


def test_json_prints_one_object_a_line_and_nothing_else_on_that_stream() -> None:
    out, notes = io.StringIO(), io.StringIO()
    display = JsonDisplay(out, notes)
    for event in [*EVERYTHING, done(2, Outcome.FAILED, "no", NOTHING_YET)]:
        display.show(event)
    first, second = (json.loads(line) for line in out.getvalue().splitlines())
    assert (first["utterance"], first["outcome"], first["text"]) == (1, "complete", "Ein [bold] Öl.")
    assert first["ttfa_s"] == pytest.approx(0.3)
    assert first["parts"]["decode_s"] == pytest.approx(0.04)
    assert (second["outcome"], second["reason"], second["ttfa_s"]) == ("failed", "no", None)
    assert notes.getvalue() == "warning: the [red] link pauses\n"


# -- live --------------------------------------------------------------------------------------------------


def terminal(**settings: Any) -> tuple[LiveDisplay, io.StringIO]:
    screen = io.StringIO()
    return LiveDisplay(Console(file=screen, force_terminal=True, width=100, **settings)), screen


def test_live_shows_numbers_while_it_speaks_and_the_result_at_the_end() -> None:
    display, screen = terminal(color_system=None)
    for event in EVERYTHING:
        display.show(event)
    display.close()
    text = screen.getvalue()
    assert "underruns 3" in text
    assert "Speaker [x]" in text
    assert "warning: the [red] link pauses" in text
    assert text.endswith("\n".join(result_lines(done())) + "\n")
    assert "\x1b[?25h" in text, "the cursor is shown again"


def test_live_shows_the_utterance_that_is_heard_with_its_own_text() -> None:
    """The next one is already being received, and its stages and numbers come in between."""
    display, screen = terminal(color_system=None)
    for event in EVERYTHING[:-2]:
        display.show(event)
    assert "Zwei" not in screen.getvalue()
    display.show(done())
    display.show(Progress(2, Stage.PLAYING, report()))
    assert "Zwei" in screen.getvalue()
    display.close()


def test_closing_twice_or_without_anything_shown_is_fine() -> None:
    display, screen = terminal()
    display.close()
    display.close()
    assert screen.getvalue() == ""


def test_the_numbers_fit_into_eighty_columns_and_stay_in_their_places() -> None:
    shown = [progress_lines("long " * 60, stage, what) for stage in Stage for what in (report(), NOTHING_YET)]
    lines = [each.plain.split("\n") for each in shown]
    assert all(len(each) == 2 and max(map(len, each)) <= 80 for each in lines)
    assert len({each[1].index("TTFA") for each in lines}) == 1
    assert len({each[1].index(" buffer ") for each in lines}) == 1
