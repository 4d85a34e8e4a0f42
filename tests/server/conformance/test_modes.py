"""PROTOCOL 5 and 6: PCM sessions, and the reference codes of a cloned voice."""

from __future__ import annotations

import numpy as np
import pytest

from decoder.wire.messages import MAX_CONTEXT_FRAMES, CodecContext
from tests.server.conformance.talk import CODEC, error_on, is_well, is_well_formed, same, say, session
from tests.server.conformance.under_test import ServerUnderTest


def needs_pcm(server: ServerUnderTest) -> None:
    if not server.speaks_pcm:
        pytest.skip("this server sends codec tokens only")


async def test_pcm_is_spoken_as_a_stock_server_does(server: ServerUnderTest) -> None:
    needs_pcm(server)
    async with session(server, output_mode="pcm") as c:
        for index in range(2):
            heard = await c.say(server.text)
            assert heard.types == ["audio.start", "binary", "audio.done", "session.done"]
            start = heard.json("audio.start")
            assert (start["format"], start["sample_rate"]) == ("pcm", 24_000)
            assert (start["utterance_index"], start["sentence_index"]) == (index, 0)
            assert start["sentence_text"].strip() == server.text
            done = heard.json("audio.done")
            assert (done["utterance_index"], done["total_bytes"]) == (index, sum(map(len, heard.binary)))
            assert done["error"] is False
            assert np.frombuffer(b"".join(heard.binary), "<i2").any()


async def test_a_server_without_pcm_says_so(server: ServerUnderTest) -> None:
    if server.speaks_pcm:
        pytest.skip("this server speaks PCM")
    async with session(server) as c:
        await c.send("session.config", **CODEC | {"output_mode": "pcm"} | dict(server.config))
        assert "pcm" in (await error_on(c)).lower()
        await is_well(c)


async def test_the_mode_may_change_between_utterances(server: ServerUnderTest) -> None:
    needs_pcm(server)
    async with session(server) as c:
        for mode, first in (("pcm", "audio.start"), ("codec_tokens", "codec.start"), ("pcm", "audio.start")):
            await c.send("session.config", **CODEC | {"output_mode": mode} | dict(server.config))
            assert (await c.say(server.text)).types[0] == first


async def test_a_pcm_utterance_can_be_cancelled_too(server: ServerUnderTest) -> None:
    needs_pcm(server)
    async with session(server, output_mode="pcm") as c:
        await c.ask(server.long_text)
        while not isinstance(await c.recv(), bytes):
            pass
        await c.send("input.cancel")
        heard = await c.hear()
        assert heard.types[-2:] == ["audio.done", "session.done"]
        await is_well(c)


async def test_context_comes_before_the_first_packet_if_it_is_accepted(server: ServerUnderTest) -> None:
    if server.sends_context is None:
        pytest.skip("this server has no reference codes to send")
    heard = await say(server, server.text, **server.sends_context, accept_codec_context=True)
    assert heard.types == ["codec.start", "codec.context", "binary", "codec.done", "session.done"]
    context = heard.json("codec.context")
    codes = CodecContext(context["frames"], context["codes_b64"]).codes(16)
    assert 0 < len(codes) <= MAX_CONTEXT_FRAMES
    assert ((codes >= 0) & (codes < 2048)).all()
    heard.messages.remove(context)
    is_well_formed(heard)


@pytest.mark.parametrize("accepts", [{}, {"accept_codec_context": False}])
async def test_nobody_gets_context_who_did_not_accept_it(
    server: ServerUnderTest, accepts: dict[str, bool]
) -> None:
    fields = dict(server.sends_context or {}) | accepts
    heard = await say(server, server.text, seed=6, **fields)
    assert heard.types == ["codec.start", "binary", "codec.done", "session.done"]
    with_context = await say(server, server.text, seed=6, **fields | {"accept_codec_context": True})
    same(heard.codes, with_context.codes)
