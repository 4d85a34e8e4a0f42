"""PCM to codes of the demo codec, in numpy: a fixed analysis, a projection and a residual quantiser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file

from assets import folder
from server.emulator.demo_voice import analysis
from server.emulator.demo_voice.analysis import FRAME_SAMPLES, Floats
from server.emulator.demo_voice.quantiser import ResidualQuantiser

__all__ = ["FRAME_SAMPLES", "DemoEncoder"]


class DemoEncoder:
    """The encoder half of the demo codec. Holds constants only, so any number of threads may share one.

    ``path`` names the ``encoder.safetensors`` to load; by default the one in ``assets/demo_voice``. It holds
    ``{excitation,mel}_{mean,basis}``, the projections of the two feature blocks. The codebooks are those of the
    decoder, read from ``speech_tokenizer/model.safetensors`` beside it: encoder and decoder cannot disagree.
    """

    def __init__(self, path: Path | None = None) -> None:
        path = path or folder("demo_voice") / "encoder.safetensors"
        projection = {name: tensor.astype(np.float32) for name, tensor in load_file(path).items()}
        self._excitation = (projection["excitation_mean"], projection["excitation_basis"].T)
        self._mel = (projection["mel_mean"], projection["mel_basis"].T)
        self._quantiser = ResidualQuantiser(_codebooks(path.parent / "speech_tokenizer" / "model.safetensors"))

    def encode(self, pcm: Floats) -> npt.NDArray[np.int16]:
        """Return the codes ``int16 [T, 16]`` of ``pcm`` (float32 ``[n]``, 24 kHz, ±1), ``T = ceil(n / 1920)``.

        The last frame is filled up with silence. The first code of a frame is never 0, because the protocol
        reads a frame of sixteen zeros as a placeholder.
        """
        return self._quantiser.codes(self.latents(pcm))

    def latents(self, pcm: Floats) -> Floats:
        """Return what the codes approximate, ``[T, 120]``: first the excitation, then the mel block."""
        pcm = analysis.whole_frames(pcm)
        if pcm.size == 0:
            return np.zeros((0, self._excitation[1].shape[1] + self._mel[1].shape[1]), np.float32)
        blocks = ((analysis.excitation(pcm), *self._excitation), (analysis.log_mel(pcm), *self._mel))
        return np.concatenate(
            [(block.reshape(len(block), -1) - mean) @ basis for block, mean, basis in blocks], axis=1
        )


def _codebooks(path: Path) -> Floats:
    tensors = load_file(path)
    first = "decoder.quantizer.rvq_first.vq.layers.0._codebook."
    rest = (f"decoder.quantizer.rvq_rest.vq.layers.{index}._codebook." for index in range(len(tensors)))
    layers = [first, *(prefix for prefix in rest if f"{prefix}embedding_sum" in tensors)]
    return np.stack(
        [
            tensors[f"{prefix}embedding_sum"].astype(np.float32)
            / np.maximum(tensors[f"{prefix}cluster_usage"].astype(np.float32), 1e-5)[:, None]
            for prefix in layers
        ]
    )
