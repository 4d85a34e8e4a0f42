"""The one door to the package qwen-tts 0.1.1: imports what a 12 Hz checkpoint needs of it, and no more.

``import qwen_tts`` also imports its 25 Hz tokenizer, and with it torchaudio (whose release has to fit that of
torch to the letter), SoX, onnxruntime and einops. None of them is used here, so ``qwen_tts`` and
``qwen_tts.core`` are made bare, a path without code, and the 25 Hz model is a name that cannot be loaded.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

from server.reference.errors import NotInstalled

INSTALL = (
    "in an environment of its own: pip install -r server/reference/requirements.txt && "
    "pip install --no-deps qwen-tts==0.1.1"
)

_MODULE = "qwen_tts.inference.qwen3_tts_model"


class _NoModel:
    """Stands where ``qwen_tts`` has its 25 Hz tokenizer."""

    @classmethod
    def from_pretrained(cls, *_: Any, **__: Any) -> Any:
        """Refuse: the protocol carries no such frames.

        Raises:
            ValueError: always.

        """
        raise ValueError("its speech tokenizer makes 25 frames a second, and only those of 12.5 are carried")


def official_model() -> Any:
    """Return the class ``Qwen3TTSModel``.

    Raises:
        NotInstalled: qwen-tts, or something it imports, cannot be imported.

    """
    try:
        with warnings.catch_warnings():
            # transformers 4.57 and what it imports speak of their own deprecations
            warnings.simplefilter("ignore")
            if "qwen_tts" not in sys.modules:
                _make_bare()
            return importlib.import_module(_MODULE).Qwen3TTSModel
    except (ImportError, AttributeError) as error:
        raise NotInstalled(f"qwen-tts cannot be imported ({error}); install it {INSTALL}") from error


def official_prompt_item() -> Any:
    """Return the class ``VoiceClonePromptItem``, once :func:`official_model` has imported it."""
    return sys.modules[_MODULE].VoiceClonePromptItem


def _make_bare() -> None:
    found = importlib.util.find_spec("qwen_tts")
    if found is None or found.origin is None:
        raise ImportError("no package qwen_tts")
    root = Path(found.origin).parent
    core = _package("qwen_tts.core", root / "core")
    _package("qwen_tts", root).core = core  # type: ignore[attr-defined]
    try:
        _fill(core)
    except ImportError:
        del sys.modules["qwen_tts"], sys.modules["qwen_tts.core"]
        raise


def _fill(core: ModuleType) -> None:
    """Give ``core`` the names that its ``__init__`` has."""
    for folder, module, names in (
        ("tokenizer_12hz", "configuration_qwen3_tts_tokenizer_v2", ["Qwen3TTSTokenizerV2Config"]),
        ("tokenizer_12hz", "modeling_qwen3_tts_tokenizer_v2", ["Qwen3TTSTokenizerV2Model"]),
        ("tokenizer_25hz", "configuration_qwen3_tts_tokenizer_v1", ["Qwen3TTSTokenizerV1Config"]),
    ):
        loaded = importlib.import_module(f"qwen_tts.core.{folder}.{module}")
        for name in names:
            setattr(core, name, getattr(loaded, name))
    config = core.Qwen3TTSTokenizerV1Config
    core.Qwen3TTSTokenizerV1Model = type("Qwen3TTSTokenizerV1Model", (_NoModel,), {"config_class": config})  # type: ignore[attr-defined]


def _package(name: str, path: Path) -> ModuleType:
    package = ModuleType(name)
    package.__path__ = [str(path)]
    sys.modules[name] = package
    return package
