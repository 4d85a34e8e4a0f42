"""What a codec is: rates, codebooks and sizes, with every derived number as a property."""

from __future__ import annotations

from dataclasses import dataclass

DECODER_ID = "qwen3_tts_tokenizer_v2_12hz"
"""The wire's name of the Qwen3-TTS 12.5 Hz tokenizer, version 2."""


@dataclass(frozen=True)
class CodecSpec:
    """The numbers that a server's frames and a client's decoder must share.

    The defaults are those of every published Qwen3-TTS checkpoint. A smaller codec of the same
    architecture (the demo voice, the tests) differs in ``codebook_size`` only.
    """

    decoder_id: str = DECODER_ID
    codebooks: int = 16
    codebook_size: int = 2048
    sample_rate_hz: int = 24_000
    samples_per_frame: int = 1_920

    @property
    def frame_rate_hz(self) -> float:
        """Frames in a second of sound (12.5)."""
        return self.sample_rate_hz / self.samples_per_frame

    @property
    def frame_s(self) -> float:
        """Seconds of sound in one frame (0.08)."""
        return self.samples_per_frame / self.sample_rate_hz

    @property
    def frame_bytes(self) -> int:
        """Bytes of one frame on the wire: an int16 a codebook (32)."""
        return 2 * self.codebooks

    @property
    def pcm_frame_bytes(self) -> int:
        """Bytes the same 80 ms would take as 16-bit PCM (3840)."""
        return 2 * self.samples_per_frame
