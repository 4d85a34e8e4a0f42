"""What a frame costs, from the shapes alone."""

from __future__ import annotations

from torch import nn

from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder


def macs_per_frame(decoder: Qwen3TTSTokenizerV2Decoder) -> int:
    """Return the multiply-adds of one frame (2.5e9 at full size).

    Every weight counts once per column that it meets; attention scores and activations, some
    percent, are left out. A transposed convolution's weights meet its inputs, a plain one's its outputs.
    """
    parts = decoder.parts()
    columns = 1
    total = _weights(decoder.pre_conv) + _weights(decoder.pre_transformer)
    for (up, block), ratio in zip(parts.upsample, decoder.config.upsampling_ratios, strict=True):
        total += columns * _weights(up)
        columns *= ratio
        total += columns * _weights(block)
    total += columns * _weights(parts.first_conv)
    for upsample, rate in zip(parts.blocks, decoder.config.upsample_rates, strict=True):
        _, transposed, *units = upsample.block
        total += columns * _weights(transposed)
        columns *= rate
        total += columns * sum(map(_weights, units))
    return total + columns * _weights(parts.last_conv)


def _weights(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
