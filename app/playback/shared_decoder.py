"""One decoder for several decode threads: loaded once, and used by one of them at a time."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import numpy as np

from app.playback.decoder import Codes, Decoder, DecodeStream, Pcm
from decoder.spec import CodecSpec

D = TypeVar("D", bound=Decoder)

STEP_FRAMES = 4
"""What a thread that gives way decodes before others get their turn: about a tenth of a second of work at
full size on 2 cores, which is what it may add to the first sound of one that does not."""


class SharedDecoder(Generic[D]):
    """Keeps the weights that were loaded last, and the turns in which threads decode with them.

    Backends promise nothing about two threads in a step at once; turns are what makes that never happen.
    """

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._key: object = None
        self._loaded: D | None = None
        self._turns = Turns()

    def weights(self, key: object, load: Callable[[], D]) -> D:
        """Return what ``load`` returns, called once for as long as ``key`` stays equal.

        Whoever comes while another thread loads waits for it. What ``load`` raises is raised here, and the
        next call tries again.
        """
        with self._loading:
            if self._loaded is None or self._key != key:
                self._loaded = None
                self._loaded, self._key = load(), key
            return self._loaded

    def in_turn(self, decoder: Decoder, *, gives_way: bool) -> Decoder:
        """Return ``decoder`` for the use of one thread; one that ``gives_way`` lets all others go first."""
        return _DecoderInTurn(decoder, self._turns, gives_way)


class Turns:
    """A lock that threads get in the order in which they asked for it, those that give way last."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._asked = itertools.count()
        self._waiting: list[tuple[bool, int]] = []
        self._is_taken = False

    @property
    def waiting(self) -> int:
        """How many threads wait for their turn."""
        with self._changed:
            return len(self._waiting)

    @contextmanager
    def turn(self, *, gives_way: bool) -> Iterator[None]:
        """Hold the lock for the block."""
        with self._changed:
            place = (gives_way, next(self._asked))
            heapq.heappush(self._waiting, place)
            self._changed.wait_for(lambda: not self._is_taken and self._waiting[0] == place)
            heapq.heappop(self._waiting)
            self._is_taken = True
        try:
            yield
        finally:
            with self._changed:
                self._is_taken = False
                self._changed.notify_all()


class _DecoderInTurn:
    def __init__(self, decoder: Decoder, turns: Turns, gives_way: bool) -> None:
        self._decoder = decoder
        self._turns = turns
        self._gives_way = gives_way

    @property
    def spec(self) -> CodecSpec:
        return self._decoder.spec

    def new_stream(self) -> DecodeStream:
        with self._turns.turn(gives_way=self._gives_way):
            stream = self._decoder.new_stream()
        return _StreamInTurn(stream, self._turns, self._gives_way)


class _StreamInTurn:
    """Decoding is exact for any cut, so a stream that gives way can do so in mid-chunk."""

    def __init__(self, stream: DecodeStream, turns: Turns, gives_way: bool) -> None:
        self._stream = stream
        self._turns = turns
        self._gives_way = gives_way

    def decode(self, codes: Codes) -> Pcm:
        return np.concatenate([self._step(piece) for piece in self._pieces(codes)])

    def prime(self, codes: Codes) -> None:
        with self._turns.turn(gives_way=self._gives_way):
            self._stream.prime(codes)

    def _step(self, codes: Codes) -> Pcm:
        with self._turns.turn(gives_way=self._gives_way):
            return self._stream.decode(codes)

    def _pieces(self, codes: Codes) -> list[Codes]:
        if not self._gives_way:
            return [codes]
        return [codes[at : at + STEP_FRAMES] for at in range(0, max(1, len(codes)), STEP_FRAMES)]
