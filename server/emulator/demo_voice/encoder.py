"""PCM to codes of the demo codec, in numpy: a fixed analysis, a projection and a residual quantiser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file

from assets import folder
from server.emulator.demo_voice import analysis
from server.emulator.demo_voice.analysis import FRAME_SAMPLES, Floats
from server.emulator.demo_voice.excitation import REACH_SAMPLES, continued, excitation
from server.emulator.demo_voice.quantiser import ResidualQuantiser

CODEBOOKS = 16

_PAST_FRAMES = 5
"""How much of its past a stream keeps: windows reach back 16 ms, the pitch wants to be followed."""


class DemoEncoder:
    """The encoder half of the demo codec. Holds constants only, so any number of threads may share one.

    ``path`` names the ``encoder.safetensors`` to load; by default the one in ``assets/demo_voice``. It holds
    ``{excitation,mel}_{mean,basis}``, the projections of the two feature blocks. The codebooks are those of
    the decoder, read from ``speech_tokenizer/model.safetensors`` beside it: the two cannot disagree.
    """

    def __init__(self, path: Path | None = None) -> None:
        path = path or folder("demo_voice") / "encoder.safetensors"
        projection = {name: tensor.astype(np.float32) for name, tensor in load_file(path).items()}
        self._excitation = projection["excitation_mean"], projection["excitation_basis"].T
        self._mel = projection["mel_mean"], projection["mel_basis"].T
        self.quantiser = ResidualQuantiser(_codebooks(path.parent / "speech_tokenizer" / "model.safetensors"))

    def encode(self, pcm: Floats) -> npt.NDArray[np.int16]:
        """Return the codes ``int16 [T, 16]`` of ``pcm``, float32 ``[n]``, 24 kHz, ±1: ``T = ceil(n / 1920)``.

        The last frame is filled up with silence. The first code of a frame is never 0, because the protocol
        reads a frame of sixteen zeros as a placeholder.
        """
        return self.quantiser.codes(self.latents(pcm))

    def latents(self, pcm: Floats) -> Floats:
        """Return what the codes of ``pcm`` approximate, ``[T, 96]``."""
        pcm = analysis.whole_frames(pcm)
        if pcm.size == 0:
            return np.zeros((0, self._excitation[1].shape[1] + self._mel[1].shape[1]), np.float32)
        return self.project(excitation(pcm), analysis.log_mel(pcm))

    def project(self, points: Floats, log_mel: Floats) -> Floats:
        """Return the latents ``[T, 96]`` of ``excitation`` ``[T, 16, 2]`` and ``log_mel`` ``[T, 80, 8]``."""
        blocks = ((points, *self._excitation), (log_mel, *self._mel))
        return np.concatenate(
            [analysis.product(block.reshape(len(block), -1) - mean, basis) for block, mean, basis in blocks],
            axis=1,
        )

    def stream(self) -> EncoderStream:
        """Return a new stream, for one sound that arrives in pieces."""
        return EncoderStream(self)


class EncoderStream:
    """One sound encoded while it arrives: push pieces of any length, then finish.

    A frame is encoded once 30 ms of the sound behind it are there, which is how far its last windows reach,
    together with some of its past, through which the pitch is followed. Mel blocks are the same as for the
    whole sound; where the pitch is in doubt, the path through a whole sound may differ.
    """

    def __init__(self, encoder: DemoEncoder) -> None:
        self._encoder = encoder
        self._recent = np.zeros(0, np.float32)
        self._past_frames = 0
        """Frames of ``_recent`` that are encoded already."""
        self._last_point = np.zeros(2, np.float32)
        """The excitation that was sent for the end of the past."""

    def push(self, pcm: Floats) -> npt.NDArray[np.int16]:
        """Take the next samples and return the codes ``int16 [n, 16]`` that they complete; n may be 0."""
        self._recent = np.concatenate([self._recent, pcm])
        return self._encode((self._recent.size - REACH_SAMPLES) // FRAME_SAMPLES)

    def finish(self, pcm: Floats) -> npt.NDArray[np.int16]:
        """Take the last samples and return all remaining codes, the last frame filled up with silence."""
        self._recent = analysis.whole_frames(np.concatenate([self._recent, pcm]))
        return self._encode(self._recent.size // FRAME_SAMPLES)

    def _encode(self, until_frame: int) -> npt.NDArray[np.int16]:
        past = self._past_frames
        if until_frame <= past:
            return np.zeros((0, CODEBOOKS), np.int16)
        pcm = analysis.whole_frames(self._recent)
        points = excitation(pcm)
        if past:
            points = continued(points, past - 1, self._last_point)
        new = slice(past, until_frame)
        latents = self._encoder.project(points[new], analysis.log_mel(pcm)[new])
        self._last_point = points[until_frame - 1, -1]
        dropped = max(0, until_frame - _PAST_FRAMES)
        self._recent = self._recent[dropped * FRAME_SAMPLES :]
        self._past_frames = until_frame - dropped
        return self._encoder.quantiser.codes(latents)


def _codebooks(path: Path) -> Floats:
    tensors = load_file(path)
    first = "decoder.quantizer.rvq_first.vq.layers.0._codebook."
    rest = (f"decoder.quantizer.rvq_rest.vq.layers.{index}._codebook." for index in range(CODEBOOKS - 1))
    return np.stack(
        [
            tensors[f"{prefix}embedding_sum"].astype(np.float32)
            / np.maximum(tensors[f"{prefix}cluster_usage"].astype(np.float32), 1e-5)[:, None]
            for prefix in (first, *rest)
        ]
    )
