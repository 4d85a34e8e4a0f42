"""The CPU backend: rows of channels, packed weights, Toom-Cook where layers are wide."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from decoder.errors import CodesError
from decoder.streaming.blocks import DILATIONS, UpsampleBlock
from decoder.streaming.config import CodecConfig
from decoder.streaming.kernels.cosine import numpy_is_faster
from decoder.streaming.kernels.residual import CONTEXT, ResidualRows, residual_rows
from decoder.streaming.kernels.rows import ConvNeXtRows, ConvRows, LastRows, RepeatRows, UpsampleRows
from decoder.streaming.kernels.team import Alone
from decoder.streaming.kernels.transformer_rows import ROOM, CacheState, TransformerRows
from decoder.streaming.kernels.workspace import Workspace
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.state import state_nbytes

_BLOCK_ELEMENTS = 400_000
"""A block takes at most about so many values of signal at once, so that what it works on stays in the caches.

Measured on 2 busy cores, 12 frames: 60,000 948 ms; 100,000 654; 200,000 531; 400,000 502; 800,000 488.
"""
_TOOM_COOK_MIN_CHANNELS = 64
_WIDE_CHANNELS = 512


@dataclass(frozen=True)
class Precision:
    """How the weights of each part are kept (see ``PackedLinear``); between products all is float32."""

    transformer: torch.dtype = torch.float32
    upsample: torch.dtype = torch.float32
    """Of the convolution behind the transformer's output, too."""
    transposed: tuple[torch.dtype, ...] = (torch.float32,)
    """Of the blocks' transposed convolutions in turn; the last one is that of all further blocks."""
    closing: torch.dtype = torch.float32
    """Of the residual units' pointwise products."""
    taps: tuple[torch.dtype, ...] = (torch.float32,)
    """Of the residual units' seven taps, by block as ``transposed``; float32 or float16 with Toom-Cook."""
    toom_cook_from_block: int = 0
    """Blocks before this one multiply directly, however wide."""


EXACT = Precision()

HALF = Precision(
    transformer=torch.float16,
    upsample=torch.float16,
    transposed=(torch.float16, torch.float32),
    taps=(torch.float16, torch.float32),
)
"""What reads its weights for a handful of rows has them in half the bytes: 39 dB with random weights.

49 dB without the seven taps of the first block, which make a step of one frame 5 % faster.
"""

MIXED = replace(HALF, closing=torch.bfloat16)
"""The pointwise products in bfloat16, too: 36 dB with random weights.

Everything in bfloat16 is 26 dB there; the transformer or the first convolutions alone 30, all but the first
transposed convolutions 34. The other seven taps stay: Toom-Cook in float32 takes less time than bfloat16
without it, and does not survive bfloat16.
"""


@dataclass
class BlockState:
    """Of one upsampling block; rows of what its convolutions saw last."""

    upsample: Tensor
    units: list[Tensor]


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
            self._workspace = Workspace()
            self._blocks = [
                _BlockRows(block, self._workspace, by_numpy, precision, index)
                for index, block in enumerate(parts.blocks)
            ]
            self._last = LastRows(parts.last_act, parts.last_conv, by_numpy)

    @property
    def workspace_nbytes(self) -> int:
        """Bytes that steps work in; they grow to what the longest step needs."""
        return self._workspace.nbytes

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
            for piece in split(x, block.most_rows)
        ]
        return pieces[0] if len(pieces) == 1 else torch.cat(pieces)

    def _checked(self, codes: Tensor) -> Tensor:
        books, size = self._config.num_quantizers, self._config.codebook_size
        if codes.dim() != 2 or codes.shape[1] != books or codes.is_floating_point():
            raise CodesError(f"codes must be integers [T, {books}], not {codes.dtype} {list(codes.shape)}")
        if codes.numel() and not 0 <= int(codes.min()) <= int(codes.max()) < size:
            raise CodesError(f"codes must be 0..{size - 1}, not {int(codes.min())}..{int(codes.max())}")
        return codes.to(torch.int64)


class _BlockRows:
    """An upsampling block: Snake, transposed convolution, residual units."""

    def __init__(
        self,
        block: UpsampleBlock,
        workspace: Workspace,
        by_numpy: bool,
        precision: Precision,
        index: int,
    ) -> None:
        act, up, units = block.typed_parts()
        channels = up.conv.out_channels
        outputs = None
        if index >= precision.toom_cook_from_block and channels >= _TOOM_COOK_MIN_CHANNELS:
            outputs = 4 if channels >= _WIDE_CHANNELS else 6
        self.most_rows = max(1, _BLOCK_ELEMENTS // (channels * up.stride))
        """Input rows to take at once."""
        self._upsample = UpsampleRows(act, up, by_numpy, _of_block(precision.transposed, index))
        self._units: list[ResidualRows] = [
            residual_rows(
                unit,
                workspace,
                outputs=outputs,
                by_numpy=by_numpy,
                dtype=_of_block(precision.taps, index),
                closing_dtype=precision.closing,
            )
            for unit in units
        ]

    def new_state(self) -> BlockState:
        """Return the state before the first row."""
        return BlockState(self._upsample.new_state(), [unit.new_state() for unit in self._units])

    def step(self, x: Tensor, state: BlockState) -> Tensor:
        """Take the next ``[T, C_in]``, return the next ``[T * stride, C_out]``."""
        x = self._upsample.step(x, state.upsample)
        for unit, unit_state in zip(self._units, state.units, strict=True):
            unit.step(x, unit_state)
        return x


def _of_block(types: tuple[torch.dtype, ...], index: int) -> torch.dtype:
    """Return the type for a block: the last one is that of all further blocks."""
    return types[min(index, len(types) - 1)]


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
