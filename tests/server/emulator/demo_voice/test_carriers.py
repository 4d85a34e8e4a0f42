"""The planted fundamental: it arrives at every rate in phase, and training leaves it alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from server.emulator.demo_voice.training.carriers import hold, plant
from server.emulator.demo_voice.training.model import decode, new_decoder, padded

FRAMES = 12


@pytest.fixture(scope="module")
def basis() -> np.ndarray:
    """24 orthogonal rows that span sines from 70 to 190 Hz seen at 16 instants."""
    at_s = (np.arange(16) + 0.5) * 0.005
    rng = np.random.default_rng(1)
    sines = np.exp(
        1j * (rng.uniform(0, 2 * np.pi, (4000, 1)) + 2 * np.pi * rng.uniform(70, 190, (4000, 1)) * at_s)
    )
    rows = np.stack([sines.real, sines.imag], axis=-1).reshape(4000, 32)
    return np.linalg.svd(rows, full_matrices=False)[2][:24].astype(np.float32)


def latents_of(pitch_hz: float, basis: np.ndarray) -> torch.Tensor:
    phase = 2 * np.pi * pitch_hz * (np.arange(FRAMES * 16) + 0.5) * 0.005
    points = np.stack([np.cos(phase), np.sin(phase)], axis=-1).reshape(FRAMES, 32).astype(np.float32)
    mel = np.random.default_rng(2).normal(0.0, 1.0, (FRAMES, 72)).astype(np.float32)
    return torch.from_numpy(np.concatenate([points @ basis.T, mel], axis=1)).T[None]


@pytest.mark.parametrize("pitch_hz", [85.0, 110.0, 150.0])
def test_the_sine_arrives_at_every_rate_in_phase(basis, pitch_hz):
    torch.manual_seed(1)
    decoder = new_decoder()
    latents = latents_of(pitch_hz, basis)
    plant(decoder, basis, padded(latents))
    seen = {}
    for number, rate_hz in ((1, 400), (2, 2000), (3, 8000), (4, 24_000)):
        decoder.decoder[number].register_forward_hook(
            lambda _module, _inputs, output, rate_hz=rate_hz: seen.update(
                {rate_hz: output[0, -2:].detach().numpy()}
            )
        )
    decode(decoder, latents)
    for rate_hz, (cosine, sine) in seen.items():
        wanted = 2 * np.pi * pitch_hz * (np.arange(cosine.size) + 0.5) / rate_hz
        error = np.angle((cosine + 1j * sine) * np.exp(-1j * wanted))[cosine.size // 4 :]
        assert np.median(np.abs(error)) < 0.1
        assert 0.4 < np.median(np.hypot(cosine, sine)) < 2.5


def test_training_changes_everything_but_the_carriers(basis):
    torch.manual_seed(1)
    decoder = new_decoder()
    latents = latents_of(100.0, basis)
    plant(decoder, basis, padded(latents))
    hold(decoder)
    before = {name: value.clone() for name, value in decoder.named_parameters()}
    optimiser = torch.optim.AdamW(
        [p for p in decoder.parameters() if p.requires_grad], lr=1e-3, weight_decay=0.0
    )
    decode(decoder, latents).square().mean().backward()
    optimiser.step()
    after = dict(decoder.named_parameters())
    assert torch.equal(after["pre_conv.conv.weight"][192:], before["pre_conv.conv.weight"][192:])
    assert torch.equal(
        after["decoder.4.block.1.conv.weight"][:, 14:], before["decoder.4.block.1.conv.weight"][:, 14:]
    )
    assert not torch.equal(after["decoder.4.block.1.conv.weight"], before["decoder.4.block.1.conv.weight"])
    assert not torch.equal(after["pre_conv.conv.weight"], before["pre_conv.conv.weight"])
