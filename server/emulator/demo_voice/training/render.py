"""Render training speech: ``python -m server.emulator.demo_voice.training.render --data build/demo_voice …``.

Writes shards ``render/NNNN.npz`` of 100 sentences each: ``pcm`` int16 (24 kHz, all sentences joined, unscaled
voice level), ``ends`` (the sample each one ends at) and ``texts``. Resumable: a shard that exists is skipped.
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
from pathlib import Path

import numpy as np

from server.emulator.demo_voice.training.sentences import sentences
from server.emulator.demo_voice.voice import DemoVoice

SENTENCES_PER_SHARD = 100


def render(data: Path, wordnet: Path, handbook: Path, minutes: float, seed: int) -> None:
    """Render until ``minutes`` of speech lie in ``data/render``; length scales 0.85 to 1.15, seeded."""
    folder = data / "render"
    folder.mkdir(parents=True, exist_ok=True)
    voice = DemoVoice(gain=1.0)
    texts = sentences(wordnet, handbook, seed)
    total_s = 0.0
    started = time.monotonic()
    for number in itertools.count():
        batch = list(itertools.islice(texts, SENTENCES_PER_SHARD))
        path = folder / f"{number:04d}.npz"
        if not path.exists():
            rng = random.Random(f"{seed}/{number}")
            parts = [voice.render(text, length_scale=rng.uniform(0.85, 1.15)) for text in batch]
            pcm = np.concatenate(parts)
            ends = np.cumsum([part.size for part in parts])
            partial = path.with_suffix(".partial.npz")
            np.savez(partial, pcm=np.round(pcm * 32767).astype(np.int16), ends=ends, texts=np.array(batch))
            partial.replace(path)
        with np.load(path) as shard:
            total_s += int(shard["ends"][-1]) / 24_000
        print(
            f"shard {number}: {total_s / 60:.1f} min of speech, {time.monotonic() - started:.0f} s",
            flush=True,
        )
        if total_s >= minutes * 60:
            return


def main() -> None:
    """Read the flags and render."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--handbook", type=Path, default=Path("/usr/share/doc/debian-handbook/html/en-US"))
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    render(flags.data, flags.wordnet, flags.handbook, flags.minutes, flags.seed)


if __name__ == "__main__":
    main()
