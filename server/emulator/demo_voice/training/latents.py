"""Fit the projection to latents: ``python -m server.emulator.demo_voice.training.latents --data build/demo_voice``.

Writes ``projection.npz`` (once; it must not change under a trained decoder) and, for each ``features/NNNN.npz``,
``latents/NNNN.npy`` float16 ``[T, 120]``: 48 principal components of the excitation, then 72 of the mel block.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from server.emulator.demo_voice.analysis import Floats

EXCITATION_WIDTH = 48
MEL_WIDTH = 72


def _principal(rows: Floats, width: int) -> tuple[Floats, Floats, float]:
    """Return mean, basis ``[width, features]`` divided by the mean deviation of its latents, share kept."""
    mean = rows.mean(axis=0)
    centred = (rows - mean).astype(np.float64)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(rows))
    values, vectors = values[::-1], vectors[:, ::-1]
    scale = np.sqrt(values[:width].mean())
    return mean, (vectors[:, :width].T / scale).astype(np.float32), float(values[:width].sum() / values.sum())


def fit(data: Path) -> None:
    """Fit what is not fitted yet and project what is not projected yet."""
    shards = sorted((data / "features").glob("[0-9][0-9][0-9][0-9].npz"))
    target = data / "projection.npz"
    if not target.exists():
        rows: dict[str, list[Floats]] = {"log_mel": [], "excitation": []}
        for path in shards[:12]:
            with np.load(path) as shard:
                for name, kept in rows.items():
                    kept.append(shard[name].reshape(len(shard[name]), -1).astype(np.float32))
        excitation = _principal(np.concatenate(rows["excitation"]), EXCITATION_WIDTH)
        mel = _principal(np.concatenate(rows["log_mel"]), MEL_WIDTH)
        print(f"variance kept: excitation {excitation[2]:.4f}, mel {mel[2]:.4f}")  # noqa: T201
        np.savez(
            target,
            excitation_mean=excitation[0],
            excitation_basis=excitation[1],
            mel_mean=mel[0],
            mel_basis=mel[1],
        )
    (data / "latents").mkdir(exist_ok=True)
    with np.load(target) as projection:
        for path in shards:
            written = data / "latents" / f"{path.stem}.npy"
            if written.exists():
                continue
            with np.load(path) as shard:
                parts = [
                    (shard[name].reshape(len(shard[name]), -1).astype(np.float32) - projection[f"{short}_mean"])
                    @ projection[f"{short}_basis"].T
                    for name, short in (("excitation", "excitation"), ("log_mel", "mel"))
                ]
            np.save(written, np.concatenate(parts, axis=1).astype(np.float16))


def main() -> None:
    """Read the flags and fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    fit(parser.parse_args().data)


if __name__ == "__main__":
    main()
