"""Train the decoder: ``python -m server.emulator.demo_voice.training.train --data build/demo_voice --steps 9000``.

Reads ``features/`` and ``latents/`` (or ``quantised/`` with ``--quantised``), writes ``RUN/checkpoint.pt``
every 250 steps and goes on from it when it exists. With more ``--steps`` a run is prolonged: the cosine is a
function of the share of steps done.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from server.emulator.demo_voice.analysis import FRAME_SAMPLES, Floats
from server.emulator.demo_voice.training.latents import EXCITATION_WIDTH
from server.emulator.demo_voice.training.losses import SpectralLoss
from server.emulator.demo_voice.training.model import Sizes, TrainingDecoder, parameter_count


@dataclass(frozen=True)
class Plan:
    """What is settled for one run."""

    steps: int
    rate: float
    batch: int = 4
    frames: int = 16
    warm_up_steps: int = 200
    excitation_noise: float = 0.15
    mel_noise: float = 0.1
    waveform: float = 0.5
    average: float = 0.999


class Speech:
    """All frames in memory: PCM ``int16 [T × 1920]`` and latents ``float16 [T, 120]``; crops are drawn from it."""

    def __init__(self, data: Path, kind: str) -> None:
        latents: list[npt.NDArray[np.float16]] = []
        pcm: list[npt.NDArray[np.int16]] = []
        for path in sorted((data / kind).glob("[0-9][0-9][0-9][0-9].npy")):
            latents.append(np.load(path))
            with np.load(data / "features" / f"{path.stem}.npz") as shard:
                pcm.append(shard["pcm"])
        self.latents = np.concatenate(latents)
        self.pcm = np.concatenate(pcm)

    def crops(self, rng: np.random.Generator, batch: int, frames: int) -> tuple[Tensor, Tensor]:
        """Return latents ``[batch, 120, frames]`` and PCM ``[batch, frames × 1920]``."""
        starts = rng.integers(0, len(self.latents) - frames, batch)
        latents = np.stack([self.latents[start : start + frames] for start in starts]).astype(np.float32)
        pcm: Floats = np.stack(
            [self.pcm[start * FRAME_SAMPLES : (start + frames) * FRAME_SAMPLES] for start in starts]
        ).astype(np.float32)
        return torch.from_numpy(latents).transpose(1, 2).contiguous(), torch.from_numpy(pcm / 32767.0)


class Trainer:
    """One run: decoder, its running average, optimiser, step. ``folder`` holds the checkpoint."""

    def __init__(self, plan: Plan, folder: Path, sizes: Sizes, seed: int, start_from: Path | None) -> None:
        torch.manual_seed(seed)
        self.plan = plan
        self.seed = seed
        self.path = folder / "checkpoint.pt"
        folder.mkdir(parents=True, exist_ok=True)
        self.decoder = TrainingDecoder(sizes)
        self.average = {name: value.detach().clone() for name, value in self.decoder.state_dict().items()}
        self.optimiser = torch.optim.AdamW(self.decoder.parameters(), lr=plan.rate, betas=(0.8, 0.99), weight_decay=0.01)
        self.loss = SpectralLoss(waveform=plan.waveform)
        self.step = 0
        if self.path.exists():
            self._restore(torch.load(self.path, weights_only=True))
        elif start_from is not None:
            state = torch.load(start_from, weights_only=True)
            self.decoder.load_state_dict(state["average"])
            self.average = state["average"]

    def _restore(self, state: dict[str, Any]) -> None:
        self.decoder.load_state_dict(state["decoder"])
        self.average = state["average"]
        self.optimiser.load_state_dict(state["optimiser"])
        self.step = state["step"]

    def save(self) -> None:
        """Write the checkpoint; a crash meanwhile leaves the old one."""
        partial = self.path.with_suffix(".partial")
        state = {
            "decoder": self.decoder.state_dict(),
            "average": self.average,
            "optimiser": self.optimiser.state_dict(),
            "step": self.step,
        }
        torch.save(state, partial)
        os.replace(partial, self.path)

    def advance(self, speech: Speech) -> dict[str, float]:
        """Take one step and return the parts of its loss."""
        plan = self.plan
        rng = np.random.default_rng((self.seed, self.step))
        share = self.step / plan.steps
        warm = min(1.0, (self.step + 1) / plan.warm_up_steps)
        rate = plan.rate * warm * (0.02 + 0.98 * 0.5 * (1.0 + math.cos(math.pi * min(1.0, share))))
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        latents, pcm = speech.crops(rng, plan.batch, plan.frames)
        noise = torch.randn(latents.shape, generator=torch.Generator().manual_seed(int(rng.integers(2**62))))
        noise[:, :EXCITATION_WIDTH] *= plan.excitation_noise
        noise[:, EXCITATION_WIDTH:] *= plan.mel_noise
        made = self.decoder(latents + noise)
        # The first frame lacks the context that it has in the stream.
        loss, parts = self.loss(made[:, FRAME_SAMPLES:], pcm[:, FRAME_SAMPLES:])
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.decoder.parameters(), 1.0)
        if torch.isfinite(norm):
            self.optimiser.step()
        decay = min(plan.average, (self.step + 1) / (self.step + 10))
        with torch.no_grad():
            for name, value in self.decoder.state_dict().items():
                self.average[name].lerp_(value, 1.0 - decay)
        self.step += 1
        return {"loss": loss.item(), **parts}


def main() -> None:
    """Read the flags and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True, help="folder of the checkpoint")
    parser.add_argument("--steps", type=int, default=9000)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--latent-dim", type=int, default=Sizes.latent_dim)
    parser.add_argument("--waveform", type=float, default=0.5)
    parser.add_argument("--quantised", action="store_true", help="train on quantised latents, without noise")
    parser.add_argument("--start-from", type=Path, help="checkpoint whose average this run starts with")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    torch.set_num_threads(flags.threads)
    torch.set_flush_denormal(True)
    noise = {"excitation_noise": 0.0, "mel_noise": 0.0} if flags.quantised else {}
    plan = Plan(steps=flags.steps, rate=flags.rate, batch=flags.batch, waveform=flags.waveform, **noise)
    speech = Speech(flags.data, "quantised" if flags.quantised else "latents")
    trainer = Trainer(plan, flags.run, Sizes(latent_dim=flags.latent_dim), flags.seed, flags.start_from)
    print(  # noqa: T201
        f"{len(speech.latents) * FRAME_SAMPLES / 24_000 / 60:.1f} min of speech, "
        f"{parameter_count(trainer.decoder)} parameters, from step {trainer.step}",
        flush=True,
    )
    sums: dict[str, float] = {}
    started = time.monotonic()
    while trainer.step < plan.steps:
        for name, value in trainer.advance(speech).items():
            sums[name] = sums.get(name, 0.0) + value
        if trainer.step % 50 == 0:
            shown = " ".join(f"{name} {value / 50:.4f}" for name, value in sums.items())
            print(f"step {trainer.step}: {shown}; {(time.monotonic() - started) / 50:.2f} s a step", flush=True)  # noqa: T201
            sums.clear()
            started = time.monotonic()
        if trainer.step % 250 == 0 or trainer.step == plan.steps:
            trainer.save()


if __name__ == "__main__":
    main()
