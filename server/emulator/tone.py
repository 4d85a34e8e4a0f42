"""What a stock server says here: the emulator has no decoder, so its PCM is a gliding tone, not speech."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import numpy as np
from numpy.typing import NDArray

from decoder.spec import CodecSpec
from decoder.wire.budget import expected_s

LOW_HZ, HIGH_HZ = 220.0, 440.0
LEVEL = 0.2
_GLIDE_S = 2.0


def tone(first_sample: int, samples: int, rate_hz: int) -> NDArray[np.int16]:
    """Return ``samples`` samples of a sine that glides between 220 and 440 Hz, from ``first_sample`` on."""
    t = (first_sample + np.arange(samples)) / rate_hz
    middle, swing = (HIGH_HZ + LOW_HZ) / 2, (HIGH_HZ - LOW_HZ) / 2
    phase = 2 * np.pi * middle * t - swing * _GLIDE_S * np.cos(2 * np.pi * t / _GLIDE_S)
    return np.round(LEVEL * 32767 * np.sin(phase)).astype(np.int16)


async def tone_frames(text: str, spec: CodecSpec) -> AsyncGenerator[NDArray[np.int16], None]:
    """Yield the tone for ``text``, as long as a slow reading of it, as int16 ``[1, samples_per_frame]``."""
    for frame in range(max(1, round(expected_s(text) * spec.frame_rate_hz))):
        first = frame * spec.samples_per_frame
        yield tone(first, spec.samples_per_frame, spec.sample_rate_hz)[np.newaxis]
