"""Codec tokens under the released handler: frames, cancels, failures; conformance tests the rest."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed

from decoder.wire.messages import CodecContext
from decoder.wire.packets import Flags
from server.omni_plugin.nearfield_omni.connection import MAX_STOPPING
from tests.helpers.omni_rig import OmniServer
from tests.helpers.omni_server.scene import Scene, reference_codes, true_frames
from tests.helpers.omni_server.service import BROKEN_MODEL
from tests.helpers.waiting import eventually
from tests.server.emulator.wire_client import WireClient, client
from tests.server.omni_plugin.talk import CODEC, PCM, TEXT, hear_packets, say, session

MISFORTUNES = {
    "plain": Scene(),
    "prefill in parts": Scene(prefill_parts=3),
    "no prefill rows": Scene(prefill_rows=0),
    "without flags": Scene(flags=False, invalid_at=(2,)),
    "preempted": Scene(stale_at=(1, 4, 5)),
    "invalid tokens": Scene(invalid_at=(1, 2, 15)),
    "outputs in bursts": Scene(burst=4, stale_at=(3,)),
    "one frame": Scene(frames=1),
    "as fast as it goes": Scene(step_s=0.0, frames=200),
}


@pytest.mark.parametrize("scene", MISFORTUNES.values(), ids=MISFORTUNES)
async def test_exactly_the_true_frames_arrive(codec: OmniServer, scene: Scene) -> None:
    codec.play(scene)
    heard = await say(codec, seed=5)
    np.testing.assert_array_equal(heard.codes, true_frames(scene, TEXT, voice="vivian", seed=5))
    assert heard.types == ["codec.start", "binary", "codec.done", "session.done"]
    assert [p.seq for p in heard.packets] == list(range(len(heard.packets)))
    assert heard.packets[-1].flags & Flags.EOS
    assert not any(p.flags & Flags.EOS for p in heard.packets[:-1])
    assert heard.json("codec.done")["total_frames"] == len(heard.codes)


async def test_the_last_frame_and_the_end_share_a_packet(codec: OmniServer) -> None:
    """The finishing output brings the last frame; no packet is sent for the end alone."""
    heard = await say(codec)
    assert [p.n_frames for p in heard.packets] == [1] * len(heard.codes)


async def test_a_unit_without_frames_is_an_end_and_nothing_else(codec: OmniServer) -> None:
    codec.play(Scene(frames=0))
    heard = await say(codec)
    assert [(p.n_frames, p.flags) for p in heard.packets] == [(0, Flags.EOS)]
    assert heard.json("codec.done")["error"] is False


async def test_a_generation_without_a_single_row_is_no_silence_but_an_engine_that_keeps_them(
    codec: OmniServer,
) -> None:
    """A prefill has rows; where none come out, the operator has to choose the other way."""
    codec.play(Scene(frames=0, prefill_rows=0))
    heard = await say(codec)
    assert heard.json("error")["message"].endswith("with another value of NEARFIELD_OMNI_ROWS")
    assert heard.json("codec.done")["error"] is True


async def test_max_new_tokens_are_one_frame_more_than_arrives(codec: OmniServer) -> None:
    """The row of a token comes with the next one, so the last token has none."""
    heard = await say(codec, max_new_tokens=6, seed=1)
    assert len(heard.codes) == 5
    np.testing.assert_array_equal(heard.codes, true_frames(codec.scene, TEXT, voice="vivian", seed=1)[:5])
    assert codec.state()["generations"][-1]["ended"] == "length"


async def test_every_step_is_asked_of_the_engine_not_the_end_only(codec: OmniServer) -> None:
    await say(codec)
    assert codec.state()["generations"][-1]["output_kind"] == "DELTA"


async def test_outputs_are_read_to_their_end(codec: OmniServer) -> None:
    """Closed before it, a whole utterance would count as one whose client has left."""
    await say(codec)
    assert codec.state()["generations"][-1]["ended"] == "stop"


async def test_frames_leave_while_later_ones_are_still_sampled(codec: OmniServer) -> None:
    codec.play(Scene(frames=8, hang_at=4))
    async with session(codec) as c:
        await c.ask(TEXT)
        heard = await hear_packets(c, 3)
        assert len(heard.codes) == 3
        assert codec.running() == 1
        await c.send("input.cancel")
        await c.hear()


async def test_four_sessions_at_once_hear_their_own_frames(codec: OmniServer) -> None:
    codec.play(Scene(step_s=0.005, stale_at=(3,)))
    texts = [f"{TEXT} Number {number}." for number in range(4)]
    voices = ["vivian", "ryan", "serena", "vivian"]
    everyone = await asyncio.gather(
        *(say(codec, text, voice=voice) for text, voice in zip(texts, voices, strict=True))
    )
    for heard, text, voice in zip(everyone, texts, voices, strict=True):
        np.testing.assert_array_equal(heard.codes, true_frames(codec.scene, text, voice=voice))


# -- cancel ---------------------------------------------------------------------------------------------


async def test_a_cancel_aborts_the_generation_within_one_step(codec: OmniServer) -> None:
    codec.play(Scene(frames=500, step_s=0.05))
    async with session(codec) as c:
        await c.ask(TEXT)
        heard = await hear_packets(c, 3)
        await c.send("input.cancel")
        await c.hear_into(heard, "session.done")
    await eventually(lambda: not codec.running(), what="the end of the generation")
    generation = codec.state()["generations"][-1]
    assert generation["ended"] == "abort"
    assert generation["steps"] - len(heard.codes) <= 1
    assert generation["abort_asked_at"] == generation["steps"]
    assert heard.json("codec.done")["cancelled"] is True
    assert heard.packets[-1].flags & Flags.EOS


async def test_a_cancel_does_not_wait_for_a_step_that_never_comes(codec: OmniServer) -> None:
    codec.play(Scene(hang_at=3))
    async with session(codec) as c:
        await c.ask(TEXT)
        await hear_packets(c, 2)
        await c.send("input.cancel")
        assert (await c.hear()).json("codec.done")["cancelled"] is True
        await eventually(lambda: not codec.running())
        codec.play(Scene())
        heard = await c.say(TEXT)
    np.testing.assert_array_equal(heard.codes, true_frames(Scene(), TEXT, voice="vivian"))


async def test_the_next_utterance_does_not_wait_for_a_slow_abort(codec: OmniServer) -> None:
    """Nor does it hear anything of the one that is still being stopped."""
    codec.play(Scene(frames=400, step_s=0.002, slow_abort_s=0.5))
    async with session(codec) as c:
        await c.ask(TEXT)
        await hear_packets(c, 2)
        await c.send("input.cancel")
        await c.hear()
        await c.ask("Short.")
        heard = await hear_packets(c, 5)
        assert [g["ended"] for g in codec.state()["generations"][-2:]] == ["", ""]
        np.testing.assert_array_equal(
            heard.codes, true_frames(codec.scene, "Short.", voice="vivian")[: len(heard.codes)]
        )
        await c.send("input.cancel")
        await c.hear()
    await eventually(lambda: not codec.running())


async def test_a_client_that_cancels_all_the_time_waits_for_what_it_has_started(codec: OmniServer) -> None:
    """Each of its utterances is a request to the engine until that has let go of it."""
    codec.play(Scene(hang_at=1, slow_abort_s=0.2))
    most = 0
    async with session(codec) as c:
        for _ in range(2 * MAX_STOPPING + 4):
            await c.ask(TEXT)
            await c.hear("codec.start")
            await c.send("input.cancel")
            await c.hear()
            most = max(most, codec.running())
    assert 1 < most <= MAX_STOPPING + 2
    await eventually(lambda: not codec.running())


async def test_an_abort_that_fails_is_noted_and_the_generation_ends_all_the_same(codec: OmniServer) -> None:
    codec.play(Scene(hang_at=2, abort_fails=True))
    async with session(codec) as c:
        await c.ask(TEXT)
        await hear_packets(c, 1)
        await c.send("input.cancel")
        assert (await c.hear()).json("codec.done")["cancelled"] is True
        await eventually(lambda: not codec.running())
    assert codec.state()["generations"][-1]["ended"] == "closed"
    assert "failed: EngineError: the engine does not answer" in codec.log()


async def test_a_cancel_before_the_first_step_leaves_no_generation(codec: OmniServer) -> None:
    codec.play(Scene(first_step_s=30.0))
    async with session(codec) as c:
        await c.ask(TEXT)
        await c.hear("codec.start")
        await c.send("input.cancel")
        heard = await c.hear()
        assert [(p.n_frames, p.flags) for p in heard.packets] == [(0, Flags.EOS)]
    await eventually(lambda: not codec.running())


async def test_a_client_that_leaves_has_its_generation_aborted(codec: OmniServer) -> None:
    codec.play(Scene(hang_at=3))
    async with session(codec) as c:
        await c.ask(TEXT)
        await hear_packets(c, 2)
        c.socket.transport.abort()
    await eventually(lambda: not codec.running())
    assert codec.state()["generations"][-1]["abort_asked_at"] is not None


async def test_no_task_is_left_of_connections_that_ended(codec: OmniServer) -> None:
    before = codec.state()["tasks"]
    codec.play(Scene(hang_at=2))
    for how in ("cancel", "leave", "close"):
        async with session(codec) as c:
            await c.ask(TEXT)
            await hear_packets(c, 1)
            if how == "leave":
                c.socket.transport.abort()
            elif how == "cancel":
                await c.send("input.cancel")
                await c.hear()
            else:
                await c.send("session.close")
    await eventually(lambda: codec.state()["tasks"] <= before, what="the end of all tasks")
    assert not codec.running()


# -- failures -------------------------------------------------------------------------------------------


async def test_an_engine_that_fails_is_an_error_and_a_unit_without_an_end(codec: OmniServer) -> None:
    codec.play(Scene(error_at=4, error_text="the GPU has fallen off the bus"))
    async with session(codec) as c:
        heard = await c.say(TEXT)
        assert heard.types == ["codec.start", "binary", "error", "codec.done", "session.done"]
        said = heard.json("error")["message"]
        assert said == "Generation failed for utterance 0, sentence 0: the GPU has fallen off the bus"
        assert not heard.has_eos
        done = heard.json("codec.done")
        assert (done["error"], done["total_frames"], done["seq_last"]) == (True, 3, 2)
        codec.play(Scene())
        heard = await c.say(TEXT)
        assert heard.json("codec.done")["error"] is False
        assert heard.json("session.done")["utterance_index"] == 1


async def test_a_dead_engine_is_told_to_everyone_who_asks(codec: OmniServer) -> None:
    codec.play(Scene(dead=True))
    heard = await say(codec)
    assert "the engine is dead" in heard.json("error")["message"]
    assert heard.json("codec.done")["error"] is True


REFUSALS = [
    ({"voice": "nobody"}, "Invalid voice 'nobody'. Supported: ryan, serena, vivian"),
    ({"task_type": "Base", "voice": "nobody"}, "Base task requires 'ref_audio' for voice cloning"),
]


@pytest.mark.parametrize(("fields", "words"), REFUSALS)
async def test_what_the_service_refuses_is_told_with_its_words(
    codec: OmniServer, fields: dict[str, Any], words: str
) -> None:
    before = len(codec.state()["generations"])
    heard = await say(codec, config=CODEC | fields)
    said = heard.json("error")["message"]
    assert said.startswith("Generation failed for utterance 0, sentence 0: ")
    assert words in said
    assert heard.types == ["codec.start", "error", "codec.done", "session.done"]
    assert len(codec.state()["generations"]) == before


async def test_after_a_sentence_that_fails_the_rest_is_not_tried(codec: OmniServer) -> None:
    codec.play(Scene(error_at=2))
    heard = await say(codec, "One sentence. And another one.", split_granularity="sentence")
    assert heard.types == ["codec.start", "binary", "error", "codec.done", "session.done"]


async def test_a_model_that_is_not_served_is_refused_with_the_config(codec: OmniServer) -> None:
    async with client(codec.url) as c:
        await c.send("session.config", **CODEC, model="another/model")
        assert (await c.hear("error")).json("error")["message"] == "The model `another/model` does not exist."
    async with session(codec) as c:
        await c.send("session.config", **CODEC, model="another/model")
        await c.hear("error")
        heard = await c.say(TEXT)
        assert heard.json("codec.done")["error"] is False
        await c.send("session.config", **CODEC, model=codec.scene.model)
        assert (await c.say(TEXT)).json("codec.done")["error"] is False


async def test_a_fault_of_the_server_ends_one_connection_and_is_told_and_logged(codec: OmniServer) -> None:
    async with session(codec) as c:
        await c.send("session.config", **CODEC, model=BROKEN_MODEL)
        said = (await c.hear("error")).json("error")["message"]
        assert said == "Internal error: the check itself has failed"
        with pytest.raises(ConnectionClosed):
            await c.recv()
    assert "Traceback" in codec.log()
    assert (await say(codec)).json("codec.done")["error"] is False


async def test_a_cloned_voice_that_misses_its_end_is_incomplete(codec: OmniServer) -> None:
    """As the stock service says of its sound: all tokens were used up, and the text was not at its end."""
    cloned = CODEC | {"task_type": "Base", "ref_audio": "data:audio/wav;base64,UklGRg==", "ref_text": "Yes."}
    heard = await say(codec, config=cloned, max_new_tokens=6)
    assert heard.types == ["codec.start", "binary", "error", "codec.done", "session.done"]
    assert heard.json("error")["message"].endswith("the generated audio is incomplete.")
    np.testing.assert_array_equal(heard.codes, true_frames(codec.scene, TEXT, voice="vivian")[:5])
    assert heard.json("codec.done")["error"] is True
    assert not heard.has_eos
    assert codec.state()["generations"][-1]["request_id"] in codec.state()["discarded"]
    assert (await say(codec, config=cloned)).json("codec.done")["error"] is False


async def test_recordings_prepared_for_a_voice_are_kept_after_success_and_dropped_after_failure(
    codec: OmniServer,
) -> None:
    """What the stock service notes for each request has to be settled, or it grows for ever."""
    await say(codec)
    codec.play(Scene(error_at=1))
    await say(codec)
    codec.play(Scene(hang_at=1))
    async with session(codec) as c:
        await c.ask(TEXT)
        await c.hear("codec.start")
        await eventually(codec.running)
        await c.send("input.cancel")
        await c.hear()
    await eventually(lambda: not codec.running())
    state = codec.state()
    done, failed, cancelled = (g["request_id"] for g in state["generations"][-3:])
    assert done in state["marked_ready"]
    assert {failed, cancelled} <= set(state["discarded"])
    assert not {failed, cancelled} & set(state["marked_ready"])


# -- reference codes ------------------------------------------------------------------------------------


async def test_the_newest_72_frames_of_the_reference_come_before_the_first_packet(codec: OmniServer) -> None:
    codec.play(Scene(ref_frames=90))
    heard = await say(codec, accept_codec_context=True)
    assert heard.types == ["codec.start", "codec.context", "binary", "codec.done", "session.done"]
    message = heard.json("codec.context")
    codes = CodecContext(message["frames"], message["codes_b64"]).codes(16)
    np.testing.assert_array_equal(codes, reference_codes(codec.scene)[-72:])
    np.testing.assert_array_equal(heard.codes, true_frames(codec.scene, TEXT, voice="vivian"))


@pytest.mark.parametrize(("frames", "fields"), [(90, {}), (0, {"accept_codec_context": True})])
async def test_there_is_no_context_unless_it_is_wanted_and_there_is_one(
    codec: OmniServer, frames: int, fields: dict[str, Any]
) -> None:
    codec.play(Scene(ref_frames=frames))
    assert (await say(codec, **fields)).types == ["codec.start", "binary", "codec.done", "session.done"]


# -- what this deployment is not for --------------------------------------------------------------------


async def test_pcm_is_refused_with_the_way_out_where_nothing_decodes(codec: OmniServer) -> None:
    async with client(codec.url) as c:
        await c.send("session.config", **PCM)
        said = (await c.hear("error")).json("error")["message"]
        assert "has no decoder" in said
        assert "output_mode='codec_tokens'" in said
    async with client(codec.url) as c:
        await c.send("session.config", stream_audio=True)
        assert "has no decoder" in (await c.hear("error")).json("error")["message"]


async def test_a_request_that_the_engine_ends_by_itself_is_no_whole_unit(codec: OmniServer) -> None:
    """An operator's pause or reset aborts what is being generated; nobody may take the rest for silence."""
    codec.play(Scene(aborted_at=4))
    heard = await say(codec)
    assert heard.types == ["codec.start", "binary", "error", "codec.done", "session.done"]
    assert heard.json("error")["message"].endswith("the engine ended the request with 'abort'")
    assert len(heard.codes) == 3
    assert not heard.has_eos


async def flood(c: WireClient) -> None:
    for _ in range(200):
        await c.send("input.text", text="x" * (127 * 1024))
    await c.hear("nothing")


@pytest.mark.parametrize("mode", [CODEC, PCM])
async def test_what_a_client_may_say_while_it_is_spoken_to_is_bounded(
    codec: OmniServer, two_stage: OmniServer, mode: dict[str, Any]
) -> None:
    """It waits in the server's memory; nobody but a flood gets there."""
    server = codec if mode is CODEC else two_stage
    server.play(Scene(hang_at=2))
    async with session(server, mode) as c:
        await c.ask(TEXT)
        await hear_packets(c, 1)
        with pytest.raises(ConnectionClosed):
            await flood(c)
    await eventually(lambda: not server.running())
    server.play(Scene())
    assert not (await say(server, config=mode)).messages[-2]["error"]  # type: ignore[index]
