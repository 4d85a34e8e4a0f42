from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web

from app.headless.http import bodies
from app.headless.http.door import answer_of
from app.headless.http.faults import Fault

Read = Callable[[web.Request], Awaitable[str]]


@asynccontextmanager
async def reading(read: Read) -> AsyncIterator[str]:
    """Serve what ``read`` makes of a body; faults are answered as the door does."""

    async def handle(request: web.Request) -> web.Response:
        try:
            return web.Response(text=await read(request))
        except Fault as fault:
            return answer_of(request, fault)

    application = web.Application()
    application.router.add_post("/", handle)
    runner = web.AppRunner(application, access_log=None, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        assert site._server is not None
        yield f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}/"  # type: ignore[attr-defined]
    finally:
        await runner.cleanup()


async def slowly(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
        await asyncio.sleep(0.05)


async def post(url: str, data: object, content_type: str = "text/plain") -> tuple[int, str]:
    connector = aiohttp.TCPConnector(force_close=True)
    headers = {"Content-Type": content_type}
    async with (
        aiohttp.ClientSession(connector=connector) as client,
        client.post(url, data=data, headers=headers) as answer,
    ):
        return answer.status, await answer.text()


async def stuck() -> AsyncIterator[bytes]:
    yield b"Hi"
    await asyncio.sleep(5)


async def test_a_body_that_does_not_come_is_408() -> None:
    async def whole(request: web.Request) -> str:
        return (await bodies.whole(request, 100, within_s=0.1)).decode()

    async def pieces(request: web.Request) -> str:
        return "".join([text async for text in bodies.texts(request, 100, pause_s=0.1)])

    for read in (whole, pieces):
        async with reading(read) as url:
            status, text = await asyncio.wait_for(post(url, stuck()), 4)
            assert (status, "too_slow" in text) == (408, True)


async def test_a_slow_body_may_pause_as_often_as_it_likes_in_pieces() -> None:
    async def pieces(request: web.Request) -> str:
        return "|".join([text async for text in bodies.texts(request, 100, pause_s=1.0)])

    async with reading(pieces) as url:
        assert await post(url, slowly(b"One", b" two", b" three")) == (200, "One| two| three")


async def test_characters_may_be_cut_anywhere() -> None:
    async def pieces(request: web.Request) -> str:
        return "|".join([text async for text in bodies.texts(request, 100)])

    whole = "Öl 漢 🙂".encode()
    async with reading(pieces) as url:
        status, text = await post(url, slowly(*(whole[at : at + 1] for at in range(len(whole)))))
    assert (status, text.replace("|", "")) == (200, "Öl 漢 🙂")


async def test_bytes_that_are_no_text_are_400() -> None:
    async def pieces(request: web.Request) -> str:
        return "".join([text async for text in bodies.texts(request, 100)])

    async def whole(request: web.Request) -> str:
        return bodies.as_text(request, await bodies.whole(request, 100))

    for read in (pieces, whole):
        async with reading(read) as url:
            for data in (b"caf\xe9!", b"Hi \xf0\x9f"):
                status, text = await post(url, data)
                assert (status, "bad_text" in text) == (400, True)
            status, text = await post(url, b"Hi", "text/plain; charset=latin-1")
            assert (status, "wrong_charset" in text) == (415, True)
