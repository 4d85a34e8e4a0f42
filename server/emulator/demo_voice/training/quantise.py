"""Fit the codebooks: ``python -m server.emulator.demo_voice.training.quantise --data build/demo_voice``.

Residual k-means on the latents: two codebooks for the excitation (the first of them is the semantic one of
the architecture), fourteen for the mel block. Writes ``codebooks.npz`` and ``quantised/NNNN.npy``: what the
decoder will really receive. Both are made anew when missing only.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from server.emulator.demo_voice.quantiser import ResidualQuantiser
from server.emulator.demo_voice.training.latents import EXCITATION_WIDTH

CODEBOOKS = 16
EXCITATION_CODEBOOKS = 2
CODEBOOK_SIZE = 1024


def _nearest(rows: Tensor, centroids: Tensor) -> Tensor:
    norms = centroids.square().sum(dim=1)
    return torch.cat([(norms - 2.0 * (part @ centroids.T)).argmin(dim=1) for part in torch.split(rows, 8192)])


def _k_means(rows: Tensor, size: int, rounds: int, generator: torch.Generator) -> Tensor:
    centroids = rows[torch.randperm(len(rows), generator=generator)[:size]].clone()
    for _ in range(rounds):
        nearest = _nearest(rows, centroids)
        counts = torch.bincount(nearest, minlength=size)
        sums = torch.zeros_like(centroids).index_add_(0, nearest, rows)
        used = counts > 0
        centroids[used] = sums[used] / counts[used, None]
        unused = int((~used).sum())
        if unused:
            centroids[~used] = rows[torch.randint(len(rows), (unused,), generator=generator)]
    return centroids


def fit(data: Path, rounds: int, seed: int) -> npt.NDArray[np.float32]:
    """Return codebooks ``[16, 1024, 96]``. Entry 0 of the first stays all zero: the encoder never uses it."""
    latents = np.concatenate([np.load(path) for path in sorted((data / "latents").glob("*.npy"))])
    generator = torch.Generator().manual_seed(seed)
    everything = torch.from_numpy(latents.astype(np.float32))
    codebooks = torch.zeros(CODEBOOKS, CODEBOOK_SIZE, everything.shape[1])
    for first, last, columns in (
        (0, EXCITATION_CODEBOOKS, slice(0, EXCITATION_WIDTH)),
        (EXCITATION_CODEBOOKS, CODEBOOKS, slice(EXCITATION_WIDTH, None)),
    ):
        residual = everything[:, columns].clone()
        total = residual.square().mean()
        for index in range(first, last):
            started = time.monotonic()
            banned = 1 if index == 0 else 0
            centroids = _k_means(residual, CODEBOOK_SIZE - banned, rounds, generator)
            residual -= centroids[_nearest(residual, centroids)]
            codebooks[index, banned:, columns] = centroids
            ratio = 10.0 * torch.log10(total / residual.square().mean())
            print(f"codebook {index}: {ratio:.1f} dB, {time.monotonic() - started:.0f} s", flush=True)
    return codebooks.numpy()


def main() -> None:
    """Read the flags, fit, quantise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    torch.set_num_threads(flags.threads)
    target = flags.data / "codebooks.npz"
    if not target.exists():
        codebooks = fit(flags.data, flags.rounds, flags.seed).astype(np.float16)
        np.savez(target, codebooks=codebooks)
    with np.load(target) as stored:
        quantiser = ResidualQuantiser(stored["codebooks"].astype(np.float32))
    (flags.data / "quantised").mkdir(exist_ok=True)
    for path in sorted((flags.data / "latents").glob("*.npy")):
        written = flags.data / "quantised" / path.name
        if not written.exists():
            codes = quantiser.codes(np.load(path).astype(np.float32))
            np.save(written, quantiser.latents(codes).astype(np.float16))


if __name__ == "__main__":
    main()
