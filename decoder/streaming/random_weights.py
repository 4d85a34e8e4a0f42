"""Checkpoints with random weights of sensible scales, for tests and benchmarks without a download."""

from __future__ import annotations

import math
from pathlib import Path

import torch
from torch import Tensor, nn

from decoder.streaming.attention import LayerScale, RMSNorm
from decoder.streaming.blocks import ConvNeXtBlock, ResidualUnit
from decoder.streaming.checkpoint import PREFIX, save_checkpoint
from decoder.streaming.config import CodecConfig
from decoder.streaming.layers import SnakeBeta
from decoder.streaming.quantizer import Codebook
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder

_RMS = 0.15
"""Of the PCM that random weights make: some -16 dB, peaks below 1."""


def random_decoder(config: CodecConfig, seed: int) -> Qwen3TTSTokenizerV2Decoder:
    """Make a decoder whose every parameter matters.

    No branch is scaled to nothing and no parameter is left at a value that hides a
    mistake (layer scale 0.3, not 0.01; Snake away from 0; unused codebook entries). The last convolution
    is scaled by a trial decode, so that the output is neither silent nor clipped.
    """
    decoder = Qwen3TTSTokenizerV2Decoder(config)
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in decoder.modules():
            _fill(module, random)
        for module in decoder.modules():
            if isinstance(module, ResidualUnit):
                module.conv2.conv.weight.mul_(0.3)  # else twelve of them in a row grow the signal
        frames = torch.randint(config.codebook_size, (4, config.num_quantizers), generator=random)
        latents = decoder.quantizer(frames).T[None]
        pcm = decoder.decode_latents(latents, clamp=False)
        last = decoder.decoder[-1]
        for parameter in last.parameters():
            parameter.mul_(_RMS / pcm.square().mean().sqrt())
    return decoder.requires_grad_(False).eval()


def random_checkpoint(
    folder: Path, config: CodecConfig | None = None, seed: int = 0, *, dtype: torch.dtype = torch.float32
) -> Path:
    """Write a checkpoint of the true layout with random weights, by default of full size (457 MB).

    Like a real one it has the quantiser's ``input_proj`` tensors, which a decoder does not need.

    Returns ``folder``.
    """
    config = config or CodecConfig()
    half = config.codebook_dim // 2
    extra = {
        f"{PREFIX}quantizer.{part}.input_proj.weight": torch.zeros(half, config.codebook_dim, 1, dtype=dtype)
        for part in ("rvq_first", "rvq_rest")
    }
    return save_checkpoint(folder, random_decoder(config, seed), dtype=dtype, extra=extra)


def _fill(module: nn.Module, random: torch.Generator) -> None:
    """Fill the parameters that ``module`` itself owns."""

    def normal(parameter: Tensor, std: float, mean: float = 0.0) -> None:
        parameter.normal_(mean, std, generator=random)

    if isinstance(module, (nn.Linear, nn.Conv1d, nn.ConvTranspose1d)):
        weight = module.weight
        if isinstance(module, nn.ConvTranspose1d):
            fan_in = weight.shape[0] * weight.shape[2] / module.stride[0]
        else:
            fan_in = weight[0].numel()
        normal(weight, 1 / math.sqrt(fan_in))
        if module.bias is not None:
            normal(module.bias, 0.05)
    elif isinstance(module, Codebook):
        # A tenth of the entries was never used, as in trained codebooks: their usage is clamped.
        module.cluster_usage.uniform_(-0.1, 1.0, generator=random).clamp_(min=0.0)
        normal(module.embedding_sum, 0.5)
        module.embedding_sum.mul_(module.cluster_usage.clamp(min=1e-5)[:, None])
    elif isinstance(module, SnakeBeta):
        normal(module.alpha, 0.3)
        normal(module.beta, 0.3)
    elif isinstance(module, LayerScale):
        normal(module.scale, 0.05, mean=0.3)
    elif isinstance(module, ConvNeXtBlock):
        normal(module.gamma, 0.05, mean=0.3)
    elif isinstance(module, nn.LayerNorm):
        normal(module.weight, 0.1, mean=1.0)
        normal(module.bias, 0.1)
    elif isinstance(module, RMSNorm):
        normal(module.weight, 0.1, mean=1.0)
