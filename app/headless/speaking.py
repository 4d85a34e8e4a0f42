"""What every front end without a window does: run an engine, feed it texts, end in good order."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from app.config import Config
from app.engine.build import build
from app.engine.demo import demo_server
from app.engine.engine import Engine
from app.engine.events import UtteranceDone
from app.headless.show import Display
from app.playback.speech_job import PcmSink
from app.text import MAX_TEXT_CHARS, clean, utterances
from decoder.wire.events import Outcome

NOTHING_TO_SAY = "nothing to say in this text, nothing was sent"
EXIT_OK = 0
EXIT_FAILED = 1
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143


@contextlib.asynccontextmanager
async def open_engine(
    config: Config, display: Display, *, demo: bool, audible: bool = True, paced: bool = True
) -> AsyncIterator[Engine]:
    """Make an engine, with the embedded server in front of it if ``demo``; the block starts it."""
    async with contextlib.AsyncExitStack() as stack:
        if demo:
            config, notice = await stack.enter_async_context(demo_server(config))
            if notice:
                display.say(notice)
        engine = build(config, audible=audible, paced=paced)
        engine.subscribe(display.show)
        stack.push_async_callback(engine.aclose)
        yield engine


async def speak_texts(
    engine: Engine, texts: AsyncIterator[str], display: Display, sinks: Sequence[PcmSink] = ()
) -> int:
    """Speak every text as it comes and return an exit code once the last was heard."""
    waiting: set[asyncio.Future[UtteranceDone]] = set()
    all_complete = True

    def note(result: asyncio.Future[UtteranceDone]) -> None:
        nonlocal all_complete
        waiting.discard(result)
        all_complete = all_complete and result.result().outcome is Outcome.COMPLETE

    async for text in texts:
        if len(text) > MAX_TEXT_CHARS:
            display.say(f"the text is cut after {MAX_TEXT_CHARS} characters")
        pieces = utterances(clean(text[:MAX_TEXT_CHARS]))
        if not pieces:
            display.say(NOTHING_TO_SAY)
        for piece in pieces:
            result = engine.speak(piece, sinks)
            waiting.add(result)
            result.add_done_callback(note)
    while waiting:
        await asyncio.wait(waiting)
    return EXIT_OK if all_complete else EXIT_FAILED


async def until_interrupted(work: Callable[[], Awaitable[int]]) -> int:
    """Run ``work``; SIGINT and SIGTERM cancel it, and it ends as its clean-up allows."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work())
    exit_code: int | None = None

    def interrupt(code: int) -> None:
        nonlocal exit_code
        exit_code = code
        task.cancel()

    handled = []
    for number, code in ((signal.SIGINT, EXIT_INTERRUPTED), (signal.SIGTERM, EXIT_TERMINATED)):
        # Loops without signal handlers (Windows) raise KeyboardInterrupt by themselves.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, interrupt, code)
            handled.append(number)
    try:
        return await task
    except asyncio.CancelledError:
        if exit_code is None:
            raise
        return exit_code
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
