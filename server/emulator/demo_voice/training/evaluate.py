"""Measure the demo voice: ``python -m server.emulator.demo_voice.training.evaluate --data … --voice …``.

Fifty sentences that were never trained on go text → voice → encoder → codes → decoder. Printed, for the
voice's own rendering and for the decoded sound: words that pocketsphinx recognises, then log-mel distance,
STOI, loudness, how far samples at frame borders jump compared with all others, and decoding time on one
thread. Renderings are kept in ``DATA/evaluation`` so that runs compare the same sound. ``--picture`` draws
the spectrograms.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import soxr
import torch

from decoder.streaming import load_decoder
from server.emulator.demo_voice import DemoEncoder
from server.emulator.demo_voice.analysis import FRAME_SAMPLES, SAMPLE_RATE_HZ, Floats, log_mel
from server.emulator.demo_voice.training.evaluation_texts import evaluation_texts, spoken_words

_CHUNK_FRAMES = 4
_RECOGNISER_RATE_HZ = 16_000


def matched_words(heard: list[str], wanted: list[str]) -> int:
    """Return how many of ``wanted`` are in ``heard`` in the same order (longest common subsequence)."""
    best = np.zeros((len(heard) + 1, len(wanted) + 1), np.int64)
    for i, word in enumerate(heard):
        for j, other in enumerate(wanted):
            best[i + 1, j + 1] = best[i, j] + 1 if word == other else max(best[i, j + 1], best[i + 1, j])
    return int(best[-1, -1])


class Recogniser:
    """pocketsphinx with its own English model."""

    def __init__(self) -> None:
        import pocketsphinx

        self._decoder: Any = pocketsphinx.Decoder(samprate=_RECOGNISER_RATE_HZ, loglevel="FATAL")

    def words(self, pcm: Floats) -> list[str]:
        """Return the words heard in ``pcm`` (24 kHz, ±1)."""
        slow = soxr.resample(np.pad(pcm, 4800), SAMPLE_RATE_HZ, _RECOGNISER_RATE_HZ)
        self._decoder.start_utt()
        self._decoder.process_raw((np.clip(slow, -1, 1) * 32767).astype(np.int16).tobytes(), full_utt=True)
        self._decoder.end_utt()
        hypothesis = self._decoder.hyp()
        return spoken_words(hypothesis.hypstr) if hypothesis else []


def log_mel_distance_db(made: Floats, wanted: Floats) -> float:
    """Return the mean difference of mel bands in dB, over hops within 50 dB of the loudest."""
    ours, theirs = (log_mel(pcm).transpose(0, 2, 1).reshape(-1, 80) for pcm in (made, wanted))
    level = theirs.max(axis=1)
    active = level > level.max() - 50.0 / 8.686
    return float(np.abs(ours - theirs)[active].mean() * 8.686)


def border_jump(pcm: Floats) -> float:
    """Return the mean second difference at frame borders divided by that of all samples; 1 is no click."""
    bend = np.abs(np.diff(pcm, 2))
    borders = np.arange(FRAME_SAMPLES, pcm.size - 2, FRAME_SAMPLES)
    return float(np.stack([bend[borders - 2], bend[borders - 1], bend[borders]]).mean() / bend.mean())


def _renderings(data: Path, texts: list[str]) -> list[Floats]:
    folder = data / "evaluation"
    folder.mkdir(parents=True, exist_ok=True)
    renderings: list[Floats] = []
    for number, text in enumerate(texts):
        path = folder / f"{number:02d}.npy"
        if not path.exists():
            from server.emulator.demo_voice.voice import shared_voice

            pcm = shared_voice().render(text)
            np.save(path, np.pad(pcm, (0, -pcm.size % FRAME_SAMPLES)))
        renderings.append(np.load(path))
    return renderings


def _picture(path: Path, wanted: Floats, made: Floats) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    dither = np.random.default_rng(1).normal(0.0, 1e-6, wanted.size)  # silence has no logarithm
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 3.2), sharey=True, layout="constrained")
    for axis, pcm, title in zip(axes, (wanted, made), ("the voice", "encoded, decoded"), strict=True):
        axis.specgram(
            pcm + dither, NFFT=1024, noverlap=768, Fs=SAMPLE_RATE_HZ, vmin=-140, vmax=-40, cmap="magma"
        )
        axis.set(title=title, xlabel="s", ylim=(0, 10_000))
    axes[0].set_ylabel("Hz")
    figure.savefig(path, dpi=64)


def evaluate(
    data: Path, voice: Path, count: int, picture: Path | None, keep: Path | None
) -> dict[str, float]:
    """Return the figures of the module's first lines for the first ``count`` texts (all: 50)."""
    import pyloudnorm
    from pystoi import stoi

    pairs = evaluation_texts()[:count] if count < 50 else evaluation_texts()
    renderings = _renderings(data, [text for text, _ in pairs])
    encoder = DemoEncoder(voice / "encoder.safetensors")
    loaded = load_decoder(voice / "speech_tokenizer", threads=1)
    recogniser = Recogniser()
    meter = pyloudnorm.Meter(SAMPLE_RATE_HZ)
    figures: dict[str, list[float]] = {}
    hits = {"voice": 0, "decoded": 0}
    spoken = 0
    decode_s = 0.0
    for number, ((_, words), wanted) in enumerate(zip(pairs, renderings, strict=True)):
        codes = encoder.encode(wanted)
        stream = loaded.new_stream()
        started = time.perf_counter()
        parts: list[npt.NDArray[np.float32]] = [
            stream.decode(codes[start : start + _CHUNK_FRAMES])
            for start in range(0, len(codes), _CHUNK_FRAMES)
        ]
        decode_s += time.perf_counter() - started
        made = np.concatenate(parts)
        spoken += len(words)
        hits["voice"] += matched_words(recogniser.words(wanted), words)
        hits["decoded"] += matched_words(recogniser.words(made), words)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a short sentence has too few frames for pystoi
            row = {
                "log_mel_db": log_mel_distance_db(made, wanted),
                "stoi": float(stoi(wanted, made, SAMPLE_RATE_HZ)),
                "lufs_voice": float(
                    meter.integrated_loudness(np.pad(wanted, (0, SAMPLE_RATE_HZ // 2)).astype(float))
                ),
                "lufs": float(
                    meter.integrated_loudness(np.pad(made, (0, SAMPLE_RATE_HZ // 2)).astype(float))
                ),
                "border_jump_voice": border_jump(wanted),
                "border_jump": border_jump(made),
                "peak": float(np.abs(made).max()),
            }
        for name, value in row.items():
            figures.setdefault(name, []).append(value)
        if number == 0 and picture is not None:
            _picture(picture, wanted, made)
        if keep is not None:
            import soundfile

            keep.mkdir(parents=True, exist_ok=True)
            soundfile.write(keep / f"{number:02d}.wav", made, SAMPLE_RATE_HZ)
    total_s = sum(pcm.size for pcm in renderings) / SAMPLE_RATE_HZ
    return {
        "words_voice": hits["voice"] / spoken,
        "words": hits["decoded"] / spoken,
        "words_relative": hits["decoded"] / hits["voice"],
        "real_time_factor": decode_s / total_s,
        **{name: float(np.mean(values)) for name, values in figures.items()},
    }


def main() -> None:
    """Read the flags, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--voice", type=Path, required=True, help="folder with encoder and speech_tokenizer")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--keep", type=Path, help="folder for the decoded sounds as WAV")
    flags = parser.parse_args()
    torch.set_num_threads(1)
    for name, value in evaluate(flags.data, flags.voice, flags.count, flags.picture, flags.keep).items():
        print(f"{name:18} {value:.4f}")


if __name__ == "__main__":
    main()
