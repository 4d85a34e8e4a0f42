"""``nearfield say``: speak a sentence, or what comes through a pipe, and end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from app.audio.wav import WavWriter
from app.config import Config
from app.headless.show import Display
from app.headless.speaking import open_engine, speak_texts, until_interrupted


@dataclass(frozen=True)
class SayRequest:
    """What to say and where the sound goes."""

    texts: Callable[[], AsyncIterator[str]]
    output: Path | None = None
    """A WAV file to write as well."""
    demo: bool = False
    play: bool = True
    """False takes the sound as fast as it is made, for the file only."""


def run(config: Config, request: SayRequest, display: Display) -> int:
    """Speak and return an exit code.

    Raises:
        NearfieldError: something that stands in the way before the first word.

    """
    try:
        return asyncio.run(until_interrupted(lambda: _say(config, request, display)))
    finally:
        display.close()


async def _say(config: Config, request: SayRequest, display: Display) -> int:
    with ExitStack() as files:
        sinks = [files.enter_context(WavWriter(request.output))] if request.output else []
        async with open_engine(
            config, display, demo=request.demo, audible=request.play, paced=request.play
        ) as engine:
            # The server first: without it there is no need to wait for the decoder.
            await engine.connect()
            await engine.start()
            await engine.prepared()
            code = await speak_texts(engine, request.texts(), display, sinks)
        for wav in sinks:
            _tell_recording(wav, display)
        return code


def _tell_recording(wav: WavWriter, display: Display) -> None:
    if not wav.samples:
        return
    display.say(f"wrote {wav.path} ({wav.samples / wav.rate_hz:.2f} s)")
    if wav.clipped_samples:
        display.say(f"{wav.clipped_samples} samples in it were beyond full scale and are cut")


async def one(text: str) -> AsyncIterator[str]:
    """Yield ``text`` as the only one."""
    yield text
