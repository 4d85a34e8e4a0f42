"""The official decoder, to compare with: the tokenizer module of qwen-tts, and nothing else of it.

``qwen_tts/__init__`` imports torchaudio, librosa and more, so the packages around the module are made
bare: a path, no code.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from assets.bundle import advice
from decoder.errors import BenchError
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder

INSTALL = "pip install --no-deps qwen-tts==0.1.1 && pip install transformers==4.57.3"
"""What brings it (Apache-2.0); its own dependencies are not needed for this module."""

_TOKENIZER = "qwen_tts.core.tokenizer_12hz"


def official_forward(ours: Qwen3TTSTokenizerV2Decoder) -> Callable[[Tensor], Tensor]:
    """Return the official whole forward, with the weights of ``ours``.

    It takes codes ``[T, 16]`` and returns pcm ``[T * 1920]``.

    Raises:
        BenchError: qwen-tts or its transformers is not installed, or is another version; says how to install.

    """
    modelling, configuration = _modules()
    inner = ours.config.to_dict()["decoder_config"]
    try:
        config = configuration.Qwen3TTSTokenizerV2DecoderConfig(**inner)
        decoder = modelling.Qwen3TTSTokenizerV2Decoder._from_config(config)
        _missing, unexpected = decoder.load_state_dict(ours.state_dict(), strict=False)
    except (AttributeError, TypeError, RuntimeError) as error:
        raise BenchError(
            f"the installed qwen-tts does not fit ({error}); install it with: {INSTALL}"
        ) from error
    if unexpected:
        raise BenchError(f"the installed qwen-tts has no {unexpected[0]}; install it with: {INSTALL}")
    decoder.eval().to(ours.pre_conv.conv.weight.device)

    def forward(codes: Tensor) -> Tensor:
        with torch.inference_mode():
            pcm: Tensor = decoder(codes.T[None])[0, 0]
            return pcm.cpu()

    return forward


def _modules() -> tuple[Any, Any]:
    """Import model and configuration."""
    if "qwen_tts" not in sys.modules:
        found = importlib.util.find_spec("qwen_tts")
        if found is None or found.origin is None:
            install = advice(f"to compare with it: {INSTALL}", "no bundle has it")
            raise BenchError(f"qwen-tts is not installed; {install}")
        _make_bare(Path(found.origin).parent)
    try:
        with warnings.catch_warnings():
            # transformers 4.57 and what it imports speak of their own deprecations
            warnings.simplefilter("ignore")
            return (
                importlib.import_module(f"{_TOKENIZER}.modeling_qwen3_tts_tokenizer_v2"),
                importlib.import_module(f"{_TOKENIZER}.configuration_qwen3_tts_tokenizer_v2"),
            )
    except ImportError as error:
        raise BenchError(f"qwen-tts cannot be imported ({error}); install it with: {INSTALL}") from error


def _make_bare(root: Path) -> None:
    for name, path in (("qwen_tts", root), ("qwen_tts.core", root / "core")):
        package = ModuleType(name)
        package.__path__ = [str(path)]
        sys.modules[name] = package
