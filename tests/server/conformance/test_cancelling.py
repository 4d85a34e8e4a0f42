"""PROTOCOL 1, ``input.cancel``: in the middle, while idle, early, twice."""

from __future__ import annotations

import time

import pytest

from decoder.wire.packets import Flags
from tests.server.conformance.talk import (
    comes_to_rest,
    error_on,
    is_well,
    is_well_formed,
    same,
    session,
    true_frames,
)
from tests.server.conformance.under_test import ServerUnderTest
from tests.server.emulator.wire_client import Heard, WireClient

AT_ONCE_S = 3.0
"""Far less than the rest of the long text takes, far more than a busy machine needs."""


async def begin(c: WireClient, text: str, packets: int = 3) -> Heard:
    """Ask for ``text`` and return once so many packets have come."""
    heard = Heard()
    await c.ask(text)
    while len(heard.binary) < packets:
        heard.messages.append(await c.recv())
    return heard


async def test_a_cancel_in_mid_generation_ends_the_unit_and_the_utterance(server: ServerUnderTest) -> None:
    async with session(server, seed=2) as c:
        heard = await begin(c, server.long_text)
        asked_s = time.monotonic()
        await c.send("input.cancel")
        await c.hear_into(heard, "session.done")
        assert time.monotonic() - asked_s < AT_ONCE_S
        await comes_to_rest(server)
        assert heard.types == ["codec.start", "binary", "codec.done", "session.done"]
        done = heard.json("codec.done")
        assert done["cancelled"] is True
        assert not done["error"]
        assert done["total_frames"] == len(heard.codes)
        assert done["seq_last"] == heard.packets[-1].seq
        assert [bool(p.flags & Flags.EOS) for p in heard.packets[-2:]] == [False, True]
        assert heard.json("session.done")["total_sentences"] == 1
        if (known := server.frames(server.long_text, {"seed": 2})) is not None:
            assert len(heard.codes) < len(known)
            same(heard.codes, known[: len(heard.codes)])
        await is_well(c)


async def test_the_next_utterance_has_nothing_of_the_cancelled_one(server: ServerUnderTest) -> None:
    async with session(server, seed=2) as c:
        await begin(c, server.long_text)
        await c.send("input.cancel")
        await c.hear()
        heard = await c.say(server.text)
    is_well_formed(heard)
    assert heard.json("codec.start")["utterance_index"] == 1
    same(heard.codes, await true_frames(server, server.text, seed=2))


async def test_a_cancel_while_idle_is_told_and_harms_nothing(server: ServerUnderTest) -> None:
    async with session(server) as c:
        for _ in range(3):
            await is_well(c)
        is_well_formed(await c.say(server.text))
        await is_well(c)


async def test_a_cancel_on_the_heels_of_the_text_ends_it_too(server: ServerUnderTest) -> None:
    async with session(server) as c:
        await c.ask(server.long_text)
        await c.send("input.cancel")
        heard = await c.hear()
        assert heard.types[-1] == "session.done"
        assert all(m["cancelled"] for m in heard.messages if isinstance(m, dict) and "cancelled" in m)
        await comes_to_rest(server)
        await is_well(c)


async def test_a_second_cancel_meets_an_idle_session(server: ServerUnderTest) -> None:
    async with session(server) as c:
        await begin(c, server.long_text)
        await c.send("input.cancel")
        await c.send("input.cancel")
        heard = await c.hear("input.cancelled")
        assert heard.types[-3:] == ["codec.done", "session.done", "input.cancelled"]
        await is_well(c)


@pytest.mark.parametrize("what", ["session.config", "no.such.message"])
async def test_what_is_out_of_place_during_an_utterance_does_not_end_it(
    server: ServerUnderTest, what: str
) -> None:
    """It is refused with an ``error``, and the frames go on."""
    async with session(server, seed=9) as c:
        heard = Heard()
        await c.ask(server.text)
        await c.send(what, output_mode="codec_tokens", seed=1)
        await c.hear_into(heard, "session.done")
        said = heard.json("error")["message"]
        heard.messages = [m for m in heard.messages if isinstance(m, bytes) or m["type"] != "error"]
        is_well_formed(heard)
        same(heard.codes, await true_frames(server, server.text, seed=9))
        if what == "session.config":
            assert said.startswith("session.config cannot be applied while an utterance is in progress")
            same((await c.say(server.text)).codes, heard.codes)
        else:
            assert said == "Unknown message type: no.such.message"


async def test_a_config_behind_buffered_text_is_refused_and_the_old_one_counts(
    server: ServerUnderTest,
) -> None:
    async with session(server, seed=9) as c:
        await c.send("input.text", text=server.text)
        await c.send("session.config", output_mode="codec_tokens", seed=1)
        said = await error_on(c)
        assert said.startswith("session.config cannot be applied while an utterance is in progress")
        await c.send("input.done")
        same((await c.hear()).codes, await true_frames(server, server.text, seed=9))


async def test_a_client_that_leaves_in_mid_utterance_ends_its_generation(server: ServerUnderTest) -> None:
    async with session(server) as c:
        await begin(c, server.long_text)
        c.socket.transport.abort()
    await comes_to_rest(server)
