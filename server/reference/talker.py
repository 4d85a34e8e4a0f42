"""A talker on one model: requests wait for their turn in order, and leave when nobody waits for them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import ParamSpec, TypeVar

import numpy as np

from decoder.wire.messages import MAX_CONTEXT_FRAMES, SessionConfig
from decoder.wire.packets import Codes
from server.reference.errors import NotLoaded
from server.reference.generation import Generation
from server.reference.model import Clone, Model
from server.reference.reference_audio import AudioPolicy, Sample, is_remote, read_sample
from server.reference.script import DEFAULT_VOICE, Script, Voice, script_for

P = ParamSpec("P")
T = TypeVar("T")

WARM_UP_TEXT = "Ready."
WARM_UP_HZ = 24_000
FETCHES_AT_ONCE = 4
KEPT_CLONES = 16
"""Voices remembered, so that each is listened to once and not before every sentence. With the messages that
they are known by they take up to 64 MiB."""


class ReferenceTalker:
    """Speaks with a :class:`Model`; open as long as its ``async with`` block runs.

    All that the model does happens in one thread, one piece of work after the other in the order in which
    they were asked for: two requests can never be mixed. A piece that was stopped ends before its next step,
    or never begins.
    """

    speaks_pcm = False
    notice = None

    def __init__(self, model: Model, policy: AudioPolicy | None = None) -> None:
        self._model = model
        self._policy = policy or AudioPolicy()
        self.spec = model.facts.spec
        self.model = model.facts.name
        self.voices = (DEFAULT_VOICE, *(s for s in model.facts.speakers if s != DEFAULT_VOICE))
        self.generating = 0
        """Generations that the model is at now: 0 or 1."""
        self._clones: OrderedDict[Voice, Clone] = OrderedDict()
        self._pause = np.zeros((1, self.spec.codebooks), np.int16)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="nearfield-reference")
        # Of their own: machines that do not answer keep those waiting who also wait for one, and nobody else.
        self._fetching = ThreadPoolExecutor(FETCHES_AT_ONCE, thread_name_prefix="nearfield-fetching")

    async def __aenter__(self) -> ReferenceTalker:
        """Return the talker."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the threads; a run that is still wanted is waited for, a fetch that hangs is not."""
        self._fetching.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)

    async def load(self) -> None:
        """Do each kind of work once, because the first time is the slowest.

        Raises:
            NotLoaded: the model cannot do it, for want of memory for instance.

        """
        try:
            self._pause = await self._in_turn(self._warm_up)
        except Exception as error:  # whatever a model raises
            raise NotLoaded(f"{self.model} was loaded, but cannot speak: {error}") from error

    async def frames(self, text: str, config: SessionConfig) -> AsyncGenerator[Codes, None]:
        """Yield each frame as the model makes it; closing the iterator stops the model before its next step.

        Raises:
            GenerationError: the checkpoint cannot do what is asked.

        """
        script = script_for(text, config, self._model.facts)
        clone = await self._cloned(script.voice)
        generation = Generation(asyncio.get_running_loop())
        self._thread.submit(generation.run, lambda steps: self._speak(script, clone, steps))
        try:
            while (codes := await generation.next()) is not None:
                yield codes
        finally:
            generation.stop()

    async def context(self, text: str, config: SessionConfig) -> Codes | None:
        """Return the end of the reference that a cloned voice goes on from, or ``None`` if there is none.

        Raises:
            GenerationError: as :meth:`frames` does.

        """
        clone = await self._cloned(script_for(text, config, self._model.facts).voice)
        return None if clone is None or clone.codes is None else clone.codes[-MAX_CONTEXT_FRAMES:]

    def silence(self, frames: int) -> Codes:
        """Return the frame of a pause again and again; known after :meth:`load`."""
        return np.repeat(self._pause, frames, axis=0)

    # -- inside -----------------------------------------------------------------------------------------

    async def _cloned(self, voice: Voice | None) -> Clone | None:
        if voice is None:
            return None
        clone = self._clones.get(voice)
        if clone is None:
            sample = None
            if voice.uri is not None:
                pool = self._fetching if is_remote(voice.uri) else None
                loop = asyncio.get_running_loop()
                sample = await loop.run_in_executor(pool, read_sample, voice.uri, self._policy)
            clone = await self._in_turn(self._model.clone, voice, sample)
            self._clones[voice] = clone
        self._clones.move_to_end(voice)
        while len(self._clones) > KEPT_CLONES:
            self._clones.popitem(last=False)
        return clone

    def _speak(self, script: Script, clone: Clone | None, steps: Generation) -> None:
        self.generating += 1
        try:
            self._model.speak(script, clone, steps)
        finally:
            self.generating -= 1

    def _warm_up(self) -> Codes:
        facts = self._model.facts
        clone, speaker = None, None
        if facts.task == "Base":
            noise = np.random.default_rng(0).normal(0.0, 0.1, WARM_UP_HZ).astype(np.float32)
            clone = self._model.clone(Voice(text=WARM_UP_TEXT), Sample(noise, WARM_UP_HZ))
        elif facts.speakers:
            speaker = facts.speakers[0]
        script = Script(WARM_UP_TEXT, "auto", 0, 2, speaker, instructions=WARM_UP_TEXT)
        self._model.speak(script, clone, _Nobody())
        return self._model.silence()

    async def _in_turn(self, work: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Do ``work`` in the model's thread, behind what was asked for before."""
        return await asyncio.wrap_future(self._thread.submit(work, *arguments, **options))


class _Nobody:
    """Follows a run whose frames are not wanted."""

    def check(self) -> None:
        pass

    def take(self, codes: Codes) -> None:
        pass
