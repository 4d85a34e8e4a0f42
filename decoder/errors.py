"""Everything that can go wrong between bytes and PCM, in one tree.

::

    DecoderError
    ├── PacketError            a binary message that is not a packet (also a ValueError)
    ├── MessageError           a JSON message that cannot be read (also a ValueError)
    ├── SpecMismatchError      the server speaks another codec than the loaded decoder
    ├── CodesError             codes that no decoder may see (also a ValueError)
    ├── TapeError              a file that is not a tape
    ├── CheckpointError        a checkpoint that cannot be found, fetched, checked or loaded
    └── BenchError             a measurement that cannot be made
"""

from __future__ import annotations


class DecoderError(Exception):
    """The root: catch this to catch everything the decoder package raises on purpose."""


class PacketError(DecoderError, ValueError):
    """A binary message that is not a packet; the text names both lengths."""


class MessageError(DecoderError, ValueError):
    """A JSON message that cannot be read; the text names the field.

    Attributes:
        message_type: The message's ``type``, or "" if not even that could be read.

    """

    def __init__(self, text: str, message_type: str = "") -> None:
        super().__init__(text)
        self.message_type = message_type


class SpecMismatchError(DecoderError):
    """The server's ``codec.start`` does not fit the loaded decoder; the text names both values."""


class CodesError(DecoderError, ValueError):
    """Codes of a wrong shape, or outside ``0..codebook_size-1``."""


class TapeError(DecoderError):
    """A file that is not a readable tape; the text names the path."""


class CheckpointError(DecoderError):
    """A checkpoint that cannot be used; the text names path, size and the first tensor that does not fit."""

    exit_code = 2


class BenchError(DecoderError):
    """A measurement that cannot be made; the text says what is missing and how to get it."""
