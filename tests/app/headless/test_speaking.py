from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence

import pytest

from app.engine.events import EngineEvent, UtteranceDone
from app.headless.say import one
from app.headless.speaking import EXIT_FAILED, EXIT_OK, speak_texts, until_interrupted
from app.metrics.meter import Meter
from app.playback.speech_job import PcmSink
from app.text import MAX_TEXT_CHARS
from decoder.wire.events import Outcome


class Talker:
    """The part of an engine that is asked to speak; every utterance ends at once, as ``outcomes`` says."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = list(outcomes)
        self.spoken: list[str] = []

    def speak(self, text: str, sinks: Sequence[PcmSink] = ()) -> asyncio.Future[UtteranceDone]:
        self.spoken.append(text)
        outcome = self.outcomes.pop(0) if self.outcomes else Outcome.COMPLETE
        finished: asyncio.Future[UtteranceDone] = asyncio.get_running_loop().create_future()
        finished.set_result(UtteranceDone(1, text, outcome, "", Meter(0.0, 24_000).report()))
        return finished


class Notes:
    """A display that keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def show(self, event: EngineEvent) -> None: ...

    def say(self, text: str) -> None:
        self.said.append(text)

    def close(self) -> None: ...


async def several(*texts: str) -> AsyncIterator[str]:
    for text in texts:
        yield text


async def test_every_text_is_spoken_in_order_and_all_must_end_well() -> None:
    talker, notes = Talker(), Notes()
    assert await speak_texts(talker, several("One.", "Two."), notes) == EXIT_OK
    assert (talker.spoken, notes.said) == (["One.", "Two."], [])


@pytest.mark.parametrize("bad", [o for o in Outcome if o is not Outcome.COMPLETE])
async def test_one_that_ends_badly_is_an_exit_code(bad: Outcome) -> None:
    assert await speak_texts(Talker(Outcome.COMPLETE, bad), several("One.", "Two."), Notes()) == EXIT_FAILED


async def test_a_text_with_nothing_to_say_is_a_gentle_notice() -> None:
    """G1."""
    talker, notes = Talker(), Notes()
    assert await speak_texts(talker, one("…"), notes) == EXIT_OK
    assert talker.spoken == []
    assert len(notes.said) == 1


async def test_a_text_that_is_too_long_is_cut_and_that_is_said() -> None:
    """G5."""
    talker, notes = Talker(), Notes()
    await speak_texts(talker, one("word " * MAX_TEXT_CHARS), notes)
    assert sum(len(piece) + 1 for piece in talker.spoken) <= MAX_TEXT_CHARS + 1
    assert str(MAX_TEXT_CHARS) in notes.said[0]


async def test_the_exit_code_of_the_work_is_returned() -> None:
    async def work() -> int:
        return 7

    assert await until_interrupted(work) == 7


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_a_signal_cancels_the_work_and_its_clean_up_runs(number: signal.Signals, code: int) -> None:
    tidied = []

    async def work() -> int:
        try:
            os.kill(os.getpid(), number)
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            tidied.append(True)
        return 0

    assert await until_interrupted(work) == code
    assert tidied == [True]
    assert signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL)


async def test_an_error_of_the_work_is_the_callers() -> None:
    async def work() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await until_interrupted(work)
