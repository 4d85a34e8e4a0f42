"""Analyse rendered speech: ``python -m server.emulator.demo_voice.training.features --data DATA``.

For each ``render/NNNN.npz`` writes ``features/NNNN.npz``: ``pcm`` int16 at playing level, every sentence
filled up to whole frames, ``log_mel`` and ``excitation`` float16 of all its frames, ``ends`` in frames.
Resumable.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from server.emulator.demo_voice import analysis
from server.emulator.demo_voice.excitation import excitation
from server.emulator.demo_voice.voice import PEAK, VOICE_GAIN


def analyse(data: Path) -> None:
    """Analyse every shard that has none yet."""
    folder = data / "features"
    folder.mkdir(exist_ok=True)
    for source in sorted((data / "render").glob("[0-9][0-9][0-9][0-9].npz")):
        target = folder / source.name
        if target.exists():
            continue
        with np.load(source) as shard:
            pcm = np.clip(shard["pcm"].astype(np.float32) * (VOICE_GAIN / 32767), -PEAK, PEAK)
            starts = np.concatenate([[0], shard["ends"][:-1]])
            parts = [analysis.whole_frames(pcm[a:b]) for a, b in zip(starts, shard["ends"], strict=True)]
        partial = target.with_suffix(".partial.npz")
        np.savez(
            partial,
            pcm=np.round(np.concatenate(parts) * 32767).astype(np.int16),
            log_mel=np.concatenate([analysis.log_mel(part) for part in parts]).astype(np.float16),
            excitation=np.concatenate([excitation(part) for part in parts]).astype(np.float16),
            ends=np.cumsum([part.size // analysis.FRAME_SAMPLES for part in parts]),
        )
        partial.replace(target)
        print(f"analysed {source.name}", flush=True)


def main() -> None:
    """Read the flags and analyse."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    analyse(parser.parse_args().data)


if __name__ == "__main__":
    main()
