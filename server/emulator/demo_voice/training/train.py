"""Train the decoder: ``python -m server.emulator.demo_voice.training.train --data DATA --run RUN``.

Reads ``features/`` and ``latents/`` (or ``quantised/`` with ``--quantised``), writes ``RUN/checkpoint.pt``
every 100 steps and goes on from it when it exists. With more ``--steps`` a run is prolonged: the cosine is a
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

from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from server.emulator.demo_voice.analysis import FRAME_SAMPLES, Floats
from server.emulator.demo_voice.training.carriers import hold, plant
from server.emulator.demo_voice.training.losses import SpectralLoss
from server.emulator.demo_voice.training.model import decode, new_decoder, padded, trained_values


@dataclass(frozen=True)
class Plan:
    """What is settled for one run."""

    steps: int
    rate: float
    batch: int = 4
    frames: int = 16
    warm_up_steps: int = 200
    noise: float = 0.1
    average: float = 0.999


class Speech:
    """All frames in memory, PCM ``int16 [T × 1920]`` and latents ``float16 [T, 96]``, to draw crops from."""

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
        """Return latents ``[batch, 96, frames]`` and PCM ``[batch, frames × 1920]``."""
        starts = rng.integers(0, len(self.latents) - frames, batch)
        latents = np.stack([self.latents[start : start + frames] for start in starts]).astype(np.float32)
        pcm: Floats = np.stack(
            [self.pcm[start * FRAME_SAMPLES : (start + frames) * FRAME_SAMPLES] for start in starts]
        ).astype(np.float32)
        return torch.from_numpy(latents).transpose(1, 2).contiguous(), torch.from_numpy(pcm / 32767.0)


class Trainer:
    """One run: decoder, its running average, optimiser, step. ``folder`` holds the checkpoint.

    Without a checkpoint in it the run starts with ``decoder`` as it is given.
    """

    def __init__(self, plan: Plan, folder: Path, seed: int, decoder: Qwen3TTSTokenizerV2Decoder) -> None:
        self.plan = plan
        self.seed = seed
        self.path = folder / "checkpoint.pt"
        folder.mkdir(parents=True, exist_ok=True)
        self.decoder = decoder
        hold(decoder)
        self.average = {name: value.clone() for name, value in trained_values(decoder).items()}
        self._parameters = [value for value in decoder.parameters() if value.requires_grad]
        # No weight decay: it would wear down the carriers, which get no gradient.
        self.optimiser = torch.optim.AdamW(
            self._parameters, lr=plan.rate, betas=(0.8, 0.99), weight_decay=0.0
        )
        self.loss = SpectralLoss()
        self.step = 0
        if self.path.exists():
            self._restore(torch.load(self.path, weights_only=True))

    def _restore(self, state: dict[str, Any]) -> None:
        self.decoder.load_state_dict(state["decoder"], strict=False)
        self.average = state["average"]
        self.optimiser.load_state_dict(state["optimiser"])
        self.step = state["step"]

    def save(self) -> None:
        """Write the checkpoint; a crash meanwhile leaves the old one."""
        partial = self.path.with_suffix(".partial")
        state = {
            "decoder": trained_values(self.decoder),
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
        made = decode(self.decoder, latents + plan.noise * noise)
        # The first frame lacks the context that it has in the stream.
        loss, parts = self.loss(made[:, FRAME_SAMPLES:], pcm[:, FRAME_SAMPLES:])
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self._parameters, 1.0)
        if torch.isfinite(norm):
            self.optimiser.step()
        decay = min(plan.average, (self.step + 1) / (self.step + 10))
        with torch.no_grad():
            for name, value in trained_values(self.decoder).items():
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
    parser.add_argument("--quantised", action="store_true", help="train on quantised latents, without noise")
    parser.add_argument("--start-from", type=Path, help="checkpoint whose average this run starts with")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    torch.set_num_threads(flags.threads)
    torch.set_flush_denormal(True)
    plan = Plan(steps=flags.steps, rate=flags.rate, batch=flags.batch, noise=0.0 if flags.quantised else 0.1)
    speech = Speech(flags.data, "quantised" if flags.quantised else "latents")
    torch.manual_seed(flags.seed)
    decoder = new_decoder()
    if flags.start_from:
        decoder.load_state_dict(torch.load(flags.start_from, weights_only=True)["average"], strict=False)
    else:
        with np.load(flags.data / "projection.npz") as projection:
            sample, _ = speech.crops(np.random.default_rng(flags.seed), 4, 16)
            plant(decoder, projection["excitation_basis"], padded(sample))
    trainer = Trainer(plan, flags.run, flags.seed, decoder)
    print(
        f"{len(speech.latents) * FRAME_SAMPLES / 24_000 / 60:.1f} min of speech, "
        f"{sum(value.numel() for value in trainer.average.values())} parameters, from step {trainer.step}",
        flush=True,
    )
    sums: dict[str, float] = {}
    started = time.monotonic()
    while trainer.step < plan.steps:
        for name, value in trainer.advance(speech).items():
            sums[name] = sums.get(name, 0.0) + value
        if trainer.step % 50 == 0:
            shown = " ".join(f"{name} {value / 50:.4f}" for name, value in sums.items())
            print(
                f"step {trainer.step}: {shown}; {(time.monotonic() - started) / 50:.2f} s a step", flush=True
            )
            sums.clear()
            started = time.monotonic()
        if trainer.step % 100 == 0 or trainer.step == plan.steps:
            trainer.save()


if __name__ == "__main__":
    main()
