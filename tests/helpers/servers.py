"""Small servers that misbehave below the protocol: at TCP, HTTP and TLS."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def tcp_server(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Run ``serve`` for every connection; yields the port."""
    tasks: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Accept and never say a word."""
    await asyncio.sleep(60)


async def hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Accept, read the request, and hang up."""
    await reader.readuntil(b"\r\n\r\n")


def answering(head: str) -> Serve:
    """Answer any request with ``head``."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head.encode() + b"\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        await reader.read()

    return serve


class Relay:
    """Passes bytes on to a port, both ways, until it is told to stop without closing anything."""

    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self.forwards = True

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._to_port)
        try:
            await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer))
        finally:
            far_writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            if self.forwards:
                writer.write(data)
        writer.close()


def certificate(folder: Path) -> tuple[Path, ssl.SSLContext] | None:
    """Make a certificate for 127.0.0.1 that signs itself; ``None`` without an ``openssl`` command."""
    openssl = shutil.which("openssl")
    if openssl is None:
        return None
    key, pem = folder / "key.pem", folder / "certificate.pem"
    extensions = ("subjectAltName=IP:127.0.0.1", "keyUsage=critical,digitalSignature,keyCertSign")
    subprocess.run(
        [
            openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", str(key), "-out", str(pem), "-days", "2", "-subj", "/CN=nearfield test",
            *(part for extension in extensions for part in ("-addext", extension)),
        ],
        check=True, capture_output=True, timeout=30,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    return pem, context
