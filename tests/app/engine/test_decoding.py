"""What the decode thread tells, without one."""

from __future__ import annotations

import asyncio

import pytest

from app.engine.decoding import Decoding
from app.engine.events import DecoderState, EngineEvent, Notice, Severity
from app.engine.utterance import Utterance
from app.errors import NearfieldError
from app.metrics.meter import Meter
from app.playback import facts
from decoder.wire.events import Outcome


class Bench:
    def __init__(self) -> None:
        self.told: list[EngineEvent] = []
        self.failed: list[Utterance] = []
        finished = asyncio.get_running_loop().create_future()
        self.utterance = Utterance(1, "Hi", Meter(0.0, 24_000), (), 0.0, finished, self.told.append)
        self.decoding = Decoding([self.utterance], self.told.append, self.failed.append)
        self.decoding.start()

    async def emit(self, fact: facts.DecodeFact) -> None:
        await asyncio.to_thread(self.decoding.emit, fact)
        await asyncio.sleep(0)

    @property
    def notices(self) -> list[Notice]:
        return [e for e in self.told if isinstance(e, Notice)]


async def test_a_decoder_that_is_ready_lets_everybody_go_on() -> None:
    b = Bench()
    waiting = [asyncio.ensure_future(b.decoding.prepared()) for _ in range(2)]
    await asyncio.sleep(0)
    waiting.pop().cancel()
    await b.emit(facts.DecoderReady(1.5, 0.5, 0.25))
    await asyncio.wait_for(waiting[0], 1)
    await b.decoding.prepared()
    assert b.told == [
        DecoderState(False, "preparing"),
        DecoderState(True, "loaded in 1.5 s, warm in 0.5 s, RTF 0.25", 0.25),
    ]


async def test_a_decoder_slower_than_real_time_is_told_with_its_number() -> None:
    b = Bench()
    await b.emit(facts.DecoderReady(1.5, 0.5, 2.0))
    (notice,) = b.notices
    assert notice.severity is Severity.WARNING
    assert "2.00" in notice.text


async def test_a_broken_decoder_fails_all_who_wait_now_and_later() -> None:
    b = Bench()
    await b.emit(facts.DecoderBroken(OSError("disk on strike")))
    for _ in range(2):
        with pytest.raises(NearfieldError, match="disk on strike"):
            await b.decoding.prepared()


async def test_facts_become_numbers_and_notices_of_their_utterance() -> None:
    b = Bench()
    await b.emit(facts.ChunkDecoded(1, 10.0, 10.5, 4, 7680, 9.0, 0.0))
    await b.emit(facts.LeadingSilence(1, 0.3))
    await b.emit(facts.PcmRepaired(1, 3, 4))
    await b.emit(facts.SamplesMissing(1, 1920))
    await b.emit(facts.SinkFailed(1, OSError("no space left")))
    assert not b.utterance.decoded
    await b.emit(facts.UtteranceDecoded(1, 7680))
    report = b.utterance.meter.report()
    assert (report.audio_s, report.rtf, report.leading_silence_s) == (0.32, 0.5 / 0.32, 0.3)
    assert [n.severity for n in b.notices] == [Severity.WARNING, Severity.WARNING, Severity.ERROR]
    assert "no space left" in b.notices[-1].text
    assert b.utterance.decoded


async def test_a_failure_is_handed_on() -> None:
    b = Bench()
    await b.emit(facts.DecodeFailed(1, MemoryError("too little")))
    assert b.failed == [b.utterance]
    assert (b.utterance.outcome, b.utterance.decoded) == (Outcome.FAILED, True)
    assert "too little" in b.utterance.reason


async def test_facts_of_an_utterance_that_has_ended_are_of_no_interest() -> None:
    b = Bench()
    await b.emit(facts.DecodeFailed(99, MemoryError()))
    await b.emit(facts.SamplesMissing(99, 5))
    assert not b.failed
    assert not b.notices


def test_a_fact_that_comes_after_the_loop_has_closed_is_dropped() -> None:
    async def make() -> Bench:
        return Bench()

    loop = asyncio.new_event_loop()
    b = loop.run_until_complete(make())
    loop.close()
    b.decoding.emit(facts.UtteranceDecoded(1, 0))
    assert len(b.told) == 1
