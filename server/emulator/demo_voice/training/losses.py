"""How far one sound is from another: spectra at several resolutions, and phases where a voice is periodic."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from server.emulator.demo_voice.analysis import SAMPLE_RATE_HZ, mel_filters

_FLOOR = 2e-4
"""Added to amplitudes before a logarithm: -74 dB of full scale, about the noise of the voice."""


class SpectralLoss(nn.Module):
    """Distances over four window lengths, hop a quarter.

    Per window: L1 of log mel + 0.5 × L1 of log magnitude + 0.3 × spectral convergence. And 0.6 × looseness:
    one minus the coherence of the complex spectra below 1.2 kHz, 0 in phase and 1 unrelated. Unlike a
    difference of waveforms it is deaf to loudness, so a phase that cannot be known does not make the voice
    quieter.
    """

    WINDOWS = ((256, 32), (512, 64), (1024, 80), (2048, 128))

    PHASED_WINDOWS = (512, 1024)
    PHASED_BELOW_HZ = 1200.0
    LOOSENESS = 0.6

    def __init__(self) -> None:
        super().__init__()
        for length, bands in self.WINDOWS:
            self.register_buffer(f"window{length}", torch.hann_window(length))
            self.register_buffer(
                f"filters{length}", torch.from_numpy(mel_filters(bands, length, SAMPLE_RATE_HZ))
            )

    def _spectrum(self, pcm: Tensor, length: int) -> Tensor:
        window = self.get_buffer(f"window{length}")
        spectrum = torch.stft(pcm, length, length // 4, window=window, center=False, return_complex=True)
        return spectrum.transpose(1, 2) / (length / 4)  # a sine of amplitude 1 reads 1

    def forward(self, made: Tensor, wanted: Tensor) -> tuple[Tensor, dict[str, float]]:
        """Return the loss of ``made`` against ``wanted``, both ``[B, samples]``, and its parts."""
        total = made.new_zeros(())
        parts = {"mel": 0.0, "magnitude": 0.0, "convergence": 0.0}
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
            parts["convergence"] += convergence.item() / len(self.WINDOWS)
        looseness = self._looseness(made, wanted)
        parts["looseness"] = looseness.item()
        return total / len(self.WINDOWS) + self.LOOSENESS * looseness, parts

    def _looseness(self, made: Tensor, wanted: Tensor) -> Tensor:
        looseness = made.new_zeros(())
        for length in self.PHASED_WINDOWS:
            bins = slice(2, int(self.PHASED_BELOW_HZ / SAMPLE_RATE_HZ * length))
            ours, theirs = (
                torch.view_as_real(self._spectrum(pcm, length)[..., bins]) for pcm in (made, wanted)
            )
            our_size, their_size = (part.square().sum(-1).add(1e-10).sqrt() for part in (ours, theirs))
            # Square roots of the magnitudes as weights: weak partials count too.
            together = (ours * theirs).sum(-1) / (our_size * their_size).sqrt()
            alone = (our_size * their_size).sqrt().sum().clamp_min(1e-3)
            looseness = looseness + (1.0 - together.sum() / alone) / len(self.PHASED_WINDOWS)
        return looseness
