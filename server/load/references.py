"""The solo runs: each session's text and seed, spoken while nobody else listens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from server.caller import CallError
from server.load.crosstalk import Frames
from server.load.results import SessionResult, Solo
from server.load.session import Target
from server.load.together import together

Tell = Callable[[str], object]
"""Hears what is going on."""


async def solo_run(target: Target, text: str, seed: int) -> Frames:
    """Have one text spoken on a connection of its own.

    Raises:
        CallError: it was not spoken to its end; the text says why.

    """
    caller = await target.call(seed)
    try:
        heard = await caller.ask(text, target.limit_s)
    finally:
        await caller.hang_up()
    if not heard.is_complete:
        raise CallError(f"“{text}” was not spoken, with nobody else there: {heard.reason}")
    return target.frames(heard)


async def solo_runs(target: Target, sessions: Sequence[SessionResult], tell: Tell, at_once: int = 1) -> Solo:
    """Have every session's text spoken before there is any load.

    The first one is spoken twice. If its frames differ, the server is not deterministic, and frames say
    nothing about whose they are. ``at_once`` above 1 is faster, and no longer quite solo.

    Raises:
        CallError: as ``solo_run``.

    """
    if not sessions:
        return Solo({}, None)
    first = sessions[0]
    tell("speaking the first text twice, alone")
    frames = await solo_run(target, first.text, first.seed)
    if frames != await solo_run(target, first.text, first.seed):
        return Solo({}, is_deterministic=False)
    runs = {first.index: frames}
    free = asyncio.Semaphore(at_once)

    async def speak(session: SessionResult) -> None:
        async with free:
            runs[session.index] = await solo_run(target, session.text, session.seed)
        tell(f"{len(runs)} of {len(sessions)} texts spoken alone")

    await together(speak(session) for session in sessions[1:])
    return Solo(runs, is_deterministic=True)
