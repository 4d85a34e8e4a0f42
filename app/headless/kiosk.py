"""The kiosk: one warm engine behind one desk, and every source that the configuration names."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.config import Config, KioskConfig
from app.desk.desk import Desk
from app.engine.build import Weights, build
from app.engine.engine import Engine
from app.engine.host import EngineReplaced, Host, HostEvent, Wanted
from app.errors import ConfigError, NearfieldError
from app.headless.named_pipe import lines_of_pipe
from app.headless.service import Manager, status_line, watched
from app.headless.show import Display
from app.headless.sources import lines_of, speak_lines
from app.headless.speaking import EXIT_FAILED, EXIT_OK
from app.headless.watched_folder import WatchedFolder

log = logging.getLogger("nearfield.kiosk")

STDIN = "stdin"


class Kiosk:
    """Made once and run once."""

    def __init__(
        self,
        config: Config,
        display: Display,
        manager: Manager,
        reload: Callable[[], Config],
        *,
        demo: bool = False,
    ) -> None:
        """``reload`` reads the configuration once more.

        Raises:
            ConfigError: a value that cannot be used.
            CheckpointError: the checkpoint that was asked for is not there.

        """
        self._weights = Weights()
        if not demo:
            self._make_engine(config)  # whatever cannot be used is better known now
        self._display = display
        self._manager = manager
        self._reload_config = reload
        self._demo = demo
        self._host = Host(Wanted(config, demo), make_engine=self._make_engine)
        self._host.subscribe(self._show)
        self._desk = Desk(self._host)
        self._sources = AsyncExitStack()
        self._open_sources: KioskConfig | None = None
        self._count_unheard: Callable[[object], None] | None = None
        """Has what Wyoming's engines do in the metrics, while HTTP is open."""
        self._end = asyncio.Event()
        self._hung_up = asyncio.Event()
        self._exit_code = EXIT_OK

    async def run(self) -> int:
        """Serve until a signal, or until standard input is over if that is the only source.

        Raises:
            ConfigError: a source cannot be opened.

        """
        async with AsyncExitStack() as stack:
            stack.enter_context(self._signals())
            stack.push_async_callback(self._host.aclose)
            starting = asyncio.create_task(self._host.start())
            stack.push_async_callback(_given_up, starting)
            stack.push_async_callback(self._close)
            await self._open(self._desk.config.kiosk)
            await stack.enter_async_context(self._doing(self._keep_reloading()))
            await stack.enter_async_context(
                watched(self._manager, self._asked_s, lambda: status_line(self._desk.status()))
            )
            if STDIN in self._desk.config.kiosk.sources:
                await stack.enter_async_context(self._doing(self._speak_stdin()))
            self._manager.ready()
            await self._end.wait()
        return self._exit_code

    # -- signals ----------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Have SIGTERM end it in good order and SIGHUP read the settings again, during the block.

        A terminal that is closed hangs up, too: that ends what was started from it.
        """
        loop = asyncio.get_running_loop()
        in_terminal = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
        handlers = {"SIGTERM": self._end.set, "SIGHUP": self._end.set if in_terminal else self._hung_up.set}
        handled = []
        for name, handler in handlers.items():
            with contextlib.suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):
                number = getattr(signal, name)
                loop.add_signal_handler(number, handler)
                handled.append(number)
        try:
            yield
        finally:
            for number in handled:
                loop.remove_signal_handler(number)

    async def _keep_reloading(self) -> None:
        while True:
            await self._hung_up.wait()
            self._hung_up.clear()
            try:
                await self._reload()
            except NearfieldError as error:
                self._display.say(f"the settings stay as they were: {error}")

    async def _reload(self) -> None:
        config = await asyncio.to_thread(self._reload_config)
        if fault := self._host.fault(config, self._demo):
            raise ConfigError(fault)
        await self._desk.apply(config, self._demo)
        if _of_sources(config.kiosk) == _of_sources(self._open_sources):
            self._display.say("the settings were read again")
            return
        before = self._open_sources
        await self._close_sources()
        try:
            await self._open(config.kiosk)
        except NearfieldError:
            if before is not None:
                await self._open(before)
            raise
        self._display.say("the settings were read again")

    # -- sources ----------------------------------------------------------------------------------------

    async def _open(self, kiosk: KioskConfig) -> None:
        async with AsyncExitStack() as stack:
            for source in kiosk.sources:
                if source != STDIN:
                    await stack.enter_async_context(self._source(source, kiosk))
            self._sources = stack.pop_all()
        self._open_sources = kiosk

    async def _close_sources(self) -> None:
        sources, self._sources = self._sources, AsyncExitStack()
        self._open_sources = None
        await sources.aclose()

    @asynccontextmanager
    async def _source(self, source: str, kiosk: KioskConfig) -> AsyncIterator[None]:
        say = self._display.say
        match source:
            case "pipe":
                async with (
                    lines_of_pipe(_path(kiosk.pipe)) as lines,
                    self._doing(speak_lines(self._desk, lines, "pipe", say)),
                ):
                    yield
            case "folder":
                folder = WatchedFolder(self._desk, _path(kiosk.watch_folder), say)
                async with self._doing(folder.run()):
                    yield
            case "http":
                async with self._http():
                    yield
            case "wyoming":
                from app.headless.voices import KnownVoices
                from app.headless.wyoming.server import WyomingServer, serving

                voices = KnownVoices(lambda: self._desk.config)
                server = WyomingServer(lambda: self._desk.config, self._make_for_wyoming, voices.names)
                async with serving(server):
                    say(f"Wyoming at port {server.port}")
                    yield

    @asynccontextmanager
    async def _http(self) -> AsyncIterator[None]:
        try:
            from app.headless.http.server import HttpServer
        except ImportError as error:
            raise ConfigError(
                f"the source http needs the package {error.name}: pip install 'nearfield[kiosk]'"
            ) from None
        server = HttpServer(self._desk, self._make_unheard)
        await server.start()
        self._count_unheard = server.observe_unheard
        try:
            self._display.say(f"HTTP at {server.url}")
            yield
        finally:
            self._count_unheard = None
            await server.aclose()

    async def _speak_stdin(self) -> None:
        # Absent where a program was started without any.
        stream = io.StringIO() if sys.stdin is None else sys.stdin
        all_spoken = await speak_lines(self._desk, lines_of(stream), STDIN, self._display.say)
        if self._desk.config.kiosk.sources == (STDIN,):
            self._exit_code = EXIT_OK if all_spoken else EXIT_FAILED
            self._end.set()

    @asynccontextmanager
    async def _doing(self, work: Coroutine[Any, Any, object]) -> AsyncIterator[None]:
        """Have ``work`` done during the block; if it fails, the kiosk ends rather than be half of one."""
        task = asyncio.create_task(work)
        task.add_done_callback(self._on_task_end)
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})

    def _on_task_end(self, task: asyncio.Task[object]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a part of the kiosk ended in an unexpected way", exc_info=error)
            self._exit_code = EXIT_FAILED
            self._end.set()

    # -- engines ----------------------------------------------------------------------------------------

    def _make_engine(self, config: Config) -> Engine:
        return build(config, weights=self._weights)

    def _make_unheard(self, config: Config) -> Engine:
        return build(config, audible=False, paced=False, weights=self._weights)

    def _make_for_wyoming(self, config: Config) -> Engine:
        engine = self._make_unheard(config)
        engine.subscribe(self._on_unheard)
        return engine

    def _on_unheard(self, event: object) -> None:
        if self._count_unheard is not None:
            self._count_unheard(event)

    def _asked_s(self) -> float | None:
        return None if self._host.engine is None else self._host.engine.asked_s

    async def _close(self) -> None:
        """Let the sentence finish, and meanwhile close the sources: nothing more is taken."""
        closing = asyncio.create_task(self._desk.aclose(self._desk.config.kiosk.grace_s))
        await asyncio.sleep(0)
        await asyncio.gather(self._close_sources(), closing)

    def _show(self, event: HostEvent) -> None:
        if not isinstance(event, EngineReplaced):
            self._display.show(event)


async def _given_up(task: asyncio.Task[None]) -> None:
    """End a start that is still going on; it clears up after itself."""
    task.cancel()
    await asyncio.wait({task})


def _path(text: str) -> Path:
    return Path(text).expanduser()


def _of_sources(kiosk: KioskConfig | None) -> KioskConfig | None:
    """Return what sources are made of: the rest changes without opening them again."""
    return None if kiosk is None else replace(kiosk, queue_limit=1, grace_s=0.0)
