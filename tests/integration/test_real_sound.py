"""Emulator → WebSocket → session → decoder → ring → a real PortAudio stream into a real sound server."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import numpy as np
import soundfile

import assets
from decoder.streaming import load_decoder
from server.emulator import Emulator, SyntheticTalker
from server.emulator.talkers import demo_spec
from tests.helpers.pulse import PrivatePulse, aligned

TEXT = "What is decoded here is what is heard here, and the file says the same."
LSB = 1 / 32768


async def test_what_is_heard_and_what_is_recorded_is_the_whole_decode_of_what_was_sent(
    tmp_path: Path,
) -> None:
    """The sink's monitor equals the WAV, and the WAV equals one decode of all frames that were sent."""
    path = tmp_path / "said.wav"
    with PrivatePulse() as pulse:
        recorder = pulse.record()
        async with Emulator(SyntheticTalker(demo_spec())) as emulator:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "app.cli", "say", TEXT, "--json", "-o", str(path)),
                *("--server", emulator.url, "--checkpoint", str(assets.folder("demo_voice"))),
                *("--latency", "0.5", "--start-buffer", "0.5"),
                env=dict(pulse.env),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            out, err = await asyncio.wait_for(process.communicate(), 120)
            assert process.returncode == 0, err.decode()
            codes = emulator.utterances[0].codes
        recording = recorder.stop()

    report = json.loads(out)
    assert report["outcome"] == "complete"
    assert report["underruns"] == 0
    assert report["frames"] == len(codes)
    assert report["ttfa_s"] > 0
    assert abs(sum(report["parts"].values()) - report["ttfa_s"]) < 1e-3

    written, rate_hz = soundfile.read(path, dtype="float32")
    whole = load_decoder(assets.folder("demo_voice")).new_stream().decode(codes)
    assert rate_hz == 24_000
    assert len(written) == len(codes) * 1920
    # A file has 16 bits: half a step of rounding, and the last bit of float32 may tip it over.
    assert np.abs(written - whole).max() <= 1.5 * LSB

    heard = aligned(recording, whole)
    assert np.abs(heard - whole).max() <= 1.5 * LSB
