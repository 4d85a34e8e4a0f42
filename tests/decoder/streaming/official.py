"""The reference: the tokenizer module of qwen-tts, without the rest of that package.

``qwen_tts/__init__`` imports torchaudio, librosa and more, so the packages around the module are
made bare: a path, no code.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from decoder.streaming.config import CodecConfig
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder


def official_decoder(config: CodecConfig, ours: Qwen3TTSTokenizerV2Decoder) -> torch.nn.Module:
    """The official decoder with the weights of ``ours``; fails the test where qwen-tts is not installed."""
    modelling, configuration = _modules()
    official_config = configuration.Qwen3TTSTokenizerV2DecoderConfig(**config.to_dict()["decoder_config"])
    decoder: Any = modelling.Qwen3TTSTokenizerV2Decoder._from_config(official_config)
    missing, unexpected = decoder.load_state_dict(ours.state_dict(), strict=False)
    assert not unexpected
    assert all(".input_proj.weight" in name and name.startswith("quantizer.") for name in missing)
    return decoder.eval()


def official_forward(decoder: torch.nn.Module, codes: torch.Tensor) -> torch.Tensor:
    """Codes ``[T, 16]`` -> pcm ``[T * 1920]``."""
    with torch.inference_mode():
        return decoder(codes.T[None])[0, 0]


@functools.cache
def _modules() -> tuple[Any, Any]:
    if "qwen_tts" not in sys.modules:  # else another test's, just as bare
        found = importlib.util.find_spec("qwen_tts")
        if found is None or found.origin is None:
            pytest.fail("qwen-tts is not installed; packaging/bootstrap.sh --test does it")
        root = Path(found.origin).parent
        for name, path in (("qwen_tts", root), ("qwen_tts.core", root / "core")):
            package = ModuleType(name)
            package.__path__ = [str(path)]
            sys.modules[name] = package
    tokenizer = "qwen_tts.core.tokenizer_12hz"
    with warnings.catch_warnings():
        # transformers 4.57 and what it imports speak of their own deprecations
        warnings.simplefilter("ignore")
        return (
            importlib.import_module(f"{tokenizer}.modeling_qwen3_tts_tokenizer_v2"),
            importlib.import_module(f"{tokenizer}.configuration_qwen3_tts_tokenizer_v2"),
        )
