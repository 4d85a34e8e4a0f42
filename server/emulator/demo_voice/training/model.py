"""The decoder as it is trained: official parameter names, whole utterances, gradients; no streaming state.

The quantiser is left out: training starts from latents ``[B, width, T]``, the sum of the sixteen codebook
vectors, and the first convolution takes them directly. ``export`` adds codebooks and output projections.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class Sizes:
    """The sizes of the demo decoder; names as in ``decoder_config``."""

    width: int = 120
    latent_dim: int = 192
    decoder_dim: int = 256
    hidden_size: int = 128
    intermediate_size: int = 256
    num_attention_heads: int = 4
    head_dim: int = 32
    num_hidden_layers: int = 3
    sliding_window: int = 72
    upsample_rates: tuple[int, ...] = (8, 5, 4, 3)
    upsampling_ratios: tuple[int, ...] = (2, 2)


class _Snake(torch.autograd.Function):
    """x + sin²(αx)/β with only x kept for the way back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, alpha: Tensor, inverse_beta: Tensor) -> Tensor:
        ctx.save_for_backward(x, alpha, inverse_beta)
        return torch.addcmul(x, (x * alpha).sin_().square_(), inverse_beta)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, alpha, inverse_beta = ctx.saved_tensors
        (gradient,) = gradients
        angle = x * alpha
        double = (2.0 * angle).sin_()
        squared = angle.sin_().square_()
        to_inverse_beta = (gradient * squared).sum(dim=(0, 2), keepdim=True)
        weighted = double.mul_(gradient)
        to_alpha = (weighted * x).sum(dim=(0, 2), keepdim=True) * inverse_beta
        return torch.addcmul(gradient, weighted, alpha * inverse_beta), to_alpha, to_inverse_beta


class SnakeBeta(nn.Module):
    """x + sin²(e^α x) / e^β, per channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.zeros(channels))
        self.beta = nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        """``[B, C, T]`` to the same."""
        return _Snake.apply(x, self.alpha.exp()[:, None][None], (-self.beta).exp()[:, None][None])  # type: ignore[no-any-return, no-untyped-call]


class CausalConv(nn.Module):
    """A convolution that sees its own and earlier inputs only."""

    def __init__(self, inputs: int, outputs: int, kernel: int, *, dilation: int = 1, groups: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, kernel, dilation=dilation, groups=groups)
        self.padding = (kernel - 1) * dilation

    def forward(self, x: Tensor) -> Tensor:
        """``[B, inputs, T]`` to ``[B, outputs, T]``."""
        return self.conv(F.pad(x, (self.padding, 0)) if self.padding else x)  # type: ignore[no-any-return]


class CausalTransposedConv(nn.Module):
    """A transposed convolution by ``stride``, its tail cut; computed as a product and an overlap-add."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose1d(inputs, outputs, kernel, stride=stride)
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        """``[B, inputs, T]`` to ``[B, outputs, T × stride]``."""
        batch, _, steps = x.shape
        weight = self.conv.weight
        outputs, kernel = weight.shape[1], weight.shape[2]
        # [inputs, outputs, taps, stride] as a convolution over the present and the previous input
        taps = weight.reshape(weight.shape[0], outputs, kernel // self.stride, self.stride)
        kernel_as_conv = taps.flip(2).permute(1, 3, 0, 2).reshape(outputs * self.stride, weight.shape[0], -1)
        y = F.conv1d(F.pad(x, (kernel // self.stride - 1, 0)), kernel_as_conv)
        y = y.reshape(batch, outputs, self.stride, steps).transpose(2, 3).reshape(batch, outputs, -1)
        assert self.conv.bias is not None
        return y + self.conv.bias[:, None]


class ConvNeXtBlock(nn.Module):
    """Depthwise convolution, norm, two linear layers, scaled and added."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.dwconv = CausalConv(channels, channels, 7, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.pwconv1 = nn.Linear(channels, 4 * channels)
        self.pwconv2 = nn.Linear(4 * channels, channels)
        self.gamma = nn.Parameter(torch.full((channels,), 0.1))

    def forward(self, x: Tensor) -> Tensor:
        """``[B, C, T]`` to the same."""
        y = self.norm(self.dwconv(x).transpose(1, 2))
        y = self.gamma * self.pwconv2(F.gelu(self.pwconv1(y)))
        return x + y.transpose(1, 2)


class ResidualUnit(nn.Module):
    """Snake, dilated convolution, Snake, pointwise convolution, added."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.act1 = SnakeBeta(channels)
        self.conv1 = CausalConv(channels, channels, 7, dilation=dilation)
        self.act2 = SnakeBeta(channels)
        self.conv2 = CausalConv(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """``[B, C, T]`` to the same."""
        return x + self.conv2(self.act2(self.conv1(self.act1(x))))  # type: ignore[no-any-return]


class DecoderBlock(nn.Module):
    """Snake, transposed convolution, three residual units."""

    def __init__(self, inputs: int, outputs: int, rate: int) -> None:
        super().__init__()
        self.block = nn.ModuleList(
            [
                SnakeBeta(inputs),
                CausalTransposedConv(inputs, outputs, 2 * rate, rate),
                *(ResidualUnit(outputs, dilation) for dilation in (1, 3, 9)),
            ]
        )

    def forward(self, x: Tensor) -> Tensor:
        """``[B, inputs, T]`` to ``[B, outputs, T × rate]``."""
        for layer in self.block:
            x = layer(x)
        return x


class _Scale(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.full((channels,), 0.1))


class _Norm(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight, 1e-5)


class _Attention(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        inner = sizes.num_attention_heads * sizes.head_dim
        self.heads = sizes.num_attention_heads
        self.q_proj, self.k_proj, self.v_proj = (
            nn.Linear(sizes.hidden_size, inner, bias=False) for _ in range(3)
        )
        self.o_proj = nn.Linear(inner, sizes.hidden_size, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        q, k, v = (
            projection(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for projection in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = (y * cos + torch.cat([-y[..., y.shape[-1] // 2 :], y[..., : y.shape[-1] // 2]], -1) * sin for y in (q, k))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o_proj(y.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]


class _Mlp(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(sizes.hidden_size, sizes.intermediate_size, bias=False)
        self.up_proj = nn.Linear(sizes.hidden_size, sizes.intermediate_size, bias=False)
        self.down_proj = nn.Linear(sizes.intermediate_size, sizes.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))  # type: ignore[no-any-return]


class _Layer(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.self_attn = _Attention(sizes)
        self.mlp = _Mlp(sizes)
        self.input_layernorm = _Norm(sizes.hidden_size)
        self.post_attention_layernorm = _Norm(sizes.hidden_size)
        self.self_attn_layer_scale = _Scale(sizes.hidden_size)
        self.mlp_layer_scale = _Scale(sizes.hidden_size)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        x = x + self.self_attn_layer_scale.scale * self.self_attn(self.input_layernorm(x), cos, sin, mask)
        return x + self.mlp_layer_scale.scale * self.mlp(self.post_attention_layernorm(x))  # type: ignore[no-any-return]


class Transformer(nn.Module):
    """The transformer at frame rate, sliding causal attention with rotary positions."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.layers = nn.ModuleList(_Layer(sizes) for _ in range(sizes.num_hidden_layers))
        self.norm = _Norm(sizes.hidden_size)
        self.input_proj = nn.Linear(sizes.latent_dim, sizes.hidden_size)
        self.output_proj = nn.Linear(sizes.hidden_size, sizes.latent_dim)

    def forward(self, x: Tensor) -> Tensor:
        """``[B, T, latent_dim]`` to the same."""
        at = torch.arange(x.shape[1])
        distance = at[:, None] - at[None, :]
        mask = (distance >= 0) & (distance < self.sizes.sliding_window)
        rates = 10_000.0 ** (-torch.arange(0, self.sizes.head_dim, 2) / self.sizes.head_dim)
        angles = torch.cat([at[:, None] * rates] * 2, dim=-1)
        cos, sin = angles.cos(), angles.sin()
        x = self.input_proj(x)
        for layer in self.layers:
            x = layer(x, cos, sin, mask)
        return self.output_proj(self.norm(x))  # type: ignore[no-any-return]


class TrainingDecoder(nn.Module):
    """Latents ``[B, width, T]`` to PCM ``[B, T × 1920]``, not clamped."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        latent, channels = sizes.latent_dim, sizes.decoder_dim
        self.pre_conv = CausalConv(sizes.width, latent, 3)
        self.pre_transformer = Transformer(sizes)
        self.upsample = nn.ModuleList(
            nn.ModuleList([CausalTransposedConv(latent, latent, factor, factor), ConvNeXtBlock(latent)])
            for factor in sizes.upsampling_ratios
        )
        blocks: list[nn.Module] = [CausalConv(latent, channels, 7)]
        for index, rate in enumerate(sizes.upsample_rates):
            blocks.append(DecoderBlock(channels >> index, channels >> (index + 1), rate))
        last = channels >> len(sizes.upsample_rates)
        blocks += [SnakeBeta(last), CausalConv(last, 1, 7)]
        self.decoder = nn.ModuleList(blocks)

    def forward(self, latents: Tensor) -> Tensor:
        """See the class."""
        x = self.pre_conv(latents)
        # The official decoder has no way around the transformer, so neither has this one.
        x = self.pre_transformer(x.transpose(1, 2)).transpose(1, 2)
        for upsampling in self.upsample:
            assert isinstance(upsampling, nn.ModuleList)
            for layer in upsampling:
                x = layer(x)
        for block in self.decoder:
            x = block(x)
        return x[:, 0]


def parameter_count(module: nn.Module) -> int:
    """Return the number of trained values."""
    return sum(math.prod(parameter.shape) for parameter in module.parameters())
