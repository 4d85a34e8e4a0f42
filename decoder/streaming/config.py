"""The architecture's numbers, read from a checkpoint's ``config.json`` and checked."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from decoder.errors import CheckpointError
from decoder.spec import CodecSpec

MODEL_TYPE = "qwen3_tts_tokenizer_12hz"
"""``model_type`` of the only architecture this package decodes."""

_OPTIONAL = frozenset({"head_dim", "num_key_value_heads", "rope_theta", "rms_norm_eps", "attention_bias"})
"""Keys of ``decoder_config`` that may be absent; the official code has the same defaults for them."""


@dataclass(frozen=True)
class CodecConfig:
    """Every size of a Qwen3-TTS 12.5 Hz decoder; field names are the keys of ``decoder_config``.

    The defaults are those of the published checkpoints. Keys that do not shape the decoder
    (``semantic_codebook_size``, ``max_position_embeddings``, ...) are ignored, as the official code does.
    """

    codebook_size: int = 2048
    """Entries of each codebook; valid codes are ``0..codebook_size-1``."""
    codebook_dim: int = 512
    """Channels after the quantiser; the codebooks themselves are half as wide."""
    num_quantizers: int = 16
    """Codes in a frame: one semantic, the others acoustic."""
    latent_dim: int = 1024
    hidden_size: int = 512
    intermediate_size: int = 1024
    num_hidden_layers: int = 8
    num_attention_heads: int = 16
    num_key_value_heads: int = 16
    head_dim: int = 64
    sliding_window: int = 72
    """Positions a query attends to, itself included."""
    rope_theta: float = 10_000.0
    rms_norm_eps: float = 1e-5
    attention_bias: bool = False
    decoder_dim: int = 1536
    """Channels before the first upsampling block; each block halves them."""
    upsample_rates: tuple[int, ...] = (8, 5, 4, 3)
    upsampling_ratios: tuple[int, ...] = (2, 2)
    output_sample_rate: int = 24_000
    """Hz; a top-level key of ``config.json``."""

    @property
    def samples_per_frame(self) -> int:
        """Samples that one frame becomes: the product of all upsampling factors (1920)."""
        return math.prod(self.upsampling_ratios) * math.prod(self.upsample_rates)

    @property
    def spec(self) -> CodecSpec:
        """What a server must agree with."""
        return CodecSpec(
            codebooks=self.num_quantizers,
            codebook_size=self.codebook_size,
            sample_rate_hz=self.output_sample_rate,
            samples_per_frame=self.samples_per_frame,
        )

    @classmethod
    def from_file(cls, path: Path) -> CodecConfig:
        """Read ``config.json`` at ``path``.

        Raises:
            CheckpointError: no such file, not JSON, another model, or a key that does not fit.

        """
        try:
            text = path.read_bytes()
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be read ({error.strerror or error})") from error
        try:
            data = json.loads(text)
        except ValueError as error:
            raise CheckpointError(f"{path} ({len(text):,} bytes): not JSON ({error})") from error
        return cls.from_dict(data, source=str(path))

    @classmethod
    def from_dict(cls, data: Any, *, source: str = "config.json") -> CodecConfig:
        """Check the parsed ``config.json`` and take what shapes the decoder.

        Raises:
            CheckpointError: the text starts with ``source`` and names the key.

        """
        if not isinstance(data, Mapping):
            raise CheckpointError(f"{source}: a JSON object is expected, not {type(data).__name__}")
        if data.get("model_type") != MODEL_TYPE:
            raise CheckpointError(
                f"{source}: model_type is {data.get('model_type')!r}, but only {MODEL_TYPE!r} can be decoded"
            )
        inner = data.get("decoder_config")
        if not isinstance(inner, Mapping):
            raise CheckpointError(f"{source}: decoder_config is missing or no object")
        values: dict[str, Any] = {
            name: _take(inner, name, default, f"{source}: decoder_config")
            for name, default in _defaults(inner).items()
        }
        values["output_sample_rate"] = _take(
            data, "output_sample_rate", CodecConfig.output_sample_rate, source, optional=True
        )
        config = cls(**values)
        config._check(inner, source)
        told = data.get("decode_upsample_rate", config.samples_per_frame)
        if told != config.samples_per_frame:
            raise CheckpointError(
                f"{source}: decode_upsample_rate is {told!r}, but upsample_rates and upsampling_ratios"
                f" multiply to {config.samples_per_frame}"
            )
        return config

    def to_dict(self) -> dict[str, Any]:
        """Return the content of a ``config.json`` that both this package and the official code read."""
        inner = asdict(self)
        rate = inner.pop("output_sample_rate")
        inner |= {
            "upsample_rates": list(self.upsample_rates),
            "upsampling_ratios": list(self.upsampling_ratios),
            "hidden_act": "silu",
            "num_semantic_quantizers": 1,
            "attention_dropout": 0.0,
        }
        return {
            "model_type": MODEL_TYPE,
            "architectures": ["Qwen3TTSTokenizerV2Model"],
            "encoder_valid_num_quantizers": self.num_quantizers,
            "input_sample_rate": rate,
            "output_sample_rate": rate,
            "decode_upsample_rate": self.samples_per_frame,
            "encode_downsample_rate": self.samples_per_frame,
            "decoder_config": inner,
        }

    def _check(self, inner: Mapping[str, Any], source: str) -> None:
        """Refuse what the types allow but the architecture does not."""

        def require(fits: bool, key: str, reason: str) -> None:
            if not fits:
                raise CheckpointError(f"{source}: decoder_config.{key} {reason}")

        require(self.num_quantizers >= 2, "num_quantizers", "must be at least 2: one semantic, one acoustic")
        require(self.codebook_size <= 32_768, "codebook_size", "must be at most 32768: codes are int16")
        require(self.codebook_dim % 2 == 0, "codebook_dim", "must be even: codebooks are half as wide")
        require(self.head_dim % 2 == 0, "head_dim", "must be even: rotary embedding turns pairs")
        require(
            self.num_attention_heads % self.num_key_value_heads == 0,
            "num_key_value_heads",
            f"must divide num_attention_heads ({self.num_attention_heads})",
        )
        require(
            self.decoder_dim % 2 ** len(self.upsample_rates) == 0,
            "decoder_dim",
            f"must be divisible by {2 ** len(self.upsample_rates)}: every upsampling block halves it",
        )
        act = inner.get("hidden_act", "silu")
        require(act == "silu", "hidden_act", f"is {act!r}, but only 'silu' is known")
        scaling = inner.get("rope_scaling")
        require(scaling is None, "rope_scaling", f"is {scaling!r}, but only plain rotary embedding is known")


def _defaults(inner: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of ``decoder_config`` with the value of an absent optional one."""
    defaults = {field.name: field.default for field in fields(CodecConfig)}
    del defaults["output_sample_rate"]
    heads, hidden = inner.get("num_attention_heads"), inner.get("hidden_size")
    if isinstance(heads, int) and isinstance(hidden, int) and heads > 0:
        defaults["head_dim"] = hidden // heads
        defaults["num_key_value_heads"] = heads
    return defaults


def _take(source: Mapping[str, Any], key: str, default: Any, where: str, *, optional: bool = False) -> Any:
    """Return ``source[key]`` as the type of ``default``; positive numbers only."""
    if key not in source:
        if optional or key in _OPTIONAL:
            return default
        raise CheckpointError(f"{where}: {key} is missing")
    value = source[key]
    if isinstance(default, bool):
        fits = isinstance(value, bool)
    elif isinstance(default, tuple):
        fits = isinstance(value, list) and bool(value) and all(_is_count(item) for item in value)
        value = tuple(value) if fits else value
    elif isinstance(default, float):
        fits = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf
        value = float(value) if fits else value
    else:
        fits = _is_count(value)
    if not fits:
        kind = {bool: "true or false", tuple: "a list of positive integers", float: "a positive number"}
        wanted = kind.get(type(default), "a positive integer")
        raise CheckpointError(f"{where}: {key} is {value!r}, but {wanted} is expected")
    return value


def _is_count(value: Any) -> bool:
    """Tell a positive integer of a size that a layer can have (a bool is no number here)."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 1_000_000
