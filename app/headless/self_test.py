"""``nearfield --self-test``: whether everything that this program is made of works on this machine.

It asks for no sound card, no network, no display and no settings. Packages are tried with it, and whoever has
a program that does not start can say where it ends.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import tempfile
import time
import wave
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import assets
from app.audio.wav import WavWriter
from app.headless.speaking import EXIT_OK

TAPE = "01-hello-and-welcome-to-nearfield.npz"
SOUND = "decoded.npz"
"""In ``assets/self_test``: what the tape's first frames sound like, ``pcm`` int16 ``[samples]``."""
LEAST_DB = {"exact": 60.0, "fast": 30.0}
"""How much louder the sound is than what differs from the stored sound. Another CPU adds up in another order
(80 dB and more); what is stored is rounded to 16 bits."""
_NATIVE = ("msgspec", "safetensors", "yaml", "torch")
"""Packages with machine code that have no test of their own below; torch comes last, it takes longest."""


@dataclass(frozen=True)
class Outcome:
    """What one test found."""

    test: str
    passed: bool
    text: str
    took_s: float


def run(*, as_json: bool, why_no_qt: Callable[[], str] | None = None) -> int:
    """Run every test, print a line for each, and return an exit code.

    Args:
        as_json: print one JSON object instead.
        why_no_qt: loads Qt and returns why that fails; None where no window is installed.

    """
    tests: dict[str, Callable[[], str]] = {
        "libraries": _load_libraries,
        "PortAudio": _portaudio,
        "resampler": _resample,
        "decoder": lambda: decode("exact"),
        "decoder, reduced": lambda: decode("fast"),
        "WAV": _write_wav,
        "libsndfile": _write_flac,
    }
    if why_no_qt is not None:
        tests["window"] = lambda: _qt(why_no_qt)
    outcomes = [_outcome(name, test, as_json=as_json) for name, test in tests.items()]
    passed = all(outcome.passed for outcome in outcomes)
    if as_json:
        print(json.dumps({"passed": passed, "tests": [asdict(outcome) for outcome in outcomes]}))
    else:
        print("self-test: OK" if passed else "self-test: FAILED")
    return EXIT_OK if passed else 1


def decode(precision: str, golden: Mapping[str, NDArray[np.int16]] | None = None) -> str:
    """Decode the beginning of a tape with the demo's codec and compare it with what is stored.

    Raises:
        ValueError: it is not that sound.

    """
    # Preparing a thread for decoding changes how it computes: it is one that ends with this test.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_decode, precision, golden).result()


def _decode(precision: str, golden: Mapping[str, NDArray[np.int16]] | None) -> str:
    from decoder.streaming import load_decoder
    from decoder.tape import Tape

    expected = (golden or np.load(assets.folder("self_test", SOUND)))["pcm"]
    tape = Tape.load(assets.folder("tapes", TAPE))
    loaded = load_decoder(assets.folder("demo_voice"), precision=precision)
    loaded.prepare_thread()
    stream = loaded.new_stream()
    frames = len(expected) // tape.spec.samples_per_frame
    cuts = (0, 1, 5, frames)
    parts = [stream.decode(tape.codes[a:b]) for a, b in pairwise(cuts)]
    pcm = np.concatenate(parts).astype(np.float64)
    sound = expected.astype(np.float64) / 32768
    if len(pcm) != len(sound):
        raise ValueError(f"{len(pcm)} samples instead of {len(sound)}")
    noise = float(np.mean((pcm - sound) ** 2))
    snr_db = 10 * math.log10(float(np.mean(sound**2)) / max(noise, 1e-20))
    digest = hashlib.sha256(np.rint(pcm * 32768).astype("<i2").tobytes()).hexdigest()[:12]
    said = f"{frames} frames, {snr_db:.0f} dB, {loaded.backend.name}, sha256 {digest}"
    if not snr_db >= LEAST_DB[precision]:
        raise ValueError(f"{said}; at least {LEAST_DB[precision]:.0f} dB are needed")
    return said


def _outcome(name: str, test: Callable[[], str], *, as_json: bool) -> Outcome:
    begun_s = time.perf_counter()
    try:
        passed, text = True, test()
    except Exception as error:
        passed, text = False, f"{type(error).__name__}: {error}"
    outcome = Outcome(name, passed, text, round(time.perf_counter() - begun_s, 3))
    if not as_json:
        print(f"{'ok    ' if passed else 'FAILED'}  {name}: {text}", flush=True)
    return outcome


def _load_libraries() -> str:
    versions = []
    for name in _NATIVE:
        if name == "torch":
            from decoder.streaming.preload import import_torch

            import_torch()
        module = importlib.import_module(name)
        versions.append(f"{name} {module.__version__}")
    return ", ".join((f"numpy {np.__version__}", *versions))


def _portaudio() -> str:
    from app.audio.sounddevice_output import portaudio_version

    return portaudio_version()


def _resample() -> str:
    from app.audio.resample import StreamResampler

    resampler = StreamResampler(24_000, 48_000)
    tone = np.sin(np.arange(24_000, dtype=np.float32) * np.float32(0.1))
    samples = len(resampler.push(tone)) + len(resampler.flush())
    if abs(samples - 48_000) > 1:
        raise ValueError(f"{samples} samples instead of 48000")
    return "24 to 48 kHz"


def _tone() -> NDArray[np.int16]:
    tone: NDArray[np.int16] = np.rint(np.sin(np.arange(4_800) * 0.1) * 16_000).astype(np.int16)
    return tone


def _write_wav() -> str:
    tone = _tone()
    with tempfile.TemporaryDirectory(prefix="nearfield-") as folder:
        path = Path(folder, "tone.wav")
        with WavWriter(path) as writer:
            writer.write(np.asarray(tone / 32768, np.float32))
        with wave.open(str(path)) as reader:
            read = np.frombuffer(reader.readframes(reader.getnframes()), "<i2")
            if reader.getframerate() != 24_000 or not np.array_equal(read, tone):
                raise ValueError("what was read is not what was written")
    return f"{len(tone)} samples written and read back"


def _write_flac() -> str:
    import soundfile

    tone = _tone()
    with tempfile.TemporaryDirectory(prefix="nearfield-") as folder:
        path = Path(folder, "tone.flac")
        soundfile.write(path, tone, 24_000)
        read, _ = soundfile.read(path, dtype="int16")
    if not np.array_equal(read, tone):
        raise ValueError("what was read is not what was written")
    formats = [name for name in ("FLAC", "OGG", "MP3") if name in soundfile.available_formats()]
    return f"{soundfile.__libsndfile_version__}: {', '.join(formats)}"


def _qt(why_no_qt: Callable[[], str]) -> str:
    if reason := why_no_qt():
        raise OSError(reason)
    return "Qt loads"
