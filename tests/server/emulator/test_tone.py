"""The sound of a server that decodes by itself."""

from __future__ import annotations

import numpy as np

from decoder.spec import CodecSpec
from server.emulator.tone import tone, tone_frames


async def test_blocks_are_one_tone_without_a_click() -> None:
    spec = CodecSpec()
    blocks = [block async for block in tone_frames("Some words to speak", spec)]
    assert all(block.shape == (1, 1920) for block in blocks)
    pcm = np.concatenate(blocks).ravel()
    np.testing.assert_array_equal(pcm, tone(0, len(pcm), 24_000))


def test_it_glides_between_220_and_440_hz() -> None:
    pcm = tone(0, 4 * 24_000, 24_000).astype(float)
    crossings = np.flatnonzero((pcm[:-1] < 0) & (pcm[1:] >= 0))
    hertz = 24_000 / np.diff(crossings)
    assert 215 < hertz.min() < 230
    assert 430 < hertz.max() < 450
