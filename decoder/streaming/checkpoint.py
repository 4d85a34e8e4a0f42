"""Find, check and load a ``speech_tokenizer`` folder; write one.

A checkpoint is a folder with ``config.json`` and ``model.safetensors``. Only the ``decoder.*`` tensors
are read, straight from the mapped file. Nothing is ever unpickled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from decoder.errors import CheckpointError
from decoder.streaming.config import CodecConfig
from decoder.streaming.header import TensorEntry, read_header
from decoder.streaming.location import CONFIG_NAME, WEIGHTS_NAME, find_checkpoint
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder

PREFIX = "decoder."
"""Of the tensors that belong to the decoder; the others are the encoder's."""

_DTYPES = frozenset({"F32", "F16", "BF16", "F64"})


def load_checkpoint(source: str | Path) -> Qwen3TTSTokenizerV2Decoder:
    """Load a decoder in float32, ready for inference.

    A float32 file stays mapped: its weights are the page cache's, not a copy. Parameters come
    without gradients; call ``requires_grad_()`` to train.

    Args:
        source: a checkpoint folder, a folder with ``speech_tokenizer/`` in it, or the id of a
            fetched repository (see ``location.find_checkpoint``).

    Raises:
        CheckpointError: names the path, its size and the first tensor that does not fit.

    """
    folder = find_checkpoint(source)
    config = CodecConfig.from_file(folder / CONFIG_NAME)
    path = folder / WEIGHTS_NAME
    with torch.device("meta"):
        decoder = Qwen3TTSTokenizerV2Decoder(config)
    wanted = {name: tuple(tensor.shape) for name, tensor in decoder.state_dict().items()}
    _check_fit(path, wanted)
    try:
        tensors = _read(path, wanted)
    except (SafetensorError, OSError, RuntimeError) as error:
        raise CheckpointError(f"{_describe(path)}: {error}") from error
    decoder.load_state_dict(tensors, assign=True)
    return decoder.requires_grad_(False).eval()


def save_checkpoint(
    folder: Path,
    decoder: Qwen3TTSTokenizerV2Decoder,
    *,
    dtype: torch.dtype = torch.float32,
    extra: Mapping[str, Tensor] | None = None,
) -> Path:
    """Write ``decoder`` as a checkpoint that this package and the official code load; return ``folder``.

    ``extra`` are further tensors under their full names (an encoder's, say).
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG_NAME).write_text(json.dumps(decoder.config.to_dict(), indent=2) + "\n", encoding="utf-8")
    # clone: folded parameters are views of a shared block, which the format refuses
    tensors = {
        PREFIX + name: tensor.detach().to(device="cpu", dtype=dtype, copy=True).contiguous()
        for name, tensor in decoder.state_dict().items()
    }
    save_file({**tensors, **(extra or {})}, folder / WEIGHTS_NAME, metadata={"format": "pt"})
    return folder


def _check_fit(path: Path, wanted: Mapping[str, tuple[int, ...]]) -> None:
    """Compare the file's header with the shapes that the config asks for."""
    try:
        present = read_header(path).tensors
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror or error})") from error
    except ValueError as error:
        raise CheckpointError(f"{_describe(path)}: {error}") from error
    for name, shape in wanted.items():
        entry = present.get(PREFIX + name)
        if problem := _misfit(entry, shape):
            raise CheckpointError(f"{_describe(path)}: tensor {PREFIX}{name} {problem}")


def _misfit(entry: TensorEntry | None, shape: tuple[int, ...]) -> str | None:
    """Say what is wrong with a tensor, or None."""
    if entry is None:
        return "is missing"
    if entry.shape != shape:
        return f"has shape {list(entry.shape)}, but {CONFIG_NAME} asks for {list(shape)}"
    if entry.dtype not in _DTYPES:
        return f"is {entry.dtype}; known are {', '.join(sorted(_DTYPES))}"
    return None


def _read(path: Path, wanted: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """Map the tensors and look at every value once, which also brings the file into memory."""
    tensors = {}
    with safe_open(path, framework="pt", device="cpu") as file:
        for name in wanted:
            tensor = file.get_tensor(PREFIX + name).to(torch.float32)
            # A sum is one fast pass. It overflows, too, so only then look closer.
            if not tensor.sum().isfinite() and not tensor.isfinite().all():
                raise CheckpointError(f"{_describe(path)}: tensor {PREFIX}{name} has NaN or infinite values")
            tensors[name] = tensor
    return tensors


def _describe(path: Path) -> str:
    return f"{path} ({path.stat().st_size:,} bytes)"


__all__ = ["PREFIX", "find_checkpoint", "load_checkpoint", "save_checkpoint"]
