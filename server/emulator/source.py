"""The frames of one unit: what the talker says, and what a scenario puts in front or never lets end."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import numpy as np

from decoder.wire.messages import SessionConfig
from decoder.wire.packets import Codes
from server.emulator.scenario import Scenario
from server.emulator.talkers import Talker
from server.emulator.tone import tone_frames


async def unit_frames(
    talker: Talker, scenario: Scenario, config: SessionConfig, text: str, *, pcm: bool
) -> AsyncGenerator[Codes, None]:
    """Yield int16 ``[n, codebooks]``, or ``[n, samples_per_frame]`` if ``pcm``, up to what is allowed."""
    limits = [limit for limit in (scenario.max_frames, config.max_new_tokens) if limit is not None]
    left = min(limits) if limits else None
    async with aclosing(_unlimited(talker, scenario, config, text, pcm)) as chunks:
        if left == 0:
            return
        async for chunk in chunks:
            if left is None:
                yield chunk
                continue
            yield chunk[:left]
            left -= len(chunk[:left])
            if not left:
                return


async def _unlimited(
    talker: Talker, scenario: Scenario, config: SessionConfig, text: str, pcm: bool
) -> AsyncGenerator[Codes, None]:
    width = talker.spec.samples_per_frame if pcm else talker.spec.codebooks
    if scenario.placeholder_frames:
        yield np.zeros((scenario.placeholder_frames, width), np.int16)
    if scenario.silent_frames:
        silence = talker.silence(scenario.silent_frames)
        yield np.zeros((len(silence), width), np.int16) if pcm else silence
    while True:
        spoken = 0
        source = tone_frames(text, talker.spec) if pcm else talker.frames(text, config)
        async with aclosing(source) as chunks:
            async for chunk in chunks:
                spoken += len(chunk)
                yield chunk
        if not scenario.endless:
            return
        if not spoken:  # a text of nothing, for ever
            yield np.zeros((1, width), np.int16) if pcm else talker.silence(1)
