"""WAV files as people have them."""

from __future__ import annotations

import struct
from pathlib import Path


def wav_bytes(
    duration_s: float, rate_hz: int = 24_000, channels: int = 1, tag: int = 1, bits: int = 16
) -> bytes:
    """Return a WAV file of silence."""
    block = channels * bits // 8
    data = bytes(round(duration_s * rate_hz) * block)
    fmt = struct.pack("<HHIIHH", tag, channels, rate_hz, rate_hz * block, block, bits)
    if tag == 0xFFFE:
        fmt += struct.pack("<HHI", 22, bits, 0) + struct.pack("<H", 1) + bytes(14)
    chunks = b"fmt " + struct.pack("<I", len(fmt)) + fmt + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def wav_file(path: Path, duration_s: float, **more: int) -> Path:
    """Write a WAV file of silence."""
    path.write_bytes(wav_bytes(duration_s, **more))
    return path
