"""A codec whose frames are the published one's, 16 codes of 2048, decoded by a small network."""

from __future__ import annotations

from decoder.streaming.config import CodecConfig

SMALL_CODEC = CodecConfig(
    codebook_dim=32,
    latent_dim=48,
    hidden_size=32,
    intermediate_size=40,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=4,
    head_dim=16,
    decoder_dim=64,
)
