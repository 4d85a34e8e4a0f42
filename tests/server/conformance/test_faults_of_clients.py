"""PROTOCOL 1 and 5: what a client may send that it should not, and how a connection ends."""

from __future__ import annotations

import asyncio
import contextlib
import time

import pytest
from websockets.exceptions import ConnectionClosed

from decoder.wire.messages import MAX_MESSAGE_BYTES, MAX_TEXT_BYTES
from tests.server.conformance.talk import (
    closes_with,
    comes_to_rest,
    connected,
    error_on,
    is_dropped,
    is_well,
    is_well_formed,
    same,
    say,
    session,
    true_frames,
)
from tests.server.conformance.under_test import ServerUnderTest

NO_JSON = ["{", "", "nonsense", '{"type": "input.text", "text": ', "\x00", "[" * 20_000]
NO_OBJECT = ["[]", "null", "7", '"input.done"', "[{}]"]


async def test_who_asks_before_any_text_learns_that_codec_tokens_are_known(server: ServerUnderTest) -> None:
    """The probe of the client: a stock server answers with an error."""
    async with session(server) as c:
        await c.send("input.cancel")
        assert await c.recv() == {"type": "input.cancelled"}


@pytest.mark.parametrize("first", ["input.text", "input.done", "input.cancel", "session.close", "hello"])
async def test_who_does_not_begin_with_a_config_is_dropped(server: ServerUnderTest, first: str) -> None:
    async with connected(server) as c:
        await c.send(first, text="Hello.")
        assert await error_on(c) == f"Expected session.config, got: {first}"
        await is_dropped(c)


@pytest.mark.parametrize("junk", [*NO_JSON, *NO_OBJECT])
async def test_who_does_not_begin_with_json_is_dropped(server: ServerUnderTest, junk: str) -> None:
    async with connected(server) as c:
        await c.socket.send(junk)
        assert ("json object" if junk in NO_OBJECT else "invalid json") in (await error_on(c)).lower()
        await is_dropped(c)


@pytest.mark.parametrize("untyped", ["{}", '{"type": 1}', '{"type": null, "text": "Hello."}'])
async def test_a_message_without_a_type_is_told(server: ServerUnderTest, untyped: str) -> None:
    """The first one ends the connection, a later one nothing."""
    async with connected(server) as c:
        await c.socket.send(untyped)
        assert await error_on(c)
        await is_dropped(c)
    async with session(server) as c:
        await c.socket.send(untyped)
        assert await error_on(c)
        await is_well(c)


async def test_later_on_what_is_no_json_is_told_and_forgotten(server: ServerUnderTest) -> None:
    async with session(server, seed=8) as c:
        for junk in NO_JSON:
            await c.socket.send(junk)
            assert "invalid json" in (await error_on(c)).lower()
        for junk in NO_OBJECT:
            await c.socket.send(junk)
            assert "json object" in (await error_on(c)).lower()
        same((await c.say(server.text)).codes, await true_frames(server, server.text, seed=8))


async def test_unknown_types_are_named(server: ServerUnderTest) -> None:
    async with session(server) as c:
        for name in ("input.audio", "session.done", "codec.start", "", "Ünknown"):
            await c.send(name)
            assert await error_on(c) == f"Unknown message type: {name}"
        await is_well(c)


@pytest.mark.parametrize("body", [{}, {"text": None}, {"text": 5}, {"text": ["a"]}])
async def test_text_that_is_none_is_told_or_nothing_and_the_session_goes_on(
    server: ServerUnderTest, body: dict[str, object]
) -> None:
    """A stock server takes a missing text for an empty one; what has a wrong type is refused by all."""
    async with session(server) as c:
        await c.send("input.text", **body)
        await c.send("input.cancel")
        heard = await c.hear("input.cancelled")
        if body:
            assert "input.text" in heard.json("error")["message"]
        is_well_formed(await c.say(server.text))


async def test_a_binary_message_ends_its_session_and_no_other(server: ServerUnderTest) -> None:
    async with session(server, seed=8) as beside, session(server) as c:
        await beside.ask(server.text)
        await c.socket.send(b"\x00\x01\x02")
        assert await closes_with(c) != 1000
        same((await beside.hear()).codes, await true_frames(server, server.text, seed=8))


async def test_text_of_128_kib_is_taken_and_not_a_byte_more(server: ServerUnderTest) -> None:
    async with session(server, seed=8) as c:
        envelope_bytes = 200
        await c.send("input.text", text=" " * (MAX_TEXT_BYTES - envelope_bytes))
        await c.send("input.text", text="x" * (MAX_TEXT_BYTES + 1))
        assert "input.text" in await error_on(c)
        await c.send("input.text", text=server.text)
        await c.send("input.done")
        same((await c.hear()).codes, await true_frames(server, server.text, seed=8))


async def test_a_message_beyond_4_mib_is_refused_and_harms_nobody(server: ServerUnderTest) -> None:
    was_refused = False
    async with session(server, seed=8) as beside:
        await beside.ask(server.text)
        # The connection may end while this is being sent; asyncio then trips over its own transport at times,
        # in sending and in closing.
        with contextlib.suppress(AttributeError):
            async with session(server) as c:
                with contextlib.suppress(ConnectionClosed, AttributeError):
                    await c.send(
                        "session.config", output_mode="codec_tokens", ref_audio="A" * (MAX_MESSAGE_BYTES + 1)
                    )
                if server.oversize_closes_with is None:
                    assert "too large" in await error_on(c)
                    await is_well(c)
                else:
                    # What is still on its way when the server closes may take the close frame along.
                    assert await closes_with(c) in (server.oversize_closes_with, None)
                was_refused = True
        same((await beside.hear()).codes, await true_frames(server, server.text, seed=8))
    assert was_refused


# -- the end --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["idle", "buffered", "speaking"])
async def test_a_session_that_is_closed_is_closed_with_1000(server: ServerUnderTest, when: str) -> None:
    async with session(server) as c:
        if when != "idle":
            await c.send("input.text", text=server.long_text)
        if when == "speaking":
            await c.send("input.done")
            await c.hear("codec.start")
        await c.send("session.close")
        assert await closes_with(c) == 1000
    await comes_to_rest(server)


async def test_who_never_says_a_config_is_told_and_dropped(server: ServerUnderTest) -> None:
    async with connected(server) as c:
        started_s = time.monotonic()
        assert await error_on(c) == "Timeout waiting for session.config"
        assert time.monotonic() - started_s > 0.8 * server.config_timeout_s
        await is_dropped(c)


async def test_who_is_silent_is_told_and_dropped_but_any_message_keeps_the_session(
    server: ServerUnderTest,
) -> None:
    async with session(server) as c:
        for _ in range(3):
            await asyncio.sleep(0.5 * server.idle_timeout_s)
            await c.send("input.text", text="")
        started_s = time.monotonic()
        assert await error_on(c) == "Idle timeout: no message received"
        assert time.monotonic() - started_s > 0.8 * server.idle_timeout_s
        await is_dropped(c)


async def test_who_listens_for_longer_than_the_time_out_is_not_idle(server: ServerUnderTest) -> None:
    """A long text is spoken while its client has nothing to say."""
    async with session(server) as c:
        await c.ask(server.long_text)
        until_s = time.monotonic() + 1.3 * server.idle_timeout_s
        while time.monotonic() < until_s:
            message = await c.recv()
            assert isinstance(message, bytes) or message["type"] == "codec.start"
        await c.send("input.cancel")
        assert (await c.hear()).json("codec.done")["cancelled"] is True


async def test_whatever_its_clients_do_the_server_speaks_on(server: ServerUnderTest) -> None:
    is_well_formed(await say(server, server.text))
