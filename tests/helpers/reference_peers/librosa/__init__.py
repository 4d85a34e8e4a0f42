"""In the place of librosa, which qwen-tts imports and which brings 150 MB of packages with it.

Only what a 12 Hz checkpoint of qwen-tts calls is here: the mel filters and the resampling of a reference.
Where it is not realistic: nothing else of librosa is there.
"""

from __future__ import annotations

import numpy as np
import soxr

from . import filters

__all__ = ["filters", "resample"]


def resample(y: np.ndarray, *, orig_sr: float, target_sr: float) -> np.ndarray:
    """Resample as librosa does by default, with soxr in high quality."""
    return soxr.resample(y, orig_sr, target_sr, quality="HQ").astype(y.dtype)
