"""The codec decoder under its official class name and parameter names, streaming exactly.

The signal path (every size from the config, here with the published values)::

    codes [T, 16]
      quantizer         table sums                          [T, 512]
      pre_conv          causal convolution, kernel 3        1024
      pre_transformer   8 layers, window 72                 1024
      upsample          2 x (transposed convolution x2, ConvNeXt block)
      decoder           convolution to 1536, 4 upsampling blocks (x8, x5, x4, x3), Snake, convolution to 1
    pcm [T * 1920], clamped to +-1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from decoder.errors import CodesError
from decoder.streaming.blocks import ConvNeXtBlock, UpsampleBlock, UpsampleState, snake_conv_step
from decoder.streaming.config import CodecConfig
from decoder.streaming.folding import FoldingModule
from decoder.streaming.layers import (
    CausalConv1d,
    CausalConvState,
    CausalTransposedConv1d,
    SnakeBeta,
    TransposedConvState,
)
from decoder.streaming.quantizer import SplitQuantizer
from decoder.streaming.state import state_nbytes
from decoder.streaming.transformer import Transformer, TransformerState


@dataclass
class DecoderState:
    """All that an utterance carries from one step to the next (about 5 MB at full size).

    Made new at each start by ``Qwen3TTSTokenizerV2Decoder.new_state``, and never reset.
    """

    pre_conv: CausalConvState
    transformer: TransformerState
    upsample: list[tuple[TransposedConvState, CausalConvState]]
    first_conv: CausalConvState
    blocks: list[UpsampleState]
    last_conv: CausalConvState

    @property
    def position_frames(self) -> int:
        """Frames decoded so far, primed ones included."""
        return self.transformer.position

    @property
    def nbytes(self) -> int:
        """Bytes that the carried tensors keep alive."""
        return state_nbytes(self)


class Qwen3TTSTokenizerV2Decoder(nn.Module):
    """Codes to PCM, whole (``forward``) or step by step (``step``): the samples are the same.

    Parameters carry the official names, so a checkpoint's ``decoder.*`` tensors load as they are.
    One decoder serves any number of utterances, each with its own state.
    """

    def __init__(self, config: CodecConfig) -> None:
        super().__init__()
        self.config = config
        latent, ratios, rates = config.latent_dim, config.upsampling_ratios, config.upsample_rates
        self.quantizer = SplitQuantizer(config)
        self.pre_conv = CausalConv1d(config.codebook_dim, latent, 3)
        self.pre_transformer = Transformer(config)
        self.upsample = nn.ModuleList(
            nn.ModuleList([CausalTransposedConv1d(latent, latent, ratio, ratio), ConvNeXtBlock(latent)])
            for ratio in ratios
        )
        widths = [config.decoder_dim // 2**halvings for halvings in range(len(rates) + 1)]
        self.decoder = nn.ModuleList(
            [
                CausalConv1d(latent, config.decoder_dim, 7),
                *(UpsampleBlock(widths[i], widths[i + 1], rate) for i, rate in enumerate(rates)),
                SnakeBeta(widths[-1]),
                CausalConv1d(widths[-1], 1, 7),
            ]
        )
        self._folded = False

    # Whole utterances, differentiable

    def forward(self, codes: Tensor) -> Tensor:
        """Decode a whole utterance: codes, integer ``[T, 16]`` -> pcm ``[T * 1920]``.

        Raises:
            CodesError: wrong shape, or a code outside ``0..codebook_size-1``.

        """
        latents = self.quantizer(self._checked(codes))
        pcm: Tensor = self.decode_latents(latents.T[None])[0]
        return pcm

    def decode_latents(self, latents: Tensor, *, clamp: bool = True) -> Tensor:
        """Run the part behind the quantiser, for training: latents -> pcm.

        Args:
            latents: ``[B, codebook_dim, T]``, the sum of the projected codebook entries.
            clamp: limit the result to +-1 as decoding does. Without, gradients pass everywhere.

        Returns:
            ``[B, T * 1920]``

        """
        x = self.pre_transformer(self.pre_conv(latents).transpose(1, 2)).transpose(1, 2)
        for stage in self.upsample:
            for layer in cast(nn.ModuleList, stage):
                x = layer(x)
        for layer in self.decoder:
            x = layer(x)
        pcm: Tensor = x[:, 0]
        return pcm.clamp(-1.0, 1.0) if clamp else pcm

    # Streaming

    def new_state(self) -> DecoderState:
        """Return the state before the first frame of an utterance; folds the weights if need be."""
        self.fold()
        parts = self.parts()
        batch = 1
        with torch.inference_mode():
            return DecoderState(
                pre_conv=self.pre_conv.new_state(batch),
                transformer=self.pre_transformer.new_state(batch),
                upsample=[(up.new_state(batch), block.new_state(batch)) for up, block in parts.upsample],
                first_conv=parts.first_conv.new_state(batch),
                blocks=[block.new_state(batch) for block in parts.blocks],
                last_conv=parts.last_conv.new_state(batch),
            )

    def step(self, codes: Tensor, state: DecoderState) -> Tensor:
        """Decode the next frames of an utterance: codes, integer ``[T, 16]`` -> pcm ``[T * 1920]``.

        Exact for any cut of the utterance, single frames included; runs in inference mode, and
        nobody else holds the returned memory. An error other than ``CodesError`` leaves ``state`` half
        advanced: drop it.

        Raises:
            CodesError: wrong shape, or a code outside ``0..codebook_size-1``; ``state`` is untouched.

        """
        codes = self._checked(codes)
        with torch.inference_mode():
            if codes.shape[0] == 0:
                return self.pre_conv.conv.weight.new_empty(0)
            return self._step(codes, state)

    def prime(self, codes: Tensor, state: DecoderState) -> None:
        """Advance ``state`` over reference codes ``[T, 16]`` of a cloned voice, and emit nothing.

        What follows sounds as if the reference had been spoken before. At most ``sliding_window``
        (72) frames are of use; the protocol sends no more.

        Raises:
            CodesError: as ``step``.

        """
        self.step(codes, state)

    def fold(self) -> None:
        """Make the inference forms of the weights (once; see ``FoldingModule``)."""
        if not self._folded:
            for module in self.modules():
                if isinstance(module, FoldingModule):
                    module.fold()
            self._folded = True

    def unfold(self) -> None:
        """Forget them; the next ``new_state`` makes them anew. Also needed after changing weights by hand."""
        for module in self.modules():
            if isinstance(module, FoldingModule):
                module.unfold()
        self._folded = False

    def train(self, mode: bool = True) -> Qwen3TTSTokenizerV2Decoder:
        """As ``nn.Module.train``; weights are about to change, so their folded forms go."""
        if mode:
            self.unfold()
        super().train(mode)
        return self

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """As ``nn.Module.load_state_dict``; folded forms of the old weights go."""
        self.unfold()
        return super().load_state_dict(state_dict, strict, assign)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Qwen3TTSTokenizerV2Decoder:
        """Forget folded forms: moving to another device or type copies the parameters."""
        self.unfold()
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return self

    def _step(self, codes: Tensor, state: DecoderState) -> Tensor:
        parts = self.parts()
        x = self.quantizer.lookup(codes).T[None]
        x = self.pre_conv.step(x, state.pre_conv)
        x = self.pre_transformer.step(x.transpose(1, 2), state.transformer).transpose(1, 2)
        for (up, block), (up_state, block_state) in zip(parts.upsample, state.upsample, strict=True):
            x = block.step(up.step(x, up_state), block_state)
        x = parts.first_conv.step(x, state.first_conv)
        for upsample, block_states in zip(parts.blocks, state.blocks, strict=True):
            x = upsample.step(x, block_states)
        x = snake_conv_step(parts.last_act, parts.last_conv, x, state.last_conv)
        return x[0, 0].clamp_(-1.0, 1.0)

    def _checked(self, codes: Tensor) -> Tensor:
        """``codes`` as int64 on the weights' device, or CodesError."""
        if codes.dim() != 2 or codes.shape[1] != self.config.num_quantizers or codes.is_floating_point():
            raise CodesError(
                f"codes must be integers [T, {self.config.num_quantizers}],"
                f" not {codes.dtype} {list(codes.shape)}"
            )
        if codes.numel() and not 0 <= int(codes.min()) <= int(codes.max()) < self.config.codebook_size:
            raise CodesError(
                f"codes must be 0..{self.config.codebook_size - 1},"
                f" not {int(codes.min())}..{int(codes.max())}"
            )
        return codes.to(device=self.pre_conv.conv.weight.device, dtype=torch.int64)

    def parts(self) -> DecoderParts:
        """Name the elements of the official lists."""
        first_conv, *blocks, last_act, last_conv = self.decoder
        return DecoderParts(
            upsample=[
                (cast(CausalTransposedConv1d, up), cast(ConvNeXtBlock, block))
                for up, block in cast("list[nn.ModuleList]", self.upsample)
            ],
            first_conv=cast(CausalConv1d, first_conv),
            blocks=cast("list[UpsampleBlock]", blocks),
            last_act=cast(SnakeBeta, last_act),
            last_conv=cast(CausalConv1d, last_conv),
        )


@dataclass(frozen=True)
class DecoderParts:
    """The decoder's modules behind the transformer, typed."""

    upsample: list[tuple[CausalTransposedConv1d, ConvNeXtBlock]]
    first_conv: CausalConv1d
    blocks: list[UpsampleBlock]
    last_act: SnakeBeta
    last_conv: CausalConv1d
