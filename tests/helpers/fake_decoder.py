"""A decoder that answers at once with samples that say which frame they are of.

Where it is not realistic: a frame's samples depend on that frame alone, so a state that is carried
wrongly shows in :attr:`FakeDecoder.log` only; nothing is as slow as ``before_chunk`` makes it; it needs no
warm-up, holds no interpreter lock and keeps no caches; what it gets wrong, it gets wrong in the same place
of every stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from app.playback.decoder import Codes, Pcm
from decoder.spec import CodecSpec

SPEC = CodecSpec()
STEP = 2.0**-22
"""From one sample of the ramp to the next; exact in float32 for more than 2048 frames."""


def frames(first: int, count: int) -> Codes:
    """Codes of the frames numbered ``first`` to ``first + count - 1``."""
    numbers = np.arange(first, first + count)
    codes = np.zeros((count, SPEC.codebooks), np.int16)
    codes[:, 0], codes[:, 1] = numbers % SPEC.codebook_size, numbers // SPEC.codebook_size
    return codes


def sound(first: int, count: int) -> Pcm:
    """What :class:`FakeDecoder` makes of ``frames(first, count)``: a rising ramp without a zero in it."""
    start = first * SPEC.samples_per_frame
    positions = np.arange(start, start + count * SPEC.samples_per_frame)
    return ((positions + 1) * STEP).astype(np.float32)


@dataclass
class FakeDecoder:
    """Decodes ``frames(a, n)`` to ``sound(a, n)``, with faults on request."""

    spec: CodecSpec = SPEC
    before_chunk: Callable[[int], None] = lambda frames: None
    """Called with the number of frames before each chunk: advance a fake clock here, or wait for an event."""
    missing_samples: int = 0
    """Left out at the end of each chunk."""
    spoilt: Mapping[int, float] = field(default_factory=dict)
    """Frame of a stream, by its place there → what its first sample is replaced with."""
    fails_at: int | None = None
    """The frame of a stream, by its place there, whose chunk raises."""
    refuses_streams: bool = False
    log: list[tuple[int, str, list[int]]] = field(default_factory=list)
    """Number of the stream, ``decode`` or ``prime``, and the frames' numbers."""
    streams: int = 0

    def new_stream(self) -> FakeStream:
        if self.refuses_streams:
            raise MemoryError("no state today")
        self.streams += 1
        return FakeStream(self, self.streams)

    @property
    def chunks(self) -> list[int]:
        """The length of every chunk decoded, in frames."""
        return [len(numbers) for _, what, numbers in self.log if what == "decode"]


class FakeStream:
    """Counts its frames, which is all the state there is."""

    def __init__(self, decoder: FakeDecoder, number: int) -> None:
        self._decoder = decoder
        self._number = number
        self._done = 0

    def decode(self, codes: Codes) -> Pcm:
        fake = self._decoder
        fake.before_chunk(len(codes))
        numbers = self._note("decode", codes)
        places = range(self._done, self._done + len(codes))
        self._done += len(codes)
        if fake.fails_at in places:
            raise RuntimeError(f"frame {fake.fails_at} cannot be decoded")
        pcm = np.concatenate([sound(n, 1) for n in numbers])
        for place, value in fake.spoilt.items():
            if place in places:
                pcm[(place - places[0]) * fake.spec.samples_per_frame] = value
        return pcm[: len(pcm) - fake.missing_samples]

    def prime(self, codes: Codes) -> None:
        self._note("prime", codes)

    def _note(self, what: str, codes: Codes) -> list[int]:
        assert codes.ndim == 2
        assert codes.dtype == np.int16
        numbers = [int(c[0]) + SPEC.codebook_size * int(c[1]) for c in codes]
        self._decoder.log.append((self._number, what, numbers))
        return numbers
