"""One who calls a server, against the emulator over a real socket."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from decoder.spec import CodecSpec
from decoder.wire.events import Mode, Outcome
from decoder.wire.messages import SessionConfig
from server.caller import Caller, CallError
from server.caller.heard import on_the_wire_bytes
from server.emulator import Emulator, Scenario, SyntheticTalker
from tests.helpers.hygiene import no_task_is_left, no_thread_is_left
from tests.helpers.load_servers import dial

__all__ = ["no_task_is_left", "no_thread_is_left"]

FAST = Scenario(pace=0)
TALKER = SyntheticTalker()


async def call(url: str, **changes: object) -> Caller:
    return await Caller.call(dial(url), CodecSpec(), SessionConfig(seed=3), **changes)  # type: ignore[arg-type]


async def test_texts_are_heard_one_after_another_on_one_connection() -> None:
    async with Emulator(TALKER, FAST) as emulator:
        caller = await call(emulator.url)
        for text in ("Hello.", "And again."):
            heard = await caller.ask(text, 5)
            assert heard.is_complete
            assert np.array_equal(heard.codes(16), TALKER.codes(text, 3))
            assert heard.units == [text]
            assert len(heard.arrivals) == len(TALKER.codes(text, 3))
            assert heard.sent_s <= heard.arrivals[0].at_s <= heard.arrivals[-1].at_s <= heard.ended_s
        assert caller.mode is Mode.CODEC
        await caller.hang_up()
        assert len(emulator.sessions) == 1


async def test_everything_binary_is_kept_also_what_a_client_drops() -> None:
    async with Emulator(TALKER, Scenario(pace=0, duplicate_packets=(1,))) as emulator:
        caller = await call(emulator.url)
        heard = await caller.ask("Hello.", 5)
        await caller.hang_up()
    frames = len(TALKER.codes("Hello.", 3))
    assert len(heard.arrivals) == frames
    assert len(heard.messages) == frames + 2  # one twice, and the end


async def test_bytes_are_counted_with_their_headers() -> None:
    async with Emulator(TALKER, FAST) as emulator:
        caller = await call(emulator.url)
        heard = await caller.ask("Hello.", 5)
        await caller.hang_up()
    binary = sum(on_the_wire_bytes(len(message)) for message in heard.messages)
    assert binary < heard.received_bytes < binary + 1_000


@pytest.mark.parametrize(
    ("payload", "whole"), [(0, 2), (125, 127), (126, 130), (65_535, 65_539), (65_536, 65_546)]
)
def test_a_message_has_the_header_of_its_length(payload: int, whole: int) -> None:
    assert on_the_wire_bytes(payload) == whole


class HastyLink:
    """A server that has said everything by the time that it was asked; real ones are merely close to it."""

    close_reason = "closed"

    def __init__(self) -> None:
        self._said: asyncio.Queue[str | bytes | None] = asyncio.Queue()

    async def send(self, text: str) -> None:
        if '"input.done"' in text:
            whole: list[str | bytes] = [
                '{"type": "audio.start", "format": "pcm", "sample_rate": 24000}',
                bytes(4_800),
                '{"type": "audio.done", "total_bytes": 4800, "error": false}',
                '{"type": "session.done", "utterance_index": 0, "total_sentences": 1}',
            ]
            for message in whole:
                self._said.put_nowait(message)
            await self._said.join()

    async def receive(self) -> str | bytes | None:
        message = await self._said.get()
        self._said.task_done()
        return message

    async def close(self) -> None:
        self._said.put_nowait(None)


async def test_an_answer_that_comes_before_all_is_handed_over_is_heard() -> None:
    async def hasty() -> HastyLink:
        return HastyLink()

    caller = await Caller.call(hasty, CodecSpec(), SessionConfig())
    heard = await caller.ask("Hello.", 1)
    await caller.hang_up()
    assert heard.is_complete, heard.reason
    assert len(heard.pcm) == 2_400


async def test_a_server_that_decodes_is_heard_as_samples() -> None:
    async with Emulator(TALKER, Scenario(pace=0, kind="stock")) as emulator:
        caller = await call(emulator.url)
        heard = await caller.ask("Hello.", 5)
        await caller.hang_up()
    assert heard.is_complete
    assert heard.mode is Mode.PCM
    assert heard.rate_hz == 24_000
    assert len(heard.pcm) == round(heard.sound_s * 24_000) > 0
    assert len(heard.codes(16)) == 0


async def test_a_refused_mode_is_asked_for_again_as_pcm() -> None:
    async with Emulator(TALKER, Scenario(pace=0, kind="no-codec-adapter")) as emulator:
        caller = await call(emulator.url)
        heard = await caller.ask("Hello.", 5)
        await caller.hang_up()
    assert heard.is_complete
    assert heard.mode is Mode.PCM


async def test_what_does_not_end_in_time_is_incomplete_and_the_connection_useless() -> None:
    async with Emulator(TALKER, Scenario(first_frame_delay_s=60)) as emulator:
        caller = await call(emulator.url)
        heard = await caller.ask("Hello.", 0.2)
        assert (heard.outcome, heard.reason) == (Outcome.INCOMPLETE, "the server was not done after 0.2 s")
        assert not caller.is_usable
        with pytest.raises(CallError, match="not done"):
            await caller.ask("Hello.", 1)
        await caller.hang_up()


async def test_a_connection_that_ends_in_the_middle_leaves_what_came() -> None:
    async with Emulator(TALKER, Scenario(pace=0, cut_at_frame=3)) as emulator:
        caller = await call(emulator.url)
        heard = await caller.ask("Hello, everybody.", 5)
        await caller.hang_up()
    assert heard.outcome is Outcome.INCOMPLETE
    assert "the connection ended" in heard.reason
    assert len(heard.codes(16)) == 3


async def test_quiet_servers_are_given_up_by_the_wires_own_clock() -> None:
    """No end of the unit comes: the wire ends it after its grace, asks for the end, and is free again."""
    async with Emulator(TALKER, Scenario(pace=0, omit_codec_done=True, omit_session_done=True)) as emulator:
        caller = await call(emulator.url)
        heard = await caller.ask("Hello.", 5)
        await caller.hang_up()
    assert heard.is_complete


async def test_an_interrupted_call_leaves_no_task_behind() -> None:
    async with Emulator(TALKER, Scenario(first_frame_delay_s=60)) as emulator:
        caller = await call(emulator.url)
        task = asyncio.create_task(caller.ask("Hello.", 30))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await caller.hang_up()


async def test_a_configuration_that_no_server_takes_is_refused_before_it_is_sent() -> None:
    async with Emulator(TALKER, FAST) as emulator:
        with pytest.raises(CallError, match="VoiceDesign requires instructions"):
            await Caller.call(dial(emulator.url), CodecSpec(), SessionConfig(task_type="VoiceDesign"))


async def test_no_text_is_an_error() -> None:
    async with Emulator(TALKER, FAST) as emulator:
        caller = await call(emulator.url)
        with pytest.raises(CallError, match="no text"):
            await caller.ask("  ", 1)
        await caller.hang_up()


async def test_a_bad_key_is_told_in_the_clients_words() -> None:
    async with Emulator(TALKER, FAST, api_key="sesame") as emulator:
        with pytest.raises(CallError, match="HTTP 401"):
            await call(emulator.url)
