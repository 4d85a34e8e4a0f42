"""A real PortAudio stream into a real sound server; each player is a process of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.pulse import PrivatePulse, aligned

# Long enough for a machine on which everything else runs at the same time.
_PATIENCE_S = 60.0
_ROOT = Path(__file__).parents[3]

# Noise, since it matches itself at one place only; the device runs for a while before and after.
_NOISE = """
import numpy as np

class Noise:
    def __init__(self, seconds, rate_hz=24_000):
        self.rate_hz = rate_hz
        self.pcm = np.random.default_rng(1).uniform(-0.5, 0.5, int(seconds * rate_hz)).astype(np.float32)
        self.at = 0
        self.lead_in = rate_hz // 5

    def read_into(self, out, dac_s):
        out.fill(0.0)
        if self.lead_in > 0:
            self.lead_in -= len(out)
            return
        piece = self.pcm[self.at : self.at + len(out)]
        out[: len(piece)] = piece
        self.at += len(piece)
"""

_PLAY = """
import sys, time
from app.audio.sounddevice_output import open_output

noise = Noise(seconds=3)
# A machine under load needs a longer buffer than a listener would like.
output = open_output(noise, latency_s=0.5, give_up_s=20.0)
give_up_at = time.monotonic() + 40
while noise.at < len(noise.pcm) and time.monotonic() < give_up_at:
    time.sleep(0.05)
time.sleep(1.5)
assert output.failure is None, output.failure
assert output.info.rate_hz == int(sys.argv[1]), output.info
begun = time.monotonic()
output.close()
assert time.monotonic() - begun < 2
"""

_KEEP = """
import asyncio, functools, sys, time
from app.audio.keeper import OutputKeeper
from app.audio.sounddevice_output import open_output

async def main():
    noise = Noise(seconds=600)
    keeper = OutputKeeper(
        noise,
        functools.partial(open_output, latency_s=0.2, give_up_s=10.0),
        lambda event: print(type(event).__name__, time.monotonic(), noise.at, flush=True),
    )
    await keeper.start()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    begun = time.monotonic()
    await keeper.aclose()
    print("closed", time.monotonic() - begun, noise.at, flush=True)

asyncio.run(main())
"""


@pytest.fixture
def pulse() -> Iterator[PrivatePulse]:
    with PrivatePulse() as pulse:
        yield pulse


def the_noise(seconds: float) -> np.ndarray:
    return np.random.default_rng(1).uniform(-0.5, 0.5, int(seconds * 24_000)).astype(np.float32)


def test_what_is_recorded_is_what_was_played_sample_for_sample(pulse: PrivatePulse) -> None:
    recorder = pulse.record()
    player = [sys.executable, "-c", _NOISE + _PLAY, str(pulse.rate_hz)]
    subprocess.run(player, env=pulse.env, cwd=_ROOT, timeout=_PATIENCE_S, check=True)
    noise = the_noise(3)
    part = aligned(recorder.stop(), noise)
    wrong = np.flatnonzero(np.abs(part - noise) > 1 / 32768)
    assert not len(wrong), f"{len(wrong)} samples differ, the first {wrong[0] / 24_000:.3f} s into the sound"


def test_a6_sound_server_that_is_killed_is_noticed_and_picked_up_again(pulse: PrivatePulse) -> None:
    keeper = subprocess.Popen(
        [sys.executable, "-c", _NOISE + _KEEP],
        env=pulse.env,
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # PortAudio itself reports the broken connection there.
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with keeper:
        assert keeper.stdin
        assert keeper.stdout
        try:
            said = keeper.stdout.readline().split()
            assert said[0] == "OutputOpened"
            time.sleep(4)
            killed_at = time.monotonic()
            pulse.kill()
            said = keeper.stdout.readline().split()
            assert said[0] == "OutputLost"
            # Two seconds, and what a busy machine may add.
            assert float(said[1]) - killed_at < 2.5
            played = int(said[2])
            assert played > 24_000
            pulse.start()
            said = keeper.stdout.readline().split()
            while said and said[0] == "OutputMissing":
                said = keeper.stdout.readline().split()
            assert said[0] == "OutputOpened"
            time.sleep(1.5)
            keeper.stdin.write("\n")
            keeper.stdin.flush()
            said = keeper.stdout.readline().split()
            assert said[0] == "closed"
            assert float(said[1]) < 2
            assert int(said[2]) > played, "it plays on"
            assert keeper.wait(_PATIENCE_S) == 0
        finally:
            if keeper.poll() is None:
                keeper.kill()


def test_a2_without_a_sound_server_opening_fails_with_a_hint(pulse: PrivatePulse) -> None:
    pulse.kill()
    code = (
        "from app.audio.sounddevice_output import open_output\n"
        "from app.audio.output import OpenError\n"
        "class Still:\n"
        "    rate_hz = 24_000\n"
        "    def read_into(self, out, dac_s): out.fill(0.0)\n"
        "try: open_output(Still())\n"
        "except OpenError as error: print(error, error.hint)\n"
    )
    player = [sys.executable, "-c", code]
    done = subprocess.run(
        player, env=pulse.env, cwd=_ROOT, timeout=_PATIENCE_S, check=True, capture_output=True, text=True
    )
    assert "check that a sound server answers there" in done.stdout


@pytest.mark.parametrize("sink", ["auto_null", "speakers"])
def test_a23_dummy_sink_is_recognised(sink: str) -> None:
    code = (
        "from app.audio.sound_server import default_sink, is_dummy\n"
        "print(default_sink(), is_dummy('default'), flush=True)\n"
    )
    with PrivatePulse(sink=sink) as pulse:
        player = [sys.executable, "-c", code]
        done = subprocess.run(
            player, env=pulse.env, cwd=_ROOT, timeout=_PATIENCE_S, check=True, capture_output=True, text=True
        )
    assert done.stdout.split() == [sink, str(sink == "auto_null")]
