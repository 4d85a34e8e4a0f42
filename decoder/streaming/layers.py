"""Causal convolutions and the Snake activation: whole signals, and steps with carried state.

Tensors are ``[B, C, T]``. ``forward`` takes a whole signal and can be differentiated; ``step``
takes the next piece of it with a state that the caller owns, and the pieces' results laid end to
end equal the whole result. Steps are for inference: they change buffers and states in place.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from decoder.streaming.folding import FoldingModule

_PRODUCT_MAX_COLUMNS = 128
"""Up to this many output columns a convolution is a product with gathered columns, above a real one.

Measured (AVX-512, one thread, float32): 1024 -> 1536 channels, kernel 7, 4 columns 14 ms against 37,
48 columns 14 against 37; 768 -> 768 equal at 128 columns; beyond, gathering costs more than it saves.
"""


@dataclass
class CausalConvState:
    """The inputs that the next output still needs."""

    previous: Tensor
    """``[B, C_in, (kernel - 1) * dilation]``, zeros before the first step."""


class CausalConv1d(nn.Module):
    """A convolution that sees the present and the past only; the past before the start is zero."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel: int, *, dilation: int = 1, groups: int = 1
    ) -> None:
        super().__init__()
        self.conv = nn.Conv1d(in_channels, out_channels, kernel, dilation=dilation, groups=groups)
        self.kernel = kernel
        self.dilation = dilation
        self.context = (kernel - 1) * dilation
        """Past columns that an output depends on."""
        self.depthwise = groups == in_channels == out_channels and groups > 1

    def forward(self, x: Tensor) -> Tensor:
        """``[B, C_in, T]`` -> ``[B, C_out, T]``, the whole signal."""
        return F.conv1d(
            F.pad(x, (self.context, 0)),
            self.conv.weight,
            self.conv.bias,
            dilation=self.dilation,
            groups=self.conv.groups,
        )

    def new_state(self, batch: int) -> CausalConvState:
        """Return the state before the first column."""
        weight = self.conv.weight
        return CausalConvState(weight.new_zeros(batch, self.conv.in_channels, self.context))

    def step(self, x: Tensor, state: CausalConvState) -> Tensor:
        """Take the next ``[B, C_in, T]``, return the next ``[B, C_out, T]``."""
        buffer, fresh = self.open_buffer(x, state)
        fresh.copy_(x)
        return self.step_buffer(buffer, state)

    def open_buffer(self, like: Tensor, state: CausalConvState) -> tuple[Tensor, Tensor]:
        """Make room for a step: ``(buffer, fresh)``, where ``fresh`` is the view to write the new columns to.

        For a caller whose last operation can write there directly and so save a copy.
        ``like`` is any tensor with as many new columns.
        """
        batch, channels, _ = state.previous.shape
        buffer = state.previous.new_empty(batch, channels, self.context + like.shape[-1])
        buffer[..., : self.context] = state.previous
        return buffer, buffer[..., self.context :]

    def step_buffer(self, buffer: Tensor, state: CausalConvState) -> Tensor:
        """Convolve a filled buffer of ``open_buffer``, and carry its last columns in ``state``."""
        # A clone: a view would keep the whole buffer alive between steps.
        state.previous = buffer[..., buffer.shape[-1] - self.context :].clone()
        columns = buffer.shape[-1] - self.context
        if self.depthwise:
            return self._by_taps(buffer, columns)
        if columns <= _PRODUCT_MAX_COLUMNS:
            return self._by_product(buffer, columns)
        return F.conv1d(buffer, self.conv.weight, self.conv.bias, dilation=self.dilation)

    def _by_taps(self, buffer: Tensor, columns: int) -> Tensor:
        """Depthwise: one multiply-add of the shifted buffer per tap (3-10 times faster than ``conv1d``)."""
        taps = self.conv.weight[:, 0]
        out = buffer[..., :columns] * taps[:, :1]
        for tap in range(1, self.kernel):
            start = tap * self.dilation
            out.addcmul_(buffer[..., start : start + columns], taps[:, tap : tap + 1])
        return _add_bias(out, self.conv.bias)

    def _by_product(self, buffer: Tensor, columns: int) -> Tensor:
        """Few columns: gather each one's inputs and multiply once, without repacking the weight."""
        batch, channels, _ = buffer.shape
        gathered = buffer.as_strided(
            (batch, channels, self.kernel, columns),
            (buffer.stride(0), buffer.stride(1), self.dilation, 1),
        ).reshape(batch, channels * self.kernel, columns)
        return _add_bias(torch.matmul(self.conv.weight.flatten(1), gathered), self.conv.bias)


@dataclass
class TransposedConvState:
    """The part of the next outputs that past inputs have already contributed."""

    partial: Tensor
    """``[B, C_out, kernel - stride]``, without bias, zeros before the first step."""


class CausalTransposedConv1d(nn.Module):
    """Upsampling by ``stride``: every input adds a kernel's worth of output, from its own place on."""

    def __init__(self, in_channels: int, out_channels: int, kernel: int, stride: int) -> None:
        super().__init__()
        if not stride <= kernel <= 2 * stride:
            raise ValueError(f"kernel {kernel} must be between stride {stride} and twice that")
        self.conv = nn.ConvTranspose1d(in_channels, out_channels, kernel, stride=stride)
        self.kernel = kernel
        self.stride = stride
        self.overlap = kernel - stride
        """Outputs of an input that reach past the next input's start."""

    def forward(self, x: Tensor) -> Tensor:
        """``[B, C_in, T]`` -> ``[B, C_out, T * stride]``, the whole signal."""
        y = F.conv_transpose1d(x, self.conv.weight, self.conv.bias, stride=self.stride)
        return y[..., : x.shape[-1] * self.stride]

    def new_state(self, batch: int) -> TransposedConvState:
        """Return the state before the first column."""
        return TransposedConvState(self.conv.weight.new_zeros(batch, self.conv.out_channels, self.overlap))

    def step(self, x: Tensor, state: TransposedConvState) -> Tensor:
        """Take the next ``[B, C_in, T]``, return the next ``[B, C_out, T * stride]``.

        A matrix product and an overlap-add: ``conv_transpose1d`` takes a path ten times slower for
        few columns (1536 -> 768, stride 8, 4 columns: 108 ms against 10). The official weight
        ``[C_in, C_out, kernel]`` already is the matrix.
        """
        batch, _, columns = x.shape
        channels = self.conv.out_channels
        products = torch.matmul(x.transpose(1, 2), self.conv.weight.flatten(1))
        products = products.view(batch, columns, channels, self.kernel).transpose(1, 2)
        heads, tails = products[..., : self.stride], products[..., self.stride :]
        y = _empty(x, batch, channels, columns, self.stride)
        if self.conv.bias is None:
            y.copy_(heads)
        else:
            torch.add(heads, self.conv.bias[:, None, None], out=y)
        if self.overlap:
            y[:, :, 1:, : self.overlap] += tails[:, :, :-1]
            y[:, :, 0, : self.overlap] += state.partial
            state.partial = tails[:, :, -1].clone()
        return y.view(batch, channels, columns * self.stride)


class SnakeBeta(FoldingModule):
    """``x + sin(exp(alpha) x)^2 / exp(beta)``, a pair of parameters per channel (arXiv:2006.08195)."""

    _EPSILON = 1e-9  # the official code's guard of the division

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.zeros(channels))
        self.beta = nn.Parameter(torch.zeros(channels))
        self._folded: tuple[Tensor, Tensor] | None = None

    def forward(self, x: Tensor) -> Tensor:
        """``[B, C, T]`` -> ``[B, C, T]``."""
        frequency, magnitude = self.exponentiated()
        return torch.addcmul(x, magnitude, torch.sin(x * frequency).square())

    def fold(self) -> None:
        """Exponentiate once."""
        frequency, magnitude = self.exponentiated()
        self._folded = frequency.detach(), magnitude.detach()

    def unfold(self) -> None:
        """Forget the exponentiated values."""
        self._folded = None

    def step_into(self, x: Tensor, out: Tensor) -> Tensor:
        """Write the activation of ``x`` to ``out``, another tensor of the same shape, and return it."""
        frequency, magnitude = self._folded or self.exponentiated()
        torch.mul(x, frequency, out=out)
        out.sin_()
        out.mul_(out)
        return torch.addcmul(x, out, magnitude, out=out)

    def exponentiated(self) -> tuple[Tensor, Tensor]:
        """Return the factor inside the sine and that of its square, ``[C, 1]`` each."""
        frequency = torch.exp(self.alpha)[:, None]
        magnitude = 1.0 / (torch.exp(self.beta) + self._EPSILON)[:, None]
        return frequency, magnitude


def _add_bias(y: Tensor, bias: Tensor | None) -> Tensor:
    """Add ``[C]`` to ``[B, C, T]`` in place."""
    return y if bias is None else y.add_(bias[:, None])


def _empty(like: Tensor, *shape: int) -> Tensor:
    """Uninitialised memory of the device and type of ``like``."""
    return torch.empty(shape, dtype=like.dtype, device=like.device)
