"""Who speaks: text in, frames out. Each talker says which codec its frames are of."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from assets import folder
from decoder.errors import TapeError
from decoder.spec import CodecSpec
from decoder.tape import Tape
from decoder.wire.budget import expected_s
from decoder.wire.messages import SessionConfig
from decoder.wire.packets import Codes
from server.emulator.demo_voice import DemoEncoder, DemoTalker, VoiceMissing

log = logging.getLogger("nearfield.emulator")

SPEAKERS = ("vivian", "serena", "uncle_fu", "dylan", "eric", "ryan", "aiden", "ono_anna", "sohee")
STOP_S = 0.4
"""How long a talker that was stopped is waited for."""
CHUNKS_AHEAD = 2


class Talker(Protocol):
    """Text to frames. Sessions share one talker; every call of :meth:`frames` keeps its own state."""

    @property
    def spec(self) -> CodecSpec:
        """The codec of the frames."""

    @property
    def model(self) -> str:
        """The name a server announces."""

    @property
    def voices(self) -> Sequence[str]:
        """Names that ``session.config`` may ask for, in lower case."""

    @property
    def notice(self) -> str | None:
        """One line for the user, if this talker is not what they might expect."""

    @property
    def speaks_pcm(self) -> bool:
        """Whether PCM may be asked for. A tone stands for it, so a server that is no plaything refuses it."""

    async def load(self) -> None:
        """Get ready to speak at once; the event loop is not blocked."""

    def frames(self, text: str, config: SessionConfig) -> AsyncGenerator[Codes, None]:
        """Yield int16 ``[n, codebooks]`` as they are produced; closing the iterator stops the production."""

    async def context(self, text: str, config: SessionConfig) -> Codes | None:
        """Return the reference codes int16 ``[n, codebooks]`` that :meth:`frames` goes on from, or ``None``.

        Only a cloned voice has them; of many, the client gets the last 72.
        """

    def silence(self, frames: int) -> Codes:
        """Return so many frames of silence, int16 ``[frames, codebooks]``."""


class PlainTalker:
    """What every talker of the emulator has in common: it clones no voice, and a tone stands for its PCM."""

    speaks_pcm = True

    async def context(self, text: str, config: SessionConfig) -> Codes | None:
        """Return ``None``: there is no reference."""
        return None


class SyntheticTalker(PlainTalker):
    """Random codes that depend on text and seed only: noise to the ear, but every frame is known."""

    model = "nearfield-synthetic"
    voices = ("default", *SPEAKERS)
    notice = None

    def __init__(self, spec: CodecSpec | None = None, seed: int = 0) -> None:
        self.spec = spec or CodecSpec()
        self._seed = seed

    async def load(self) -> None:
        """Nothing has to be loaded."""

    def codes(self, text: str, seed: int | None = None) -> Codes:
        """Return all frames of ``text``; ``seed`` (of ``session.config``) replaces the talker's own.

        There are as many as a slow reading takes, at least three. Codebook 0 is never 0.
        """
        words = f"{self._seed if seed is None else seed}\0{text}".encode("utf-8", "replace")
        rng = np.random.default_rng(int.from_bytes(hashlib.sha256(words).digest()[:8], "big"))
        count = max(3, round(expected_s(text) * self.spec.frame_rate_hz))
        codes = rng.integers(0, self.spec.codebook_size, (count, self.spec.codebooks))
        codes[:, 0] = rng.integers(1, self.spec.codebook_size, count)
        return codes.astype(np.int16)

    async def frames(self, text: str, config: SessionConfig) -> AsyncGenerator[Codes, None]:
        """Yield :meth:`codes` frame by frame."""
        codes = self.codes(text, config.seed)
        for at in range(len(codes)):
            yield codes[at : at + 1]

    def silence(self, frames: int) -> Codes:
        """Return the same frame again and again, as a talker does in a pause."""
        return np.full((frames, self.spec.codebooks), 1, np.int16)


class TapeTalker(PlainTalker):
    """Plays recorded tapes: the one whose text was asked for, else the next in turn.

    Raises ``TapeError`` if the folder holds no tapes, or tapes of different codecs.
    """

    model = "nearfield-tapes"
    voices = ("default",)

    def __init__(self, path: Path | None = None, notice: str | None = None) -> None:
        path = path or folder("tapes")
        self.tapes = [Tape.load(file) for file in sorted(path.glob("*.npz"))]
        if not self.tapes:
            raise TapeError(f"{path} holds no tapes; python -m server.emulator.record_tapes makes them")
        if len({tape.spec for tape in self.tapes}) > 1:
            raise TapeError(f"the tapes in {path} are of different codecs")
        self.spec = self.tapes[0].spec
        self.notice = notice
        self._turn = 0

    async def load(self) -> None:
        """Nothing more has to be loaded."""

    def choose(self, text: str) -> Tape:
        """Return the tape to play for ``text``; case and white space do not matter."""
        wanted = " ".join(text.split()).casefold()
        for tape in self.tapes:
            if " ".join(tape.text.split()).casefold() == wanted:
                return tape
        tape = self.tapes[self._turn % len(self.tapes)]
        self._turn += 1
        return tape

    async def frames(self, text: str, config: SessionConfig) -> AsyncGenerator[Codes, None]:
        """Yield the chosen tape frame by frame."""
        codes = self.choose(text).codes
        for at in range(len(codes)):
            yield codes[at : at + 1]

    def silence(self, frames: int) -> Codes:
        """Return the end of the first tape again and again: every tape ends in a pause."""
        return np.repeat(self.tapes[0].codes[-1:], frames, axis=0)


class DemoVoiceTalker(PlainTalker):
    """The demo voice: it renders in a thread of its own, so that the event loop is never blocked.

    ``make`` builds the blocking talker, in that thread too; :meth:`load` raises what it raises.
    """

    model = "nearfield-demo-voice"
    voices = ("default", "joe")
    notice = None

    def __init__(self, make: Callable[[], DemoTalker] = DemoTalker) -> None:
        self.spec = demo_spec()
        self._make = make
        self._talker: DemoTalker | None = None

    async def load(self) -> None:
        """Load the voice and speak a word, because the first word is the slowest.

        Raises:
            VoiceMissing: the packages of the voice are not installed.

        """
        if self._talker is None:
            self._talker = await asyncio.to_thread(self._warm_up)

    def _warm_up(self) -> DemoTalker:
        talker = self._make()
        for _ in talker.frames("Ready."):
            pass
        return talker

    async def frames(self, text: str, config: SessionConfig) -> AsyncGenerator[Codes, None]:
        """Yield frames as they are rendered, at most two pieces ahead."""
        if self._talker is None:
            await self.load()
        assert self._talker is not None
        worker = _Worker(self._talker.frames(text), asyncio.get_running_loop())
        try:
            while (chunk := await worker.next()) is not None:
                yield chunk
        finally:
            await worker.stop()

    def silence(self, frames: int) -> Codes:
        """Return encoded silence."""
        return DemoEncoder().encode(np.zeros(frames * self.spec.samples_per_frame, np.float32))


class _Worker:
    """Runs a blocking iterator in a thread and hands its chunks to the event loop."""

    def __init__(self, chunks: Iterator[Codes], loop: asyncio.AbstractEventLoop) -> None:
        self._chunks = chunks
        self._loop = loop
        self._queue: asyncio.Queue[Codes | Exception | None] = asyncio.Queue()
        self._ahead = threading.Semaphore(CHUNKS_AHEAD)
        self._stopped = threading.Event()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="nearfield-demo-voice", daemon=True)
        self._thread.start()

    async def next(self) -> Codes | None:
        """Return the next chunk, or ``None`` after the last; raises what the iterator raised."""
        item = await self._queue.get()
        self._ahead.release()
        if isinstance(item, Exception):
            raise item
        return item

    async def stop(self) -> None:
        """Ask the thread to end after the chunk at hand, and wait a moment for that."""
        self._stopped.set()
        self._ahead.release()
        try:
            await asyncio.wait_for(self._ended.wait(), STOP_S)
        except asyncio.TimeoutError:
            log.warning("the voice is still rendering a sentence that nobody waits for")
        else:
            self._thread.join()

    def _run(self) -> None:
        try:
            for chunk in self._chunks:
                self._ahead.acquire()
                if self._stopped.is_set():
                    break
                self._tell(self._queue.put_nowait, chunk)
            self._tell(self._queue.put_nowait, None)
        except Exception as error:  # it is raised again where the frames are awaited
            self._tell(self._queue.put_nowait, error)
        self._tell(self._ended.set)

    def _tell(self, call: Callable[..., object], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *arguments)
        except RuntimeError:
            self._stopped.set()  # the loop has closed: nobody listens any more


def demo_spec() -> CodecSpec:
    """Return the demo codec, as the checkpoint's ``config.json`` describes it."""
    path = folder("demo_voice", "speech_tokenizer", "config.json")
    config = json.loads(path.read_text(encoding="utf-8"))["decoder_config"]
    return CodecSpec(codebooks=config["num_quantizers"], codebook_size=config["codebook_size"])


async def demo_talker() -> Talker:
    """Return the demo voice, loaded and warm; without its packages the tapes, with a notice."""
    voice = DemoVoiceTalker()
    try:
        await voice.load()
    except VoiceMissing as error:
        return TapeTalker(notice=f"recorded sentences only, whatever you type: {error}")
    return voice
