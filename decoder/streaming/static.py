"""Steps of static shape for several utterances at once: what CUDA graphs and batches are made of.

The same mathematics as ``Qwen3TTSTokenizerV2Decoder.step``, with three differences. Every carried tensor has
its full size from the start (keys of positions that do not exist yet are masked) and is written in place,
so addresses and shapes never change. The position is a tensor, so nothing is read back from the device.
And there is a batch: each row is an utterance with its own position.
"""

from __future__ import annotations

import contextlib
import math
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from decoder.streaming.blocks import ResidualUnit
from decoder.streaming.layers import CausalTransposedConv1d, SnakeBeta
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.static_stages import (
    ConvNeXtStage,
    ConvStage,
    Lookup,
    ResidualStage,
    SnakeStage,
    Stage,
    TransformerStage,
    TransposedStage,
)


@dataclass
class StaticState:
    """What N utterances carry from step to step, a row each."""

    carried: Tensor
    """``[N, floats of an utterance]`` float32, zeros before the first step."""
    position: Tensor
    """``[N]`` int64: frames decoded so far."""
    parts: list[Tensor]
    """Views of ``carried``, a tensor for each layer that carries something."""

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return self.carried.nbytes + self.position.nbytes

    def copy_(self, other: StaticState) -> None:
        """Take the values of ``other``, a state with as many rows; addresses stay."""
        self.carried.copy_(other.carried)
        self.position.copy_(other.position)


def float32_stays_float32(device: torch.device) -> AbstractContextManager[None]:
    """Keep cuDNN from rounding float32 to TF32, which it does by default, while in the context."""
    if device.type != "cuda":
        return contextlib.nullcontext()
    cudnn = torch.backends.cudnn
    flags = cudnn.flags(enabled=True, benchmark=cudnn.benchmark, deterministic=False, allow_tf32=False)
    return cast("AbstractContextManager[None]", flags)


class StaticStep:
    """A decoder's weights in the form that static steps want.

    Float32 weights are the decoder's own; others are converted copies.

    Attributes:
        device: where weights and states are.

    """

    def __init__(
        self, decoder: Qwen3TTSTokenizerV2Decoder, product_dtype: torch.dtype = torch.float32
    ) -> None:
        parts = decoder.parts()
        self.device = parts.first_conv.conv.weight.device
        self.samples_per_frame = decoder.config.samples_per_frame
        dtype = product_dtype
        with torch.inference_mode():
            self._lookup = Lookup(decoder.quantizer)
            self._stages: list[Stage] = [
                ConvStage(decoder.pre_conv, dtype),
                TransformerStage(decoder.pre_transformer, dtype),
            ]
            for up, block in parts.upsample:
                self._stages += [TransposedStage(up, dtype), ConvNeXtStage(block, dtype)]
            self._stages.append(ConvStage(parts.first_conv, dtype))
            for upsample in parts.blocks:
                act, transposed, *units = upsample.block
                self._stages += [SnakeStage(cast(SnakeBeta, act))]
                self._stages += [TransposedStage(cast(CausalTransposedConv1d, transposed), dtype)]
                self._stages += [ResidualStage(cast(ResidualUnit, unit), dtype) for unit in units]
            self._stages += [SnakeStage(parts.last_act), ConvStage(parts.last_conv, dtype)]
        self._shapes = [shape for stage in self._stages for shape in stage.shapes()]

    def new_state(self, rows: int = 1) -> StaticState:
        """Return the state before the first frame of ``rows`` utterances."""
        sizes = [math.prod(shape) for shape in self._shapes]
        with torch.inference_mode():
            carried = torch.zeros(rows, sum(sizes), device=self.device)
            return self.state_of(carried, torch.zeros(rows, dtype=torch.int64, device=self.device))

    def state_of(self, carried: Tensor, position: Tensor) -> StaticState:
        """Return a state over given memory (some rows of another, say)."""
        sizes = [math.prod(shape) for shape in self._shapes]
        parts = [
            piece.view(carried.shape[0], *shape)
            for piece, shape in zip(torch.split(carried, sizes, dim=1), self._shapes, strict=True)
        ]
        return StaticState(carried, position, parts)

    def __call__(self, codes: Tensor, state: StaticState) -> Tensor:
        """Decode the next frames of every row: codes int64 ``[N, T, 16]`` -> pcm ``[N, T * 1920]``.

        Codes are not checked here: a look at their values would wait for the device.
        """
        with torch.inference_mode(), float32_stays_float32(self.device):
            x = self._lookup(codes)
            carried = iter(state.parts)
            for stage in self._stages:
                x = stage(x, carried, state.position)
            state.position += codes.shape[1]
            return x[:, 0].clamp_(-1.0, 1.0)
