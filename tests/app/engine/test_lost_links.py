"""What becomes of texts when the server is away, goes away, or says something that cannot be taken."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import numpy as np
import pytest
from websockets.asyncio.server import ServerConnection, serve

from app.engine.events import Notice, Severity
from app.engine.state import Stage
from app.session.events import LinkState
from decoder.wire.events import Outcome
from server.emulator import Scenario
from tests.helpers.counting_talker import text_for
from tests.helpers.engine_rig import FAST, Tape, rig, sound
from tests.helpers.waiting import eventually


@pytest.mark.parametrize("code", [1000, 1001, 1005, 1006, 1008, 1011, 1012, 1013])
async def test_a_link_that_ends_in_mid_utterance_is_never_a_good_end(code: int) -> None:
    tape = Tape()
    async with rig(replace(FAST, cut_at_frame=5, cut_code=code, faulty_utterances=1)) as r:
        done = await r.say(text_for(10), (tape,))
        assert done.outcome is Outcome.INCOMPLETE
        assert "the connection ended" in done.reason
        assert np.array_equal(tape.pcm, sound(1, 5)), "what came is heard, once"
        assert (await r.say(text_for(3))).outcome is Outcome.COMPLETE
        assert len(r.emulator.utterances) == 2, "what was partly heard is not said again"


async def test_a_text_lost_with_its_link_before_anything_came_is_sent_once_more() -> None:
    tape = Tape()
    async with rig(replace(FAST, cut_at_frame=0, faulty_utterances=1)) as r:
        done = await r.say(text_for(5), (tape,))
        assert (done.outcome, done.reason) == (Outcome.COMPLETE, "")
        assert len(r.emulator.utterances) == 2
    assert np.array_equal(tape.pcm, sound(1, 5))
    waits = [Stage.CONNECTING, Stage.WAITING]
    assert r.stages()[:6] == [Stage.QUEUED, *waits, *waits, Stage.BUFFERING]


async def test_what_fails_twice_is_dropped() -> None:
    async with rig(replace(FAST, cut_at_frame=0)) as r:
        done = await r.say(text_for(5))
        assert done.outcome is Outcome.INCOMPLETE
        assert len(r.emulator.utterances) == 2


async def test_an_idle_link_that_was_dropped_is_replaced_quietly_and_the_text_is_spoken_once() -> None:
    tape = Tape()
    async with rig(replace(FAST, idle_timeout_s=0.2)) as r:
        await r.engine.prepared()
        await r.engine.connect()
        await eventually(lambda: r.links[-1].state is LinkState.OFFLINE)
        r.emulator.scenario = FAST
        done = await r.say(text_for(5), (tape,))
        assert done.outcome is Outcome.COMPLETE
        assert [u.text for u in r.emulator.utterances] == [text_for(5)]
        assert np.array_equal(tape.pcm, sound(1, 5))
    assert not [n for n in r.of(Notice) if n.severity is not Severity.INFO]


async def test_no_server_is_told_in_words_and_the_next_text_tries_again() -> None:
    async with rig(url="ws://127.0.0.1:9") as r:
        for _ in range(2):
            done = await r.say(text_for(3))
            assert done.outcome is Outcome.FAILED
            assert done.reason == (
                "cannot reach ws://127.0.0.1:9/v1/audio/speech/stream (Connection refused)"
            )
        assert [link.state for link in r.links] == [LinkState.CONNECTING, LinkState.OFFLINE] * 2


async def test_a_patient_text_is_spoken_once_the_server_is_back() -> None:
    async with rig(replace(FAST, handshake_status=503, handshake_refusals=1), patience_s=30.0) as r:
        done = await r.say(text_for(3))
        assert done.outcome is Outcome.COMPLETE
        retries = [link.retry_in_s for link in r.links if link.retry_in_s is not None]
        assert len(retries) == 1


async def test_what_grew_old_while_nothing_could_be_reached_is_not_blurted_out() -> None:
    """Three texts are asked for while the first try fails; the server is back right after."""
    offline = Scenario(pace=0, handshake_status=503, handshake_refusals=1, handshake_delay_s=0.2)
    async with rig(offline) as r:
        asked = [r.engine.speak(text_for(3, first)) for first in (1, 100, 200)]
        done = await asyncio.wait_for(asyncio.gather(*asked), 5)
        assert [d.outcome for d in done] == [Outcome.FAILED] * 3
        assert all("cannot reach" in d.reason for d in done)
        assert (await r.say(text_for(3, 300))).outcome is Outcome.COMPLETE
        assert [u.text for u in r.emulator.utterances] == [text_for(3, 300)]


async def test_what_waits_behind_other_texts_does_not_grow_old() -> None:
    """With no patience at all, a paragraph survives a link that is lost between two of its sentences."""
    async with rig(replace(FAST, cut_at_frame=3, faulty_utterances=1)) as r:
        asked = [r.engine.speak(text_for(3, first)) for first in (1, 100, 200)]
        done = await asyncio.wait_for(asyncio.gather(*asked), 10)
        assert [d.outcome for d in done] == [Outcome.INCOMPLETE, Outcome.COMPLETE, Outcome.COMPLETE]


@pytest.mark.parametrize(
    ("status", "words"), [(401, "API key"), (404, "no speech stream"), (429, "no more sessions")]
)
async def test_a_refusal_is_not_tried_again_however_patient(status: int, words: str) -> None:
    async with rig(Scenario(handshake_status=status), patience_s=60.0) as r:
        done = await r.say(text_for(3))
        assert done.outcome is Outcome.FAILED
        assert words in done.reason
        assert r.emulator.refused_handshakes == 1
        assert r.links[-1].state is LinkState.OFFLINE


async def test_a_message_beyond_four_mebibytes_is_one_clear_error() -> None:
    connections = 0

    async def too_much(connection: ServerConnection) -> None:
        nonlocal connections
        connections += 1
        async for message in connection:
            if "input.done" in str(message):
                await connection.send(bytes(4 * 2**20 + 1))

    async with (
        serve(too_much, "127.0.0.1", 0, max_size=None) as server,
        rig(url=f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}") as r,
    ):
        done = await r.say(text_for(3))
    assert done.outcome is Outcome.INCOMPLETE
    assert "larger than 4 MiB" in done.reason
    assert connections == 1


async def test_the_largest_packet_is_taken() -> None:
    """65,535 frames, 2 MiB in one message: far more speech than the text needs, so it is cut and no more."""
    async with rig(replace(FAST, endless=True, packet_frames=65_535, max_frames=65_535)) as r:
        done = await r.say(text_for(3), within_s=30)
        assert done.outcome is Outcome.CUT_OFF
        assert r.emulator.utterances[0].frames == 65_535
        assert len(r.emulator.sessions) == 1


async def test_a_server_that_takes_its_time_is_waited_for() -> None:
    async with rig(replace(FAST, first_frame_delay_s=0.5)) as r:
        started_s = time.perf_counter()
        assert (await r.say(text_for(3))).outcome is Outcome.COMPLETE
        assert time.perf_counter() - started_s >= 0.5
