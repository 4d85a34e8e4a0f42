"""Fit the projection to latents: ``python -m server.emulator.demo_voice.training.latents --data DATA``.

Writes ``projection.npz`` (once; it must not change under a trained decoder) and, for each
``features/NNNN.npz``, ``latents/NNNN.npy`` float16 ``[T, 96]``: 24 principal components of the excitation,
then 72 of the mel block.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from server.emulator.demo_voice.analysis import Floats

EXCITATION_WIDTH = 24
MEL_WIDTH = 72
WIDTH = EXCITATION_WIDTH + MEL_WIDTH

_BLOCKS = (("excitation", "excitation", EXCITATION_WIDTH), ("mel", "log_mel", MEL_WIDTH))
"""Name in the projection, name in the features, components kept."""

_FITTED_SHARDS = 12


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
        fitted: dict[str, Floats] = {}
        for name, feature, width in _BLOCKS:
            rows = np.concatenate([_rows(path, feature) for path in shards[:_FITTED_SHARDS]])
            fitted[f"{name}_mean"], fitted[f"{name}_basis"], kept = _principal(rows, width)
            print(f"{name}: {kept:.4f} of the variance kept")
        np.savez(target, allow_pickle=False, **fitted)
    (data / "latents").mkdir(exist_ok=True)
    with np.load(target) as stored:
        projection = {name: stored[name] for name in stored.files}
    for path in shards:
        written = data / "latents" / f"{path.stem}.npy"
        if not written.exists():
            parts = [
                (_rows(path, feature) - projection[f"{name}_mean"]) @ projection[f"{name}_basis"].T
                for name, feature, _ in _BLOCKS
            ]
            np.save(written, np.concatenate(parts, axis=1).astype(np.float16))


def _rows(path: Path, feature: str) -> Floats:
    with np.load(path) as shard:
        rows: Floats = shard[feature].reshape(len(shard[feature]), -1).astype(np.float32)
    return rows


def main() -> None:
    """Read the flags and fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    fit(parser.parse_args().data)


if __name__ == "__main__":
    main()
