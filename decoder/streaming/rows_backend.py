"""The CPU backend: rows of channels, packed weights, Toom-Cook where layers are wide."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from decoder.errors import CodesError
from decoder.streaming.block_rows import BlockRows, BlockState, LastStep
from decoder.streaming.blocks import DILATIONS
from decoder.streaming.config import CodecConfig
from decoder.streaming.kernels.cosine import numpy_is_faster
from decoder.streaming.kernels.crew import Crew
from decoder.streaming.kernels.rows import ConvNeXtRows, ConvRows, LastRows, RepeatRows
from decoder.streaming.kernels.shares import Memory
from decoder.streaming.kernels.taps import CONTEXT
from decoder.streaming.kernels.team import Alone, size
from decoder.streaming.kernels.transformer_rows import ROOM, CacheState, TransformerRows
from decoder.streaming.precision import EXACT, Precision
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.state import state_nbytes


@dataclass
class RowsState:
    """All that an utterance carries from one step to the next."""

    pre_conv: Tensor
    transformer: CacheState
    upsample: list[Tensor]
    first_conv: Tensor
    blocks: list[BlockState]
    last_conv: Tensor

    @property
    def position_frames(self) -> int:
        """Frames decoded so far, primed ones included."""
        return self.transformer.position

    @property
    def nbytes(self) -> int:
        """Bytes of carried tensors, the same at every position."""
        return state_nbytes(self)


class RowsBackend:
    """Float32 on a CPU, made from a decoder and independent of it from then on.

    A step goes through the layers whose cost is reading their weights (up to the first wide
    convolution) with all of its frames, and through each upsampling block in pieces that fit the caches;
    state is exact, so pieces change nothing. One step runs at a time, whoever calls.
    """

    def __init__(
        self, decoder: Qwen3TTSTokenizerV2Decoder, precision: Precision = EXACT, *, name: str = "exact"
    ) -> None:
        self.name = name
        self._config = decoder.config
        parts = decoder.parts()
        by_numpy = numpy_is_faster()
        self._lock = threading.Lock()
        self._context_frames = context_frames(self._config)
        with torch.inference_mode():
            decoder.quantizer.fold()
            self._table = decoder.quantizer.table
            decoder.quantizer.unfold()
            self._offsets = torch.arange(self._config.num_quantizers) * self._config.codebook_size
            self._pre_conv = ConvRows(decoder.pre_conv, precision.transformer)
            self._transformer = TransformerRows(decoder.pre_transformer, precision.transformer)
            self._upsample = [
                (RepeatRows(up, precision.upsample), ConvNeXtRows(block, precision.upsample))
                for up, block in parts.upsample
            ]
            self._first_conv = ConvRows(parts.first_conv, precision.upsample)
            self._memory = Memory()
            self._crew = Crew()
            self._blocks = [
                BlockRows(block, self._memory, self._crew, by_numpy, precision, index)
                for index, block in enumerate(parts.blocks)
            ]
            self._last = LastStep(
                LastRows(parts.last_act, parts.last_conv, by_numpy), self._memory, self._crew
            )

    @property
    def workspace_nbytes(self) -> int:
        """Bytes that steps work in; they grow to what the longest step needs."""
        return self._memory.nbytes

    def new_state(self) -> RowsState:
        """Return the state before the first frame."""
        with torch.inference_mode():
            return RowsState(
                pre_conv=self._pre_conv.new_state(),
                transformer=self._transformer.new_state(),
                upsample=[block.new_state() for _, block in self._upsample],
                first_conv=self._first_conv.new_state(),
                blocks=[block.new_state() for block in self._blocks],
                last_conv=self._last.new_state(),
            )

    def step(self, codes: Tensor, state: RowsState) -> Tensor:
        """As ``Backend.step``."""
        codes = self._checked(codes)
        with self._lock, Alone(), torch.inference_mode():
            pieces = [self._frames(piece, state) for piece in split(codes, ROOM)]
            return torch.cat(pieces).clamp_(-1.0, 1.0) if pieces else torch.empty(0)

    def prime(self, codes: Tensor, state: RowsState) -> None:
        """As ``PrimingBackend.prime``: the convolutions see the last frames, all that they depend on."""
        codes = self._checked(codes)
        with self._lock, Alone(), torch.inference_mode():
            early = max(0, len(codes) - self._context_frames)
            for piece in split(codes[:early], ROOM):
                self._transform(piece, state)
            for piece in split(codes[early:], ROOM):
                self._frames(piece, state)

    def _frames(self, codes: Tensor, state: RowsState) -> Tensor:
        """Decode at most ``ROOM`` frames."""
        x = self._transform(codes, state)
        for (repeat, block), block_state in zip(self._upsample, state.upsample, strict=True):
            x = block.step(repeat.step(x), block_state)
        return self._through_blocks(self._first_conv.step(x, state.first_conv), 0, state)

    def _transform(self, codes: Tensor, state: RowsState) -> Tensor:
        """Run what is before the upsampling."""
        x = F.embedding_bag(codes + self._offsets, self._table, mode="sum")
        x = self._pre_conv.step(x, state.pre_conv)
        return self._transformer.step(x, state.transformer)

    def _through_blocks(self, x: Tensor, index: int, state: RowsState) -> Tensor:
        """Run blocks from ``index`` on, each in pieces that it likes, depth first."""
        if index == len(self._blocks):
            return self._last.step(x, state.last_conv)
        block, block_state = self._blocks[index], state.blocks[index]
        pieces = [
            self._through_blocks(block.step(piece, block_state), index + 1, state)
            for piece in split(x, block.most_rows * size())
        ]
        return pieces[0] if len(pieces) == 1 else torch.cat(pieces)

    def _checked(self, codes: Tensor) -> Tensor:
        books, size = self._config.num_quantizers, self._config.codebook_size
        if codes.dim() != 2 or codes.shape[1] != books or codes.is_floating_point():
            raise CodesError(f"codes must be integers [T, {books}], not {codes.dtype} {list(codes.shape)}")
        if codes.numel() and not 0 <= int(codes.min()) <= int(codes.max()) < size:
            raise CodesError(f"codes must be 0..{size - 1}, not {int(codes.min())}..{int(codes.max())}")
        return codes.to(torch.int64)


def context_frames(config: CodecConfig) -> int:
    """Return how many frames back the layers behind the transformer see (10 at full size)."""
    frames, rows = 0.0, 1
    for ratio in config.upsampling_ratios:
        rows *= ratio
        frames += CONTEXT / rows
    frames += CONTEXT / rows
    for rate in config.upsample_rates:
        frames += 1 / rows
        rows *= rate
        frames += CONTEXT * sum(DILATIONS) / rows
    return math.ceil(frames + CONTEXT / rows)


def split(rows: Tensor, most: int) -> Iterator[Tensor]:
    """Cut ``rows`` to as few pieces of at most ``most`` as there can be, all about as long."""
    count = -(-len(rows) // most)
    for index in range(count):
        yield rows[index * len(rows) // count : (index + 1) * len(rows) // count]
