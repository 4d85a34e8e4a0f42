"""What waits for one client, and what becomes of one that does not read."""

from __future__ import annotations

import asyncio

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from server.emulator.mutate import Cut
from server.emulator.outgoing import MAX_WAITING_BYTES, OutgoingQueue
from tests.server.emulator.wire_client import client


async def test_a_client_for_which_too_much_waits_is_dropped() -> None:
    async def pile_up(socket: ServerConnection) -> None:
        queue = OutgoingQueue(socket)
        for _ in range(MAX_WAITING_BYTES // 100_000):
            queue.put("x" * 99_900)
        assert not socket.transport.is_closing()
        queue.put("x" * 99_900)
        assert socket.transport.is_closing()
        queue.put("and more, which is nothing to anybody")
        await socket.wait_closed()

    async with serve(pile_up, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with client(f"ws://127.0.0.1:{port}") as c:
            with pytest.raises(ConnectionClosed):
                await c.recv()


async def test_messages_leave_in_order_and_nothing_follows_the_end() -> None:
    async def speak(socket: ServerConnection) -> None:
        queue = OutgoingQueue(socket)
        for message in ('{"n": 1}', b"\x02", Cut(1000), '{"n": 3}'):
            queue.put(message)
        await asyncio.wait_for(queue.run(), 5)

    async with serve(speak, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with client(f"ws://127.0.0.1:{port}") as c:
            assert [await c.recv(), await c.recv()] == [{"n": 1}, b"\x02"]
            with pytest.raises(ConnectionClosed) as caught:
                await c.recv()
            assert caught.value.rcvd is not None
            assert caught.value.rcvd.code == 1000
