"""What the simulated talker does, and what it truly says; shared by the server's process and the tests."""

from __future__ import annotations

import zlib
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

CODEBOOKS = 16
CODEBOOK_SIZE = 2048
VOICES = ("ryan", "serena", "vivian")
SAMPLES_PER_FRAME = 1920
LETTERS_PER_FRAME = 4


@dataclass(frozen=True)
class Scene:
    """How generations go from now on; may be changed while the server runs."""

    step_s: float = 0.001
    """Seconds of one decode step."""
    first_step_s: float = 0.0
    """Seconds more before the first one."""
    prefill_rows: int = 9
    """All-zero rows that the prefill emits."""
    prefill_parts: int = 1
    """Outputs the prefill is cut into."""
    frames: int | None = None
    """Frames of every unit; ``None``: by the length of the text."""
    flags: bool = True
    """``meta.codec_frame_valid`` comes with the rows."""
    stale_at: tuple[int, ...] = ()
    """Decode steps before which preempted work is done again: zero rows, and the last row once more, all of
    them with ``codec_frame_valid`` 0."""
    invalid_at: tuple[int, ...] = ()
    """Decode steps behind which a token outside the codebook yields one more row, all zero."""
    error_at: int | None = None
    """Decode step that raises."""
    error_text: str = "the engine has lost a worker"
    hang_at: int | None = None
    """Decode step that never comes; only an abort ends it."""
    aborted_at: int | None = None
    """Decode step at which the engine aborts by itself."""
    burst: int = 1
    """Decode steps that reach the API process together; only the last of them wakes the reader."""
    ref_frames: int = 0
    """Rows of ``codes.ref``, which every step repeats."""
    dead: bool = False
    """The engine is dead: nothing can be prepared."""
    model: str = "Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice"
    slow_abort_s: float = 0.0
    """Seconds until the engine acknowledges an abort."""
    abort_fails: bool = False
    """An abort raises; only closing its outputs ends a generation."""

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can carry."""
        return asdict(self)

    @staticmethod
    def of(values: dict[str, Any]) -> Scene:
        """Read what :meth:`to_dict` wrote."""
        kept = dict(values)
        for name in ("stale_at", "invalid_at"):
            kept[name] = tuple(kept.get(name, ()))
        return Scene(**kept)


def frame_count(scene: Scene, text: str, max_tokens: int | None) -> int:
    """Return how many frames a unit has; ``max_tokens`` sampled tokens are one frame less."""
    count = max(3, len(text) // LETTERS_PER_FRAME) if scene.frames is None else scene.frames
    return count if max_tokens is None else min(count, max_tokens - 1)


def true_frames(
    scene: Scene,
    text: str,
    *,
    voice: str | None = None,
    seed: int | None = None,
    max_tokens: int | None = None,
) -> NDArray[np.int16]:
    """Return the frames of a unit, int16 ``[frames, 16]``; a shorter one is the beginning of a longer one.

    Frames 2 and 3 of every ten repeat frame 1, as a talker may; codes of 0 occur, never all of a frame.
    """
    count = frame_count(scene, text, max_tokens)
    rng = np.random.default_rng(
        zlib.crc32(f"{text}|{(voice or '').lower()}|{seed}".encode("utf-8", "replace"))
    )
    codes = rng.integers(0, CODEBOOK_SIZE, (max(count, 1), CODEBOOKS))
    codes[:, 0] = np.maximum(codes[:, 0], 1)
    for index in range(len(codes)):
        if index % 10 in (2, 3):
            codes[index] = codes[index - 1]
    return codes[:count].astype(np.int16)


def reference_codes(scene: Scene) -> NDArray[np.int16]:
    """Return what ``codes.ref`` holds, int16 ``[ref_frames, 16]``."""
    rng = np.random.default_rng(scene.ref_frames)
    return rng.integers(1, CODEBOOK_SIZE, (scene.ref_frames, CODEBOOKS)).astype(np.int16)


def true_pcm(frames: NDArray[np.int16]) -> bytes:
    """Return the s16le PCM a two-stage server makes of ``frames`` here: each code held for 120 samples."""
    return np.repeat(frames * 7, SAMPLES_PER_FRAME // CODEBOOKS, axis=1).astype("<i2").tobytes()
