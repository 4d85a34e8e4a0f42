"""The decoder that is trained: the client's own class, small, without its quantiser.

Training starts from latents ``[B, 96, T]``, the sums of codebook entries. ``quantise`` makes the codebooks,
``export`` puts them in.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from decoder.streaming.config import CodecConfig
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from server.emulator.demo_voice.training.latents import WIDTH
from server.emulator.demo_voice.training.quantise import CODEBOOK_SIZE, CODEBOOKS

CONFIG = CodecConfig(
    codebook_size=CODEBOOK_SIZE,
    codebook_dim=2 * WIDTH,
    num_quantizers=CODEBOOKS,
    latent_dim=216,
    hidden_size=152,
    intermediate_size=256,
    num_hidden_layers=3,
    num_attention_heads=4,
    num_key_value_heads=4,
    head_dim=32,
    decoder_dim=256,
)
"""True codebook count, rates and window; everything that costs bytes is small."""

_RESIDUAL_SCALE = 0.1
"""Start of layer scales: small enough to be stable, large enough to learn within minutes."""


def new_decoder() -> Qwen3TTSTokenizerV2Decoder:
    """Return an untrained decoder of ``CONFIG``, its quantiser frozen at zero."""
    decoder = Qwen3TTSTokenizerV2Decoder(CONFIG)
    with torch.no_grad():
        for name, parameter in decoder.named_parameters():
            if name.endswith(("layer_scale.scale", ".gamma")):
                parameter.fill_(_RESIDUAL_SCALE)
    decoder.quantizer.requires_grad_(False)
    return decoder.train()


def padded(latents: Tensor) -> Tensor:
    """Return latents ``[B, 96, T]`` as the decoder takes them, ``[B, codebook_dim, T]``.

    Codebooks are half as wide as that; the other half stays zero.
    """
    return F.pad(latents, (0, 0, 0, CONFIG.codebook_dim - WIDTH))


def decode(decoder: Qwen3TTSTokenizerV2Decoder, latents: Tensor) -> Tensor:
    """Return PCM ``[B, T × 1920]``, not clamped, of latents ``[B, 96, T]``."""
    return decoder.decode_latents(padded(latents), clamp=False)


def trained_values(decoder: Qwen3TTSTokenizerV2Decoder) -> dict[str, Tensor]:
    """Return what training changes, by name, without copying."""
    return {name: value for name, value in decoder.state_dict().items() if not name.startswith("quantizer.")}
