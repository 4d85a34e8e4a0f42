"""The client's command against the plug-in: what is heard is the talker's frames, decoded here."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from decoder.streaming.checkpoint import load_checkpoint
from decoder.streaming.random_weights import random_checkpoint
from tests.helpers.omni_rig import ROOT, OmniServer
from tests.helpers.omni_server.scene import Scene, reference_codes, true_frames
from tests.helpers.small_codec import SMALL_CODEC
from tests.server.omni_plugin.talk import TEXT

SAMPLES_PER_FRAME = 1920


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder of the true architecture with random weights, as small as that can be."""
    return random_checkpoint(tmp_path_factory.mktemp("checkpoint"), SMALL_CODEC, seed=5)


def nearfield(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def samples_of(path: Path) -> NDArray[Any]:
    with wave.open(str(path)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768


def decoded(checkpoint: Path, codes: NDArray[Any]) -> NDArray[Any]:
    with torch.inference_mode():
        pcm: NDArray[Any] = load_checkpoint(checkpoint)(torch.from_numpy(codes.astype(np.int64))).numpy()
    return pcm


async def test_what_is_heard_is_what_the_talker_said(
    codec: OmniServer, checkpoint: Path, tmp_path: Path
) -> None:
    """With the reference of a cloned voice in front of it, which is not heard."""
    codec.play(Scene(ref_frames=90, stale_at=(3,)))
    wav = tmp_path / "said.wav"
    said = await asyncio.to_thread(
        nearfield, "say", "--server", codec.url, "--checkpoint", str(checkpoint), "--voice", "Vivian",
        "--seed", "4", "-o", str(wav), "--no-play", TEXT,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    context = reference_codes(codec.scene)[-72:]
    frames = true_frames(codec.scene, TEXT, voice="vivian", seed=4)
    pcm = decoded(checkpoint, np.concatenate([context, frames]))[len(context) * SAMPLES_PER_FRAME :]
    heard = samples_of(wav)
    assert len(heard) == len(pcm)
    assert np.abs(pcm).max() > 0.05
    np.testing.assert_allclose(heard, pcm, atol=2 / 32768)


async def test_a_voice_that_is_not_there_is_told_with_those_that_are(
    codec: OmniServer, checkpoint: Path, tmp_path: Path
) -> None:
    said = await asyncio.to_thread(
        nearfield, "say", "--server", codec.url, "--checkpoint", str(checkpoint), "--voice", "nobody",
        "-o", str(tmp_path / "none.wav"), "--no-play", TEXT,
    )  # fmt: skip
    assert said.returncode != 0
    assert "Invalid voice 'nobody'. Supported: ryan, serena, vivian" in said.stdout + said.stderr
