"""Plant the fundamental in a decoder before it is trained.

The excitation of a frame is a sine at the pitch, sampled every 5 ms. A small decoder that is merely trained
does not find the way from there to a periodic sound: in the time there is it learns to whisper. So a few
channels of every layer are set by calculation to hand that sine on, from the latents to the cosine and sine
at 400, 2,000, 8,000 and 24,000 Hz, and are kept as they are; all other channels see them and learn. What is
used is the architecture as it is: identity rows, interpolation as transposed convolution, residual units that
add nothing to these channels.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from decoder.streaming.config import CodecConfig
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from server.emulator.demo_voice.excitation import INSTANTS_PER_FRAME
from server.emulator.demo_voice.training.latents import EXCITATION_WIDTH

Index = tuple[slice, ...]

_QUIET = 0.1
"""Level of the excitation up to 50 Hz: so small that the norms it shares with the rest hardly notice it."""

_HALF = INSTANTS_PER_FRAME // 2
_SLOTS = 2 * _HALF
"""Cosine and sine of the 8 instants in half a frame, then of the 8 samples at 400 Hz in a quarter."""

_LINEAR_ALPHA = -3.0
"""With alpha e^-3 a Snake of these channels is a straight line."""

_HARMONIC_ALPHAS = (0.7, 1.5, 3.0)
"""Per residual unit: how strongly the Snake that the others see these channels through bends them."""


def plant(decoder: Qwen3TTSTokenizerV2Decoder, basis: npt.NDArray[np.float32], sample: Tensor) -> None:
    """Set the carrier channels of ``decoder``, whose latents begin with the excitation.

    ``basis`` ``[24, 32]`` projects the excitation to latents. ``sample`` ``[B, codebook_dim, T]`` are
    latents, with which the level before the transformer's last norm is measured.
    """
    config = decoder.config
    latent = torch.arange(config.latent_dim - EXCITATION_WIDTH, config.latent_dim)
    hidden = torch.arange(config.hidden_size - EXCITATION_WIDTH, config.hidden_size)
    with torch.no_grad():
        for parameter, index in _paths(decoder):
            parameter[index] = 0.0
        decoder.get_parameter("pre_conv.conv.weight")[latent, torch.arange(EXCITATION_WIDTH), 2] = _QUIET
        transformer = decoder.pre_transformer
        transformer.input_proj.weight[hidden, latent] = 1.0
        transformer.output_proj.weight[latent, hidden] = 1.0
        transformer.norm.weight[hidden] = _level(decoder, sample)
        _plant_quarters(decoder, int(latent[0]), np.linalg.pinv(basis.astype(np.float64)))
        _plant_blocks(decoder)


def hold(decoder: Qwen3TTSTokenizerV2Decoder) -> None:
    """Keep training away from the carriers: their gradients become 0 (train without weight decay)."""
    for parameter, index in _paths(decoder):
        mask = torch.ones_like(parameter)
        mask[index] = 0.0
        parameter.register_hook(mask.mul)  # type: ignore[no-untyped-call]


def _paths(decoder: Qwen3TTSTokenizerV2Decoder) -> Iterator[tuple[nn.Parameter, Index]]:
    """Yield what writes to the carrier channels: parameters, each with the part that does."""
    config = decoder.config
    latent = slice(config.latent_dim - EXCITATION_WIDTH, None)
    hidden = slice(config.hidden_size - EXCITATION_WIDTH, None)
    for name, parameter in decoder.named_parameters():
        part, _, rest = name.partition(".")
        if part == "pre_conv":
            yield parameter, (latent,)
        elif part == "pre_transformer":
            if rest.startswith("output_proj"):
                yield parameter, (latent,)
            elif rest.startswith(("input_proj", "norm")) or rest.endswith(
                ("o_proj.weight", "down_proj.weight")
            ):
                yield parameter, (hidden,)
        elif part == "upsample":
            if ".1.pwconv2." in name:
                yield parameter, (latent,)
            elif rest[2:].startswith("0.conv."):
                yield parameter, (slice(None), latent) if name.endswith("weight") else (latent,)
        elif part == "decoder":
            yield from _paths_of_block(config, rest, parameter)


def _paths_of_block(
    config: CodecConfig, name: str, parameter: nn.Parameter
) -> Iterator[tuple[nn.Parameter, Index]]:
    number = int(name.partition(".")[0])
    if number == 0:
        yield parameter, (slice(config.decoder_dim - _SLOTS, None),)
    elif number <= len(config.upsample_rates):
        inputs, outputs = config.decoder_dim >> (number - 1), config.decoder_dim >> number
        taken, made = slice(inputs - (_SLOTS if number == 1 else 2), None), slice(outputs - 2, None)
        if ".block.0." in name:
            yield parameter, (taken,)
        elif ".block.1." in name:
            yield parameter, (slice(None), made) if name.endswith("weight") else (made,)
        elif ".conv2." in name:
            yield parameter, (made,)


def _level(decoder: Qwen3TTSTokenizerV2Decoder, sample: Tensor) -> float:
    """Return the median root mean square of what enters the transformer's last norm."""
    seen: list[Tensor] = []
    hook = decoder.pre_transformer.norm.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    decoder.decode_latents(sample)
    hook.remove()
    return float(seen[0].square().mean(dim=-1).sqrt().median())


def _plant_quarters(
    decoder: Qwen3TTSTokenizerV2Decoder, start: int, inverse: npt.NDArray[np.float64]
) -> None:
    """Frames to halves: unfold the instants. Halves to quarters: interpolate them to 400 Hz."""
    instants = torch.from_numpy(inverse.astype(np.float32)).reshape(2, _SLOTS, EXCITATION_WIDTH)
    slots = slice(start, start + _SLOTS)
    halving, quartering = (decoder.get_parameter(f"upsample.{stage}.0.conv.weight") for stage in (0, 1))
    at_s = (np.arange(_HALF) + 0.5) * 0.005
    for side in range(2):
        halving[start : start + EXCITATION_WIDTH, slots, side] = instants[side].T
        wanted_s = (np.arange(_HALF) + 0.5) * 0.0025 + 0.02 * side
        quartering[slots, slots, side] = _fitted(_parts(_sines(at_s)), _parts(_sines(wanted_s)))


def _plant_blocks(decoder: Qwen3TTSTokenizerV2Decoder) -> None:
    """50 Hz to 400 Hz: put the samples in a row. Then up by 5, 4, 3: turn and mix the last two samples."""
    config = decoder.config
    start = config.latent_dim - EXCITATION_WIDTH
    slots = torch.arange(config.decoder_dim - _SLOTS, config.decoder_dim)
    decoder.get_parameter("decoder.0.conv.weight")[slots, torch.arange(start, start + _SLOTS), 6] = 1 / _QUIET
    period_s = 0.0025
    for number, rate in enumerate(config.upsample_rates, start=1):
        block = f"decoder.{number}.block"
        inputs, outputs = config.decoder_dim >> (number - 1), config.decoder_dim >> number
        decoder.get_parameter(f"{block}.0.alpha")[inputs - (_SLOTS if number == 1 else 2) :] = _LINEAR_ALPHA
        weight = decoder.get_parameter(f"{block}.1.conv.weight")
        if number == 1:
            weight[slots[0::2], outputs - 2, torch.arange(rate)] = 1.0
            weight[slots[1::2], outputs - 1, torch.arange(rate)] = 1.0
        else:
            _plant_turns(weight, inputs, outputs, rate, period_s)
            period_s /= rate
        for unit, alpha in enumerate(_HARMONIC_ALPHAS, start=2):
            decoder.get_parameter(f"{block}.{unit}.act1.alpha")[outputs - 2 :] = float(np.log(alpha))


def _plant_turns(weight: Tensor, inputs: int, outputs: int, rate: int, period_s: float) -> None:
    """Interpolate the last two channels, a turning pointer: from its present and previous place."""
    given = _sines(np.array([0.5, -0.5]) * period_s)
    for place in range(rate):
        wanted = _sines(np.array([(place + 0.5) / rate]) * period_s)[:, 0]
        turns = np.linalg.lstsq(given, wanted, rcond=None)[0]
        for tap, turn in zip((place, place + rate), turns, strict=True):
            square = torch.tensor([[turn.real, turn.imag], [-turn.imag, turn.real]])
            weight[inputs - 2 :, outputs - 2 :, tap] = square


def _sines(at_s: npt.NDArray[np.floating]) -> npt.NDArray[np.complex128]:
    """Return many gliding sines at the pitch of a low voice, ``[sines, instants]``; always the same ones."""
    rng = np.random.default_rng(0)
    count = 20_000
    pitch_hz = np.where(rng.random(count) < 0.75, rng.uniform(75, 130, count), rng.uniform(70, 190, count))
    glide, phase = rng.normal(0, 150, count), rng.uniform(0, 2 * np.pi, count)
    turns: npt.NDArray[np.float64] = pitch_hz[:, None] * at_s + 0.5 * glide[:, None] * at_s**2
    pointers: npt.NDArray[np.complex128] = np.exp(1j * (phase[:, None] + 2 * np.pi * turns))
    return pointers


def _parts(values: npt.NDArray[np.complex128]) -> npt.NDArray[np.float64]:
    return np.stack([values.real, values.imag], axis=-1).reshape(len(values), -1)


def _fitted(given: npt.NDArray[np.float64], wanted: npt.NDArray[np.float64]) -> Tensor:
    """Return the least-squares map from one to the other, held small where it is badly determined."""
    square = given.T @ given + 1e-3 * len(given) * np.eye(given.shape[1])
    return torch.from_numpy(np.linalg.solve(square, given.T @ wanted).astype(np.float32))
