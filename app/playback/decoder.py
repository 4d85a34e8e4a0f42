"""What a decoder is to the decode thread; the real one is ``decoder.streaming``'s."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from decoder.spec import CodecSpec

Codes = NDArray[np.int16]
"""int16 ``[frames, codebooks]``."""
Pcm = NDArray[np.float32]
"""float32 ``[samples]``, ±1."""


class DecodeStream(Protocol):
    """The decoder's state for one run of frames."""

    def decode(self, codes: Codes) -> Pcm:
        """Return the samples of the next frames."""
        ...

    def prime(self, codes: Codes) -> None:
        """Take frames whose samples are not wanted."""
        ...


class Decoder(Protocol):
    """What turns frames into samples; many streams share one decoder's weights."""

    @property
    def spec(self) -> CodecSpec:
        """The codec it decodes."""
        ...

    def new_stream(self) -> DecodeStream:
        """Return a new state."""
        ...


class BrokenDecoder:
    """Stands in for a decoder that could not be loaded: samples play, frames fail with the reason."""

    def __init__(self, error: Exception, spec: CodecSpec) -> None:
        self.spec = spec
        self._error = error

    def new_stream(self) -> DecodeStream:
        """Return itself: there is no state."""
        return self

    def decode(self, codes: Codes) -> Pcm:
        """Raise why there is no decoder."""
        raise self._error

    def prime(self, codes: Codes) -> None:
        """Raise why there is no decoder."""
        raise self._error
