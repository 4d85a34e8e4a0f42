"""One link with its wire, over a link without a network."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from app.errors import Refused
from app.session.connection import CANCEL_TIMEOUT_S, Connection
from app.session.events import BytesArrived, LinkChanged, LinkState, SessionEvent
from decoder.wire.client import KEEPALIVE_S, ClientSession
from decoder.wire.events import FramesArrived, LinkUseless, Outcome, UtteranceEnded
from decoder.wire.messages import SessionConfig
from decoder.wire.packets import Flags, pack
from tests.helpers.fake_decoder import SPEC, frames
from tests.helpers.fake_link import FakeLink
from tests.helpers.waiting import eventually

CONFIG = SessionConfig()
START = {
    "type": "codec.start", "utterance_index": 0, "sentence_index": 0, "version": 1, "model": "m",
    "codebooks": 16, "codebook_size": 2048, "frame_rate_hz": 12.5, "sample_rate": 24000,
    "decoder_id": SPEC.decoder_id, "header_format": "<IHB",
}  # fmt: skip
DONE = [
    {"type": "codec.done", "utterance_index": 0, "sentence_index": 0, "total_frames": 2, "seq_last": 0},
    {"type": "session.done", "utterance_index": 0, "total_sentences": 1},
]


@dataclass
class Bench:
    link: FakeLink
    wire: ClientSession
    connection: Connection
    events: list[SessionEvent] = field(default_factory=list)

    def of(self, kind: type) -> list[SessionEvent]:
        return [e for e in self.events if isinstance(e, kind)]


@asynccontextmanager
async def bench(
    link: FakeLink | None = None, clock: Callable[[], float] = time.perf_counter
) -> AsyncIterator[Bench]:
    link, wire, events = link or FakeLink(), ClientSession(SPEC), list[SessionEvent]()
    connection = Connection(link, wire, lambda _, event: events.append(event), clock)
    connection.start(CONFIG)
    try:
        yield Bench(link, wire, connection, events)
    finally:
        await connection.aclose()


async def test_it_says_who_it_is_and_probes_before_any_text() -> None:
    async with bench() as b:
        await eventually(lambda: len(b.link.sent) == 2)
        assert b.link.types == ["session.config", "input.cancel"]
        assert b.link.sent[0]["output_mode"] == "codec_tokens"


async def test_a_configuration_is_sent_again_only_if_it_is_another() -> None:
    async with bench() as b:
        b.connection.configure(SessionConfig())
        b.connection.configure(SessionConfig(voice="vivian"))
        b.connection.configure(SessionConfig(voice="vivian"))
        await eventually(lambda: len(b.link.sent) == 3)
        assert b.link.types == ["session.config", "input.cancel", "session.config"]


async def test_a_configuration_no_server_takes_is_refused_before_it_is_sent() -> None:
    async with bench() as b:
        with pytest.raises(Refused, match="would not take"):
            b.connection.configure(SessionConfig(speed=2.0))
        b.connection.configure(SessionConfig(voice="vivian"))
        await eventually(lambda: len(b.link.sent) == 3)


async def test_an_utterance_from_the_text_to_its_end() -> None:
    async with bench() as b:
        b.connection.speak("Hello")
        assert not b.connection.is_free
        free = asyncio.ensure_future(b.connection.wait_until_free())
        for message in (START, pack(0, frames(1, 2), Flags.EOS), *DONE):
            b.link.bring(message)
        assert await asyncio.wait_for(free, 2)
        assert b.of(UtteranceEnded) == [UtteranceEnded(Outcome.COMPLETE, "")]
        assert sum(len(e.codes) for e in b.events if isinstance(e, FramesArrived)) == 2
        arrived = [e.count for e in b.events if isinstance(e, BytesArrived)]
        assert arrived[1] == 7 + 2 * 32
        assert len(arrived) == 4


async def test_the_first_frame_is_waited_for_without_a_limit_of_our_own() -> None:
    async with bench() as b:
        b.connection.speak("Hello")
        assert b.wire.deadline_s is None


async def test_an_idle_link_is_kept_alive() -> None:
    now = [100.0]
    async with bench(clock=lambda: now[0]) as b:
        await eventually(lambda: len(b.link.sent) == 2)
        now[0] += KEEPALIVE_S
        b.connection.configure(SessionConfig(voice="vivian"))  # makes it look at the clock
        now[0] += KEEPALIVE_S
        b.connection._tick()
        await eventually(lambda: b.link.types[-1] == "input.text")
        assert b.link.sent[-1]["text"] == ""


async def test_the_end_of_the_link_is_told_before_the_end_of_the_utterance() -> None:
    """Who holds the text knows by then that it may be sent on another link."""
    async with bench(FakeLink("too much", trying_again_helps=False)) as b:
        b.connection.speak("Hello")
        waiting = asyncio.ensure_future(b.connection.wait_until_free())
        b.link.bring(None)
        assert not await asyncio.wait_for(waiting, 2)
        assert b.events == [
            LinkChanged(LinkState.OFFLINE, "too much", trying_again_helps=False),
            UtteranceEnded(Outcome.INCOMPLETE, "the connection ended: too much"),
        ]
        assert b.connection.is_closed


async def test_a_link_that_is_left_on_purpose_tells_nothing_more() -> None:
    async with bench() as b:
        await b.connection.aclose()
        assert b.events == []


async def test_a_link_that_fails_to_close_is_left_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    async with bench() as b:
        b.link.fails_to_close = OSError("no such socket")
        await b.connection.aclose()
        assert "no such socket" in caplog.text


@pytest.mark.parametrize("breaks", ["receive", "send"])
async def test_an_error_of_our_own_ends_the_link_instead_of_hanging(
    breaks: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with bench() as b:
        await eventually(lambda: len(b.link.sent) == 2)
        if breaks == "receive":
            b.link.bring(RuntimeError("a bug"))
            b.connection.speak("Hello")
        else:
            b.link.fails_to_send = RuntimeError("a bug")
            b.connection.speak("Hello")
        await eventually(lambda: b.of(UtteranceEnded))
        (ended,) = b.of(UtteranceEnded)
        assert isinstance(ended, UtteranceEnded)
        assert ended.outcome is Outcome.INCOMPLETE
        assert "a bug" in caplog.text


async def test_a_cancel_has_left_before_anyone_goes_on() -> None:
    async with bench() as b:
        b.connection.speak("Hello")
        await b.connection.cancel()
        assert b.link.types == ["session.config", "input.cancel", "input.text", "input.done", "input.cancel"]
        assert b.of(UtteranceEnded) == [UtteranceEnded(Outcome.CANCELLED, "cancelled")]
        assert not b.connection.is_free


async def test_a_cancel_does_not_wait_long_for_a_server_that_does_not_read() -> None:
    async with bench() as b:
        b.connection.speak("Hello")
        b.link.holds_back = asyncio.Event()
        started_s = time.perf_counter()
        await b.connection.cancel()
        assert time.perf_counter() - started_s < CANCEL_TIMEOUT_S + 0.2
        b.link.holds_back.set()


async def test_a_server_that_cannot_cancel_is_left() -> None:
    async with bench() as b:
        b.connection.speak("Hello")
        b.link.bring({"type": "audio.start", "format": "pcm", "sample_rate": 24000, "sentence_index": 0})
        await eventually(lambda: len(b.events) >= 2)
        await b.connection.cancel()
        assert b.connection.is_closed
        assert len(b.of(LinkUseless)) == 1
        assert not await asyncio.wait_for(b.connection.wait_until_free(), 1)


async def test_what_comes_after_the_link_is_of_no_use_is_not_told() -> None:
    async with bench() as b:
        b.connection.speak("Hello")
        b.link.bring({"type": "audio.start", "format": "pcm", "sample_rate": 24000, "sentence_index": 0})
        await eventually(lambda: len(b.events) >= 2)
        await b.connection.cancel()
        kept = len([e for e in b.events if not isinstance(e, BytesArrived)])
        b.link.bring(bytes(100))
        b.link.bring(None)
        await asyncio.sleep(0.02)
        assert len([e for e in b.events if not isinstance(e, BytesArrived)]) == kept
