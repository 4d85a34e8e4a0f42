"""How much speech a text may cost before its talker counts as running away.

A talker that misses its stop token speaks until its token limit: minutes of babble for two words. The
budget is far above any honest reading and still finite. Figures: ordinary speech is 12-16 letters a
second, Chinese or Japanese 3-6 characters, a digit read as a word 2-3 a second.
"""

from __future__ import annotations

import math
import unicodedata

import numpy as np
from numpy.typing import NDArray

FLOOR_S = 5.0
"""No text gets less: "1" or "Huh?" may be drawn out."""
PATIENCE = 3.0
"""How much slower than the slowest ordinary reading a talker may be."""
SILENCE_S = 8.0
"""A talker that repeats one codebook-0 code for longer says nothing any more."""
_LETTER_S = 1 / 12
_WIDE_S = 1 / 3
_DIGIT_S = 1 / 2
_PAUSE_S = 1 / 2
_FIRST_OTHER_SCRIPT = 0x530
"""Latin, Greek and Cyrillic come before it."""


def expected_s(text: str) -> float:
    """Return the seconds a slow, ordinary reading of ``text`` takes; 0 for no text."""
    return sum(_character_s(c) for c in text)


def _character_s(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return _WIDE_S
    category = unicodedata.category(character)
    if category.startswith("N"):
        return _DIGIT_S
    if category.startswith("P") or character == "\n":
        return _PAUSE_S
    # Talkers spell out letters of scripts that they were not taught.
    return _LETTER_S if ord(character) < _FIRST_OTHER_SCRIPT or character.isspace() else _WIDE_S


def budget_s(text: str) -> float:
    """Return how many seconds of speech an utterance of ``text`` may have."""
    return max(FLOOR_S, PATIENCE * expected_s(text))


class SilenceWatch:
    """Counts how long codebook 0 has stood still; one object an utterance."""

    def __init__(self, frame_rate_hz: float) -> None:
        self._limit_frames = math.ceil(SILENCE_S * frame_rate_hz)
        self._code = -1
        self._run_frames = 0

    def is_stuck(self, codes: NDArray[np.int16]) -> bool:
        """Take the next frames, ``[n, codebooks]``; true once one code has filled the limit."""
        for code in codes[:, 0].tolist():
            self._run_frames = self._run_frames + 1 if code == self._code else 1
            self._code = code
            if self._run_frames >= self._limit_frames:
                return True
        return False
