"""A minute of speech through a real PortAudio stream, beside a process that decodes as fast as it can."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from decoder.spec import CodecSpec
from decoder.streaming.random_weights import random_checkpoint
from decoder.wire.budget import expected_s
from server.emulator import Emulator, SyntheticTalker
from tests.helpers.pulse import PrivatePulse

TEXT = "What is decoded here is what is heard here, whatever this machine has to do in the meantime. " * 10
LEAST_S = 60.0
LOAD = """
import itertools, sys
import numpy as np
from decoder.streaming import load_decoder

decoder = load_decoder(sys.argv[1])
decoder.prepare_thread()
stream = decoder.new_stream()
print("it runs", flush=True)
for frames in itertools.cycle((1, 2, 4, 12, 25)):
    stream.decode(np.ones((frames, 16), np.int16))
"""
"""What ``nearfield bench`` does, without its pauses."""


@pytest.mark.slow
async def test_a_minute_is_heard_without_a_gap_beside_a_load_of_normal_priority(tmp_path: Path) -> None:
    checkpoint = str(random_checkpoint(tmp_path))
    assert expected_s(TEXT) > LEAST_S
    with PrivatePulse() as pulse:
        async with Emulator(SyntheticTalker(CodecSpec())) as emulator:
            load = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", LOAD, checkpoint), stdout=asyncio.subprocess.PIPE
            )
            try:
                assert load.stdout is not None
                assert await asyncio.wait_for(load.stdout.readline(), 120) == b"it runs\n"
                speaking = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "app.cli", "say", TEXT, "--json"),
                    *("--server", emulator.url, "--checkpoint", checkpoint),
                    env=dict(pulse.env),
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                )
                out, err = await asyncio.wait_for(speaking.communicate(), 300)
                assert load.returncode is None, "the load ended before the speech"
            finally:
                if load.returncode is None:
                    load.kill()
                await load.communicate()
    assert speaking.returncode == 0, err.decode()
    reports = [json.loads(line) for line in out.splitlines()]
    assert [each["outcome"] for each in reports] == ["complete"] * len(reports)
    assert sum(each["frames"] for each in reports) * CodecSpec().frame_s > LEAST_S
    assert [each["underruns"] for each in reports] == [0] * len(reports)
