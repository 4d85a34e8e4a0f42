"""Ways to compute the same decoder's steps, behind one small interface, and their names.

``Qwen3TTSTokenizerV2Decoder`` is the truth: differentiable, under the official names, on any
device. A backend is made from it once, at load, and is what streams decode with::

    backend = backends(decoder)["exact"]()
    state = backend.new_state()
    pcm = backend.step(codes, state)

Which name stands for which: ``modules``, the decoder's own ``step``; ``exact``, the fastest way here to
the same float32 result; ``fast``, where the CPU has the instructions, reduced precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from decoder.streaming.guarded_backend import GuardedBackend
from decoder.streaming.kernels.packed_linear import bfloat16_is_faster, half_works
from decoder.streaming.precision import HALF, MIXED, Precision
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.rows_backend import RowsBackend


class StreamState(Protocol):
    """What one utterance carries from step to step: its backend's own type, made new, never reset."""

    @property
    def position_frames(self) -> int:
        """Frames decoded so far, primed ones included."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes of carried tensors; constant once the window is full."""
        ...


class Backend(Protocol):
    """Weights in some form that any number of streams share, each with a state of its own.

    Calls come from one thread at a time.
    """

    @property
    def name(self) -> str:
        """As in ``backends``."""
        ...

    def new_state(self) -> Any:
        """Return the state before the first frame, a ``StreamState``."""
        ...

    def step(self, codes: Tensor, state: Any) -> Tensor:
        """Decode the next frames: codes, int64 ``[T, 16]`` -> pcm, float32 ``[T * 1920]`` within +-1.

        ``state`` is one that this backend's ``new_state`` made; it advances. Nobody else holds the
        returned memory. An error other than ``CodesError`` leaves ``state`` half advanced: drop it.

        Raises:
            CodesError: wrong shape, or a code outside ``0..codebook_size-1``; ``state`` is untouched.

        """
        ...


@runtime_checkable
class PrimingBackend(Backend, Protocol):
    """One that can take codes without making their samples, which is several times faster."""

    def prime(self, codes: Tensor, state: Any) -> None:
        """Advance ``state`` over ``codes`` as ``step`` does, to rounding, and emit nothing.

        Raises:
            CodesError: as ``step``.

        """
        ...


class ModulesBackend:
    """The decoder's own step: any device and type."""

    def __init__(self, decoder: Qwen3TTSTokenizerV2Decoder, name: str = "modules") -> None:
        self.name = name
        self._decoder = decoder

    def new_state(self) -> Any:
        """Return a ``DecoderState``."""
        return self._decoder.new_state()

    def step(self, codes: Tensor, state: Any) -> Tensor:
        """As ``Qwen3TTSTokenizerV2Decoder.step``."""
        return self._decoder.step(codes, state)


def backends(
    decoder: Qwen3TTSTokenizerV2Decoder,
    reload: Callable[[], Qwen3TTSTokenizerV2Decoder] | None = None,
) -> dict[str, Callable[[], Backend]]:
    """Return what this machine can decode with, by name; calling an entry makes its weights' form (seconds).

    Always there: ``modules`` and ``exact``. ``fast`` is there where the CPU or the build has something that
    makes it faster, and falls back to ``exact`` by itself where it fails.

    Args:
        decoder: of which ``exact`` and ``fast`` on a CPU keep nothing.
        reload: makes the decoder anew for that fallback. None keeps ``decoder``.

    """
    again = reload or (lambda: decoder)
    weight = decoder.pre_conv.conv.weight
    if weight.device.type == "cuda":
        from decoder.streaming.cuda_graphs import device_backends

        return {"modules": lambda: ModulesBackend(decoder), **device_backends(decoder)}
    if weight.device.type != "cpu" or weight.dtype != torch.float32:
        return {
            "modules": lambda: ModulesBackend(decoder),
            "exact": lambda: ModulesBackend(decoder, "exact"),
        }
    offered: dict[str, Callable[[], Backend]] = {
        "modules": lambda: ModulesBackend(decoder),
        "exact": lambda: RowsBackend(decoder),
    }
    precision = reduced_precision()
    if precision is not None:
        offered["fast"] = lambda: GuardedBackend(
            RowsBackend(decoder, precision, name="fast"), lambda: RowsBackend(again())
        )
    return offered


def reduced_precision() -> Precision | None:
    """Return the fastest precision that this machine has the means for, or None."""
    if not half_works():
        return None
    return MIXED if bfloat16_is_faster() else HALF


def state_nbytes(state: StreamState) -> int:
    """Bytes that a stream carries."""
    return state.nbytes
