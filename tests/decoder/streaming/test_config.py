"""``config.json`` is checked key by key, and errors name the key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from decoder.errors import CheckpointError
from decoder.spec import CodecSpec
from decoder.streaming.config import CodecConfig


def test_the_defaults_are_the_published_checkpoint() -> None:
    """Without arguments the config is full size, and its spec the wire's."""
    assert CodecConfig().samples_per_frame == 1920
    assert CodecConfig().spec == CodecSpec()


def test_round_trip() -> None:
    """What is written is read back equal."""
    config = CodecConfig(codebook_size=64, upsample_rates=(4, 3), decoder_dim=64, attention_bias=True)
    assert CodecConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_the_demo_config_is_read(demo_folder: Path) -> None:
    """The demo voice has the wire's rates."""
    spec = CodecConfig.from_file(demo_folder / "config.json").spec
    assert (spec.codebooks, spec.sample_rate_hz, spec.samples_per_frame) == (16, 24_000, 1920)


def test_absent_optional_keys_have_the_official_defaults() -> None:
    """Head size and key-value heads follow from the others."""
    data = CodecConfig(num_key_value_heads=4).to_dict()
    for key in (
        "head_dim",
        "num_key_value_heads",
        "rope_theta",
        "rms_norm_eps",
        "attention_bias",
        "hidden_act",
    ):
        del data["decoder_config"][key]
    config = CodecConfig.from_dict(data)
    assert (config.head_dim, config.num_key_value_heads, config.rope_theta) == (512 // 16, 16, 10_000.0)


def test_dead_keys_are_ignored() -> None:
    """``semantic_codebook_size`` says 4096 in real checkpoints, and means nothing."""
    data = CodecConfig().to_dict()
    data["decoder_config"]["semantic_codebook_size"] = 4096
    data["encoder_config"] = {"anything": 1}
    assert CodecConfig.from_dict(data) == CodecConfig()


BAD: dict[str, tuple[str, Any]] = {
    "missing": ("latent_dim", None),
    "zero": ("latent_dim", 0),
    "negative": ("codebook_size", -1),
    "text": ("hidden_size", "512"),
    "fraction": ("decoder_dim", 1536.5),
    "a bool is no number": ("num_hidden_layers", True),
    "a number is no bool": ("attention_bias", 1),
    "huge": ("sliding_window", 10**9),
    "empty list": ("upsample_rates", []),
    "no list": ("upsampling_ratios", 2),
    "zero in a list": ("upsample_rates", [8, 0]),
    "infinite": ("rope_theta", float("inf")),
    "odd codebook_dim": ("codebook_dim", 513),
    "odd head": ("head_dim", 63),
    "heads do not divide": ("num_key_value_heads", 3),
    "width cannot be halved": ("decoder_dim", 1544),
    "one codebook": ("num_quantizers", 1),
    "beyond int16": ("codebook_size", 40_000),
    "unknown activation": ("hidden_act", "gelu"),
    "scaled rotation": ("rope_scaling", {"rope_type": "yarn"}),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_key_is_named(case: str) -> None:
    """The error starts with the source and names the key."""
    key, value = BAD[case]
    data = CodecConfig().to_dict()
    data["decoder_config"][key] = value
    if value is None:
        del data["decoder_config"][key]
    with pytest.raises(CheckpointError, match=rf"^here: decoder_config.*\b{key}\b"):
        CodecConfig.from_dict(data, source="here")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"model_type": "qwen3_tts_tokenizer_25hz"}, "model_type"),
        ({"model_type": None}, "model_type"),
        ({"decoder_config": None}, "decoder_config"),
        ({"decode_upsample_rate": 1919}, "decode_upsample_rate"),
        ({"output_sample_rate": "24k"}, "output_sample_rate"),
    ],
)
def test_a_bad_top_level_key_is_named(change: dict[str, Any], named: str) -> None:
    """Another model or other rates are refused before a tensor is looked at."""
    with pytest.raises(CheckpointError, match=named):
        CodecConfig.from_dict(CodecConfig().to_dict() | change)


@pytest.mark.parametrize("content", [b"", b"<!doctype html>", b"{", b"\xff\xfe", b"[]", b"null"])
def test_a_file_that_is_no_config_is_named(content: bytes, tmp_path: Path) -> None:
    """Path and, where it is not JSON, size are in the text."""
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"config\.json"):
        CodecConfig.from_file(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The path is in the text."""
    with pytest.raises(CheckpointError, match=r"nowhere\.json: cannot be read"):
        CodecConfig.from_file(tmp_path / "nowhere.json")
