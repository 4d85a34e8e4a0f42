"""Concurrency is where streaming breaks: sessions side by side hear their own frames and no others."""

from __future__ import annotations

import asyncio

from tests.server.conformance.talk import comes_to_rest, is_well_formed, same, say, session, true_frames
from tests.server.conformance.under_test import ServerUnderTest


async def test_four_sessions_at_once_hear_exactly_their_own(server: ServerUnderTest) -> None:
    seeds = [31, 32, 33, 34]
    all_heard = await asyncio.gather(*(say(server, server.text, seed=seed) for seed in seeds))
    for seed, heard in zip(seeds, all_heard, strict=True):
        is_well_formed(heard)
        same(heard.codes, await true_frames(server, server.text, seed=seed))


async def test_what_one_session_does_is_nothing_to_the_others(server: ServerUnderTest) -> None:
    """One cancels, one leaves, one is refused; the fourth hears every frame."""
    async with (
        session(server, seed=41) as good,
        session(server) as cancelling,
        session(server) as leaving,
        session(server, voice="nobody-of-this-name") as refused,
    ):
        await cancelling.ask(server.long_text)
        await leaving.ask(server.long_text)
        await good.ask(server.text)
        await refused.ask(server.text)
        await cancelling.send("input.cancel")
        leaving.socket.transport.abort()
        heard = await good.hear()
        assert (await cancelling.hear()).types[-1] == "session.done"
        assert (await refused.hear()).json("codec.done")["error"] is True
    is_well_formed(heard)
    same(heard.codes, await true_frames(server, server.text, seed=41))
    await comes_to_rest(server)
