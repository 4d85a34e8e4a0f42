"""What an emulator remembers: who connected, what they sent, and which frames truly left for them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from decoder.errors import PacketError
from decoder.spec import CodecSpec
from decoder.wire.messages import SessionConfig
from decoder.wire.packets import Codes, unpack

KEPT_FRAMES = 20_000
"""Frames remembered of one utterance (27 minutes); an endless one must not fill the memory."""
KEPT_MESSAGES = 1_000
KEPT_CHARS = 10_000
"""Of one message; a voice to clone may have megabytes."""


@dataclass
class UtteranceRecord:
    """One utterance as it left the server."""

    spec: CodecSpec
    session: int
    index: int
    text: str
    config: SessionConfig
    units: list[str] = field(default_factory=list)
    """Text of every unit that was begun."""
    frames: int = 0
    """Frames handed to the socket, as they were sent: lost ones are missing, repeated ones count twice."""
    pcm_bytes: int = 0
    cancelled_at: int | None = None
    """Value of ``frames`` when ``input.cancel`` was obeyed."""
    finished: bool = False
    """The server has nothing more to say about it, whether it was spoken, cancelled or failed."""
    _sent: list[Codes] = field(default_factory=list)

    @property
    def codes(self) -> Codes:
        """The first 20,000 frames handed to the socket, int16 ``[frames, codebooks]``, as they were sent."""
        return np.concatenate([np.zeros((0, self.spec.codebooks), np.int16), *self._sent])

    def note_packet(self, data: bytes) -> None:
        """Take a binary message of a codec unit that is handed to the socket."""
        try:
            codes = unpack(data, self.spec.codebooks).codes
        except PacketError:
            return  # a scenario's broken packet carries no frame
        if self.frames < KEPT_FRAMES:
            self._sent.append(codes[: KEPT_FRAMES - self.frames])
        self.frames += len(codes)

    def note_pcm(self, data: bytes) -> None:
        """Take a binary message of a PCM unit that is handed to the socket."""
        self.pcm_bytes += len(data)
        self.frames += len(data) // self.spec.pcm_frame_bytes


@dataclass
class SessionRecord:
    """One connection."""

    number: int
    """Counts accepted connections from 0."""
    received: deque[str | bytes] = field(default_factory=lambda: deque(maxlen=KEPT_MESSAGES))
    """The newest messages of the client, long ones only in part."""
    open: bool = True

    def note(self, message: str | bytes) -> None:
        """Take a message of the client."""
        self.received.append(message[:KEPT_CHARS])
