"""The same codes in several ways, each held against the official whole forward."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from decoder.errors import BenchError
from decoder.streaming.backend import Backend
from decoder.streaming.bench.official import official_forward
from decoder.streaming.bench.subject import SEED, make_backends
from decoder.streaming.checkpoint import load_checkpoint
from decoder.streaming.config import CodecConfig
from decoder.streaming.cost import macs_per_frame
from decoder.streaming.parity.report import EXACT_DB, REDUCED_DB, ParityReport, Way
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.random_weights import random_decoder
from decoder.streaming.snr import snr_db
from decoder.streaming.threads import choose_threads, decode_settings
from decoder.streaming.tune import choose

Codes = npt.NDArray[np.integer]
"""``[T, 16]``."""
Forward = Callable[[Tensor], Tensor]
"""Codes ``[T, 16]`` → pcm ``[T * samples]``, without any memory."""
Tell = Callable[[str], object]

CUTS: dict[str, tuple[int, ...]] = {
    "1 frame at a time": (1,),
    "4 frames at a time": (4,),
    "12 frames at a time": (12,),
    "25 frames at a time": (25,),
    "1, 12, 25 and 4 in turn": (1, 12, 25, 4),
}
"""How ours is streamed: lengths of the steps by name, repeated to the end."""
NEW_FRAMES, OLD_FRAMES = 25, 72
"""The described scheme decodes every 25 frames with the 72 before them, and drops the sound of these."""


@dataclass(frozen=True)
class ParityRequest:
    """What to compare.

    Attributes:
        decoder: the weights of all ways.
        weights: where they are from, in words.
        codes: ``[T, 16]``, at least one frame.
        origin: where they are from, in words.
        context: frames that are decoded first and not compared: a cloned voice's.
        precision: ``exact``, ``auto`` or ``fast``, or the name of a backend.
        threads: of the CPU; None chooses as the application does.
        threshold_db: that ours has to reach; None: by the precision.

    """

    decoder: Qwen3TTSTokenizerV2Decoder
    weights: str
    codes: Codes
    origin: str
    context: Codes | None = None
    precision: str = "exact"
    threads: int | None = None
    threshold_db: float | None = None


def load_weights(checkpoint: str | None) -> tuple[Qwen3TTSTokenizerV2Decoder, str]:
    """Load a checkpoint, or make random weights of full size; say which.

    Raises:
        CheckpointError: there is no such checkpoint.

    """
    if checkpoint is None:
        return random_decoder(CodecConfig(), SEED), "random, full size"
    return load_checkpoint(checkpoint), checkpoint


def random_codes(decoder: Qwen3TTSTokenizerV2Decoder, frames: int, seed: int) -> npt.NDArray[np.int16]:
    """Return codes that a seed stands for, int16 ``[frames, 16]``."""
    random = torch.Generator().manual_seed(seed)
    size, books = decoder.config.codebook_size, decoder.config.num_quantizers
    codes: npt.NDArray[np.int16] = torch.randint(size, (frames, books), generator=random).short().numpy()
    return codes


def parity(request: ParityRequest, tell: Tell = lambda _: None) -> ParityReport:
    """Decode in every way and compare.

    Raises:
        BenchError: qwen-tts is missing; the text says how to install it. Or there is nothing to decode.

    """
    if len(request.codes) == 0:
        raise BenchError("there are no codes to compare; give other ones, or more --frames")
    decoder = request.decoder
    official = official_forward(decoder)  # first what can fail, then what takes time
    threads = choose_threads(request.threads, macs_per_frame=macs_per_frame(decoder))
    with decode_settings(threads):
        (backend,) = make_backends(decoder, (_backend_name(request, threads),))
        context, codes = joined(request)
        spec = decoder.config.spec
        skipped = context * spec.samples_per_frame
        tell("official, whole forward")
        reference = official(codes)[skipped:]

        def way(name: str, pcm: Tensor, *, is_ours: bool) -> Way:
            heard = pcm[skipped:]
            each = each_second_db(reference, heard, spec.sample_rate_hz)
            return Way(name, is_ours, snr_db(reference, heard), each)

        ways = []
        for name, cut in CUTS.items():
            tell(f"ours, {name}")
            ways.append(way(f"ours, {name}", streamed(backend, codes, cut), is_ours=True))
        name = f"official, {NEW_FRAMES} new frames with {OLD_FRAMES} old"
        tell(name)
        ways.append(way(name, described(official, codes), is_ours=False))
    default_db = EXACT_DB if backend.name == "exact" else REDUCED_DB
    return ParityReport(
        codes=request.origin,
        frames=len(request.codes),
        weights=request.weights,
        versions=f"torch {torch.__version__}, Python {platform.python_version()}",
        threads=threads,
        backend=backend.name,
        threshold_db=default_db if request.threshold_db is None else request.threshold_db,
        ways=ways,
    )


def _backend_name(request: ParityRequest, threads: int) -> str:
    if request.precision == "auto":
        return choose(request.decoder, threads=threads).backend
    return request.precision


def joined(request: ParityRequest) -> tuple[int, Tensor]:
    """Return the number of context frames, and these with the codes behind them, int64 ``[C + T, 16]``."""
    parts = [request.codes] if request.context is None else [request.context, request.codes]
    codes = torch.from_numpy(np.concatenate(parts).astype(np.int64))
    return len(codes) - len(request.codes), codes


def streamed(backend: Backend, codes: Tensor, cut: tuple[int, ...]) -> Tensor:
    """Decode in steps of these lengths, in turn, with what a stream carries along."""
    state = backend.new_state()
    pieces: list[Tensor] = []
    start = 0
    for frames in cycle(cut):
        if start >= len(codes):
            break
        pieces.append(backend.step(codes[start : start + frames], state).cpu())
        start += frames
    return torch.cat(pieces)


def described(forward: Forward, codes: Tensor) -> Tensor:
    """Decode as described: each piece anew, with the frames before it in front."""
    pieces: list[Tensor] = []
    for start in range(0, len(codes), NEW_FRAMES):
        piece = codes[max(0, start - OLD_FRAMES) : start + NEW_FRAMES]
        new = min(NEW_FRAMES, len(codes) - start)
        pcm = forward(piece)
        pieces.append(pcm[len(pcm) * (len(piece) - new) // len(piece) :])
    return torch.cat(pieces)


def each_second_db(reference: Tensor, other: Tensor, rate_hz: int) -> tuple[float, ...]:
    """Return the SNR of each second of ``other``; the last one may be shorter."""
    starts = range(0, len(reference), rate_hz)
    return tuple(snr_db(reference[at : at + rate_hz], other[at : at + rate_hz]) for at in starts)
