"""A matrix product whose weight was laid out once in the order that the kernel reads it."""

from __future__ import annotations

import functools
import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from decoder.streaming.kernels.team import Alone, together

_LARGE = 2**17
"""Weights that are no longer in a near cache when they are needed again."""
_UNCACHED = 8
"""Weights of 6 MB that are in no cache, either."""
_TRIALS = 10
_TRIALS_S = 0.1
"""No further trial begins after so long: what is slow needs no better measurement."""
_HALF_MIN = 1e-2
_HALF_MAX = 2.0**15
"""A weight whose largest entry is not between these is scaled before it becomes float16."""


class PackedLinear:
    """``x @ weight.T + bias``, float32 in and out, from a weight kept in one of three ways.

    ``float32``
        oneDNN's packed form where torch has it (x86 and some Arm builds), else torch's own product.
        Measured against ``F.linear`` (AVX-512, one thread, 768 -> 768): 8 rows 0.14 ms, not 0.23; 96 rows
        1.04, not 1.25. Packed without a number of rows in mind it is as fast for any number, on some
        machines except for one: there the weight was read at 6 GB/s, a plain ``[in, out]`` matrix at 17 (on
        Zen 5: 32 and 24), so ``single_rows`` keeps that, too, where it is faster.
    ``float16``
        The weight only; it is multiplied in float32 (FBGEMM). For layers whose cost is reading the weight:
        512 -> 2048, 1 row 0.09 ms against 0.24 (plain) and 0.36 (packed); 4 rows 0.13 against 0.30; with 48
        rows no gain. 74 dB.
    ``bfloat16``
        Weight and input; sums in float32. About twice as fast where there are many rows and the CPU has the
        instructions, many times slower where it has not. 52 dB.
    """

    def __init__(
        self,
        weight: Tensor,
        bias: Tensor | None = None,
        *,
        dtype: torch.dtype = torch.float32,
        gelu: bool = False,
        single_rows: bool = False,
    ) -> None:
        """Take ``weight`` ``[out, in]`` and ``bias`` ``[out]``, and keep neither.

        Args:
            weight: float32.
            bias: float32.
            dtype: of the kept weight. What this machine cannot do becomes float32.
            gelu: apply it to the result.
            single_rows: calls with one row are what matters: where it pays, a float32 weight is kept twice.

        """
        self.out_features, self.in_features = weight.shape
        self._gelu = gelu
        weight = weight.detach()
        if (dtype == torch.float16 and not half_works()) or (
            dtype == torch.bfloat16 and not packing_works(dtype)
        ):
            dtype = torch.float32
        self.dtype = dtype
        self._scale = 1.0
        self._plain: Tensor | None = None
        if dtype == torch.float16:
            largest = float(weight.abs().max())
            if largest > 0 and math.isfinite(largest) and not _HALF_MIN <= largest <= _HALF_MAX:
                self._scale = 2.0 ** -math.floor(math.log2(largest))
            self._bias = None if bias is None else bias.detach() * self._scale
            self._weight = _pack_half(weight * self._scale, self._bias)
            return
        self._bias = None if bias is None else bias.detach().to(dtype, copy=True)
        self._packed = packing_works(dtype)
        twice = single_rows and self._packed and dtype == torch.float32
        if twice and (weight.numel() < _LARGE or plain_is_faster()):
            self._plain = weight.T.contiguous()
        weight = weight.to(dtype)
        self._weight = (
            torch.ops.mkldnn._reorder_linear_weight(weight, None) if self._packed else weight.clone()
        )

    def __call__(self, x: Tensor) -> Tensor:
        """``[rows, in]`` -> ``[rows, out]``, float32, memory of its own."""
        with together(len(x), self.in_features * self.out_features):
            return self._multiply(x)

    def _multiply(self, x: Tensor) -> Tensor:
        y: Tensor
        if self.dtype == torch.float16:
            y = torch.ops.quantized.linear_dynamic_fp16(x, self._weight)
            if self._scale != 1.0:
                y.mul_(1.0 / self._scale)
        elif self._plain is not None and len(x) == 1:
            y = torch.mm(x, self._plain)
            y = y if self._bias is None else y.add_(self._bias)
        elif self._packed:
            kind, how = ("gelu", "none") if self._gelu else ("none", "")
            if self.dtype != torch.float32:
                x = x.to(self.dtype)
            y = torch.ops.mkldnn._linear_pointwise(x, self._weight, self._bias, kind, [], how)
            return y if self.dtype == torch.float32 else y.float()
        else:
            y = F.linear(x, self._weight, self._bias)
        return F.gelu(y) if self._gelu else y


def _pack_half(weight: Tensor, bias: Tensor | None) -> Any:
    """Return what ``linear_dynamic_fp16`` takes."""
    with warnings.catch_warnings():
        # torch announces that these operators will move to another package some day; half_works() will tell.
        warnings.simplefilter("ignore")
        return torch.ops.quantized.linear_prepack_fp16(weight.contiguous(), bias)


@functools.cache
def packing_works(dtype: torch.dtype) -> bool:
    """Whether this torch has oneDNN's packed product for ``dtype`` and multiplies rightly: it is tried.

    The two operators are torch's own for compiled models, and not promised to others.
    """
    weight, x, wanted = _trial()
    try:
        packed = torch.ops.mkldnn._reorder_linear_weight(weight.to(dtype), None)
        y: Tensor = torch.ops.mkldnn._linear_pointwise(x.to(dtype), packed, None, "none", [], "")
    except (AttributeError, RuntimeError, TypeError):
        return False
    return _close(y, wanted)


@functools.cache
def half_works() -> bool:
    """Whether this torch multiplies float16 weights with float32 inputs (FBGEMM: x86)."""
    weight, x, wanted = _trial()
    try:
        return _close(torch.ops.quantized.linear_dynamic_fp16(x, _pack_half(weight, None)), wanted)
    except (AttributeError, RuntimeError, TypeError):
        return False


@functools.cache
def plain_is_faster() -> bool:
    """Whether one row times a plain matrix clearly beats the packed product here, once a process (60 ms).

    Of weights that no cache holds, as in a step: on Zen 5 the plain one wins out of the cache and loses
    out of the memory.
    """
    weight, x = torch.full((3072, 512), 0.1), torch.full((1, 512), 0.1)
    packed = [PackedLinear(weight) for _ in range(_UNCACHED)]
    plain = [weight.T.contiguous() for _ in range(_UNCACHED)]
    with Alone(), torch.inference_mode():
        plain_s = _best_s(lambda: [torch.mm(x, one) for one in plain])
        return plain_s < 0.9 * _best_s(lambda: [one(x) for one in packed])


@functools.cache
def packed_is_faster() -> bool:
    """Whether a packed product for each of some matrices beats one batched call here, once a process (5 ms).

    Measured (12 matrices, 107 rows, 192 -> 192, one thread): AMD Zen 5 0.58 ms packed, joined again, against
    0.97; MKL multiplies at less than half of the peak there. On other machines they were alike.
    """
    if not packing_works(torch.float32):
        return False
    weights, x = torch.full((12, 192, 192), 0.1), torch.full((12, 96, 192), 0.1)
    products = [PackedLinear(weight) for weight in weights]
    out = torch.empty_like(x)

    def packed() -> None:
        torch.stack([product(part) for product, part in zip(products, x, strict=True)], out=out)

    with Alone(), torch.inference_mode():
        return _best_s(packed) < _best_s(lambda: torch.bmm(x, weights, out=out))


@functools.cache
def bfloat16_is_faster() -> bool:
    """Whether products in bfloat16 take clearly less time here than in float32, once a process (10 ms)."""
    if not (packing_works(torch.bfloat16) and packing_works(torch.float32)):
        return False
    weight, x = torch.full((512, 512), 0.1), torch.full((256, 512), 0.1)

    def best(dtype: torch.dtype) -> float:
        product = PackedLinear(weight, dtype=dtype)
        return _best_s(lambda: product(x))

    # The inner one keeps large products from waking other threads, whose waking would be what is measured.
    with Alone(), Alone(), torch.inference_mode():
        return best(torch.bfloat16) < 0.75 * best(torch.float32)


def _best_s(run: Callable[[], object]) -> float:
    """Return the seconds of the fastest of a few runs."""
    seconds: list[float] = []
    while len(seconds) < _TRIALS and sum(seconds) < _TRIALS_S:
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _trial() -> tuple[Tensor, Tensor, Tensor]:
    random = torch.Generator().manual_seed(0)
    weight, x = torch.randn(32, 48, generator=random), torch.randn(5, 48, generator=random)
    return weight, x, x @ weight.T


def _close(y: Tensor, wanted: Tensor) -> bool:
    return torch.allclose(y.float(), wanted, rtol=2e-2, atol=0.1)
