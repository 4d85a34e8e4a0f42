"""A talker that says as many frames as its text asks for, each with a number of its own.

Not realistic: what is said depends on the digits in the text only, and no frame ever repeats.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator

import numpy as np

from decoder.spec import CodecSpec
from decoder.wire.messages import SessionConfig
from decoder.wire.packets import Codes
from server.emulator.talkers import PlainTalker
from tests.helpers.fake_decoder import SPEC, frames

_ASKED = re.compile(r"(\d+) frames from (\d+)")


def text_for(count: int, first: int = 1) -> str:
    """Return a text for which :class:`CountingTalker` says ``frames(first, count)``; long ones need words."""
    return f"Say {count} frames from {first}" + " and so on" * (count // 18) + "."


class CountingTalker(PlainTalker):
    """Says ``frames(first, count)``; frame 0 is all zero and would be taken for a placeholder."""

    model = "counting"
    voices = ("default", "vivian")
    notice = None

    def __init__(self, spec: CodecSpec = SPEC) -> None:
        self.spec = spec

    async def load(self) -> None:
        """Nothing has to be loaded."""

    async def frames(self, text: str, config: SessionConfig) -> AsyncGenerator[Codes, None]:
        found = _ASKED.search(text)
        count, first = (int(found[1]), int(found[2])) if found else (3, 1)
        codes = frames(first, count)
        for at in range(count):
            yield codes[at : at + 1]

    def silence(self, frames: int) -> Codes:
        return np.full((frames, self.spec.codebooks), 1, np.int16)
