"""How far one sound is from another: spectra at several resolutions, and the waveform itself where it is voiced."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from server.emulator.demo_voice.analysis import SAMPLE_RATE_HZ, mel_filters

_FLOOR = 2e-4
"""Added to amplitudes before a logarithm: -74 dB of full scale, about the noise of the voice."""


class SpectralLoss(nn.Module):
    """Mel, magnitude and complex distances over four window lengths, hop a quarter.

    Per window: L1 of log mel + 0.5 × L1 of log magnitude + 0.3 × spectral convergence, and for the two middle
    windows ``waveform`` × the relative L1 of complex spectra below 3 kHz, where the excitation fixes the phase.
    """

    WINDOWS = ((256, 32), (512, 64), (1024, 80), (2048, 128))
    PHASED_WINDOWS = (512, 1024)
    PHASED_BELOW_HZ = 3000.0

    def __init__(self, *, waveform: float) -> None:
        super().__init__()
        self.waveform = waveform
        for length, bands in self.WINDOWS:
            self.register_buffer(f"window{length}", torch.hann_window(length))
            self.register_buffer(f"filters{length}", torch.from_numpy(mel_filters(bands, length, SAMPLE_RATE_HZ)))

    def _spectrum(self, pcm: Tensor, length: int) -> Tensor:
        window = self.get_buffer(f"window{length}")
        spectrum = torch.stft(pcm, length, length // 4, window=window, center=False, return_complex=True)
        return spectrum.transpose(1, 2) / (length / 4)  # a sine of amplitude 1 reads 1

    def forward(self, made: Tensor, wanted: Tensor) -> tuple[Tensor, dict[str, float]]:
        """Return the loss of ``made`` against ``wanted``, both ``[B, samples]``, and its parts for the log."""
        total = made.new_zeros(())
        parts = {"mel": 0.0, "magnitude": 0.0, "waveform": 0.0}
        for length, _ in self.WINDOWS:
            filters = self.get_buffer(f"filters{length}")
            made_spectrum = self._spectrum(made, length)
            with torch.no_grad():
                wanted_spectrum = self._spectrum(wanted, length)
                wanted_size = wanted_spectrum.abs()
                wanted_mel = (wanted_size @ filters + _FLOOR).log()
            made_size = torch.view_as_real(made_spectrum).square().sum(-1).add(1e-12).sqrt()
            mel = ((made_size @ filters + _FLOOR).log() - wanted_mel).abs().mean()
            magnitude = ((made_size + _FLOOR).log() - (wanted_size + _FLOOR).log()).abs().mean()
            convergence = (made_size - wanted_size).norm() / wanted_size.norm().clamp_min(1e-3)
            total = total + mel + 0.5 * magnitude + 0.3 * convergence
            parts["mel"] += mel.item() / len(self.WINDOWS)
            parts["magnitude"] += magnitude.item() / len(self.WINDOWS)
            if self.waveform and length in self.PHASED_WINDOWS:
                bins = int(self.PHASED_BELOW_HZ / SAMPLE_RATE_HZ * length)
                difference = torch.view_as_real(made_spectrum[..., 1:bins] - wanted_spectrum[..., 1:bins])
                distance = difference.square().sum(-1).add(1e-12).sqrt().sum()
                phased = distance / wanted_size[..., 1:bins].sum().clamp_min(1e-1)
                total = total + self.waveform * len(self.WINDOWS) / len(self.PHASED_WINDOWS) * phased
                parts["waveform"] += phased.item() / len(self.PHASED_WINDOWS)
        return total / len(self.WINDOWS), parts
