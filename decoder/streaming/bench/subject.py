"""What is measured: a checkpoint, real or random, and the ways to decode it."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from decoder.errors import BenchError
from decoder.streaming.backend import Backend, backends
from decoder.streaming.checkpoint import load_checkpoint
from decoder.streaming.codec import PRECISIONS, LoadedDecoder, load_decoder
from decoder.streaming.location import find_checkpoint
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.random_weights import random_checkpoint

SEED = 1
"""Of random weights and codes: the same in every run."""


@contextlib.contextmanager
def checkpoint_folder(source: str | None) -> Iterator[tuple[Path, str]]:
    """Yield a checkpoint's folder and where its weights are from; None makes random ones for the time being.

    Raises:
        CheckpointError: there is no such checkpoint.

    """
    if source is not None:
        yield find_checkpoint(source), source
        return
    with tempfile.TemporaryDirectory(prefix="nearfield-bench-") as folder:
        yield random_checkpoint(Path(folder), seed=SEED), "random, full size"


def load_weights(folder: Path, device: str) -> Qwen3TTSTokenizerV2Decoder:
    """Load what backends are made from.

    Raises:
        BenchError: there is no such device here. The application would take the CPU with a warning; who
            measures wants to know.
        CheckpointError: as ``load_checkpoint``.

    """
    try:
        wanted = torch.device(device)
    except RuntimeError as error:
        raise BenchError(f"decoder device {device!r}: {str(error).splitlines()[0]}") from error
    if wanted.type == "cuda" and not torch.cuda.is_available():
        raise BenchError("there is no CUDA device here, or this torch is built without CUDA")
    return load_checkpoint(folder).to(wanted)


def load(folder: Path, *, backend: str, threads: int, device: str) -> LoadedDecoder:
    """Load as the application does, for any name in ``backends``."""
    if backend in PRECISIONS:
        return load_decoder(folder, device=device, threads=threads, precision=backend)
    torch.set_num_threads(threads)
    return LoadedDecoder(load_weights(folder, device), threads=threads, backend=backend)


def make_backends(decoder: Qwen3TTSTokenizerV2Decoder, names: tuple[str, ...]) -> list[Backend]:
    """Make the named ones.

    Raises:
        BenchError: this machine does not have one of them; lists those that it has.

    """
    offered = backends(decoder)
    for name in names:
        if name not in offered:
            raise BenchError(f"this machine cannot decode with {name!r}; it can with {', '.join(offered)}")
    return [offered[name]() for name in names]


class CodeSource:
    """Random codes without end, the same in every run."""

    def __init__(self, decoder: Qwen3TTSTokenizerV2Decoder) -> None:
        self._books = decoder.config.num_quantizers
        self._size = decoder.config.codebook_size
        self._random = torch.Generator().manual_seed(SEED)

    def take(self, frames: int) -> Tensor:
        """Return the next codes, int64 ``[frames, 16]``."""
        return torch.randint(self._size, (frames, self._books), generator=self._random)
