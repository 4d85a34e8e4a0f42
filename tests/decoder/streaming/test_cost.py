"""The cost of a frame."""

from __future__ import annotations

import pytest
import torch

from decoder.streaming.config import CodecConfig
from decoder.streaming.cost import macs_per_frame
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder


def test_the_cost_of_a_frame_is_counted(small_decoder: Qwen3TTSTokenizerV2Decoder) -> None:
    """62 GFLOP for a second of sound at full size: 2.5 G multiply-adds per frame."""
    with torch.device("meta"):
        full = Qwen3TTSTokenizerV2Decoder(CodecConfig())
    assert 12.5 * 2 * macs_per_frame(full) == pytest.approx(62e9, rel=0.05)
    assert macs_per_frame(small_decoder) < 1e8
