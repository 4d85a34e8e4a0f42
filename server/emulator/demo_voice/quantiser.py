"""Latents to codes: a residual quantiser that keeps several guesses open, in numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from server.emulator.demo_voice.analysis import Floats, product

GUESSES = 4
"""How many partial sums are followed; 1 would be greedy. Four gain about 1 dB."""

_FRAMES_AT_ONCE = 256


class ResidualQuantiser:
    """Codebooks ``[16, size, width]`` whose chosen entries add up to a latent.

    Holds constants only, so threads may share it. Entry 0 of the first codebook is never chosen: the protocol
    reads a frame of sixteen zeros as a placeholder and drops it.
    """

    def __init__(self, codebooks: Floats) -> None:
        self._codebooks = codebooks
        self._norms = (codebooks**2).sum(axis=2)
        self._norms[0, 0] = np.inf

    def codes(self, latents: Floats) -> npt.NDArray[np.int16]:
        """Return the codes ``int16 [T, 16]`` whose entries add up to nearly ``latents`` ``[T, width]``."""
        parts = [
            self._codes(latents[start : start + _FRAMES_AT_ONCE])
            for start in range(0, len(latents), _FRAMES_AT_ONCE)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, len(self._codebooks)), np.int16)

    def latents(self, codes: npt.NDArray[np.int16]) -> Floats:
        """Return the sums ``[T, width]`` that ``codes`` ``[T, 16]`` stand for."""
        sums: Floats = sum(
            (codebook[codes[:, index]] for index, codebook in enumerate(self._codebooks)),
            start=np.zeros((len(codes), self._codebooks.shape[2]), np.float32),
        )
        return sums

    def _codes(self, latents: Floats) -> npt.NDArray[np.int16]:
        frames = len(latents)
        rows = np.arange(frames)[:, None]
        residuals = latents[:, None, :]  # [frames, guesses, width]
        codes = np.zeros((frames, 1, len(self._codebooks)), np.int16)
        errors = (latents**2).sum(axis=1)[:, None]
        for index, (codebook, norms) in enumerate(zip(self._codebooks, self._norms, strict=True)):
            guesses = residuals.shape[1]
            change = norms - 2.0 * product(residuals.reshape(frames * guesses, -1), codebook.T)
            candidates = (errors[:, :, None] + change.reshape(frames, guesses, -1)).reshape(frames, -1)
            chosen = np.argpartition(candidates, GUESSES, axis=1)[:, :GUESSES]
            parent, entry = np.divmod(chosen, codebook.shape[0])
            errors = np.take_along_axis(candidates, chosen, axis=1)
            residuals = residuals[rows, parent] - codebook[entry]
            codes = codes[rows, parent]
            codes[:, :, index] = entry
        best: npt.NDArray[np.int16] = codes[np.arange(frames), errors.argmin(axis=1)]
        return best
