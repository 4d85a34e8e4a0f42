"""How the tools that measure servers reach them: by the client's own address, key, trust and proxy."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from rich.console import Console

from app.config import ServerConfig
from app.errors import NearfieldError
from app.session.address import ServerAddress, server_address
from app.session.link import open_link
from server.caller import CallError, Dial, Link


def address_of(server: ServerConfig, url: str = "") -> ServerAddress:
    """Return the configured server's address, or that of another one with the same key and authority.

    Raises:
        ConfigError: it is no address, or its key would travel in the clear.

    """
    return server_address(
        url or server.url,
        server.api_key,
        server.ca_file,
        server.allow_insecure_key,
        server.connect_timeout_s,
    )


def dial_to(address: ServerAddress) -> Dial:
    """Return what opens a link to ``address``, and raises CallError with the client's own words."""

    async def dial() -> Link:
        try:
            return await open_link(address)
        except NearfieldError as error:
            raise CallError(str(error)) from error

    return dial


def run_until_interrupted(work: Coroutine[Any, Any, None]) -> bool:
    """Run ``work``; say whether Ctrl-C ended it before its end. What it raises is raised."""
    return asyncio.run(_run(work))


async def _run(work: Coroutine[Any, Any, None]) -> bool:
    task = asyncio.create_task(work)
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        task.cancel()
        loop.remove_signal_handler(signal.SIGINT)  # a second one ends the process, whatever it waits for

    with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C ends the program without a report
        loop.add_signal_handler(signal.SIGINT, interrupt)
    await asyncio.wait({task})
    if task.cancelled():
        return True
    task.result()
    return False


@contextlib.contextmanager
def progress(notes: Console) -> Iterator[Callable[[str], None]]:
    """Yield what shows a line in place on a terminal, and nowhere else."""
    if not notes.is_terminal:
        yield lambda text: None
        return
    with notes.status("starting") as status:
        yield lambda text: status.update(text)


def say(out: Console, text: str) -> None:
    """Print a line as it is, however long."""
    out.print(text, markup=False, highlight=False, soft_wrap=True)
