"""Malformed clients over real sockets: the server lives, and whoever behaves beside them notices nothing."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed

from tests.decoder.wire.junk import client_junk
from tests.decoder.wire.lines import line
from tests.server.conformance.talk import (
    CODEC,
    comes_to_rest,
    connected,
    is_well_formed,
    same,
    session,
    true_frames,
)
from tests.server.conformance.under_test import ServerUnderTest
from tests.server.emulator.wire_client import Heard

LEAVES_WITHIN_S = 30.0
FRAMES = 12
"""Of the text that is spoken beside the junk, at most."""

messages = (
    client_junk
    | client_junk
    | st.binary(max_size=40)
    | st.sampled_from(
        [
            line("session.config", **CODEC),
            line("input.text", text="Hello there."),
            line("input.done"),
            line("input.cancel"),
        ]
    )
)


async def misbehave(server: ServerUnderTest, junk: list[str | bytes], how: str) -> None:
    """Send ``junk`` and leave; whatever is answered has to be JSON or frames, and comes to an end."""
    async with connected(server) as c:
        if how != "no config":
            await c.send("session.config", **CODEC | dict(server.config))
        try:
            for message in junk:
                await c.socket.send(message)
            if how == "abort":
                c.socket.transport.abort()
            await c.send("session.close")
            await asyncio.wait_for(c.hear(until="nothing"), LEAVES_WITHIN_S)
        except ConnectionClosed:
            return


async def well_beside(server: ServerUnderTest, junk: list[str | bytes], how: str, seed: int) -> Heard:
    async with session(server, seed=seed, max_new_tokens=FRAMES) as good:
        await good.ask(server.text)
        await misbehave(server, junk, how)
        heard = await good.hear()
        assert (await good.say(server.text)).types == heard.types
        await comes_to_rest(server)
        return heard


@settings(max_examples=12, deadline=None)
@given(
    st.lists(messages.filter(lambda message: len(message) < 150_000), max_size=8),
    st.sampled_from(["close", "abort", "no config"]),
    st.integers(0, 3),
)
def test_no_client_takes_the_server_down_or_is_heard_by_another(
    server: ServerUnderTest, junk: list[str | bytes], how: str, seed: int
) -> None:
    async def run() -> None:
        heard = await well_beside(server, junk, how, seed)
        is_well_formed(heard)
        same(heard.codes, await true_frames(server, server.text, seed=seed, max_new_tokens=FRAMES))

    asyncio.run(run())
