"""``python -m server.emulator`` as a process."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time

import pytest

from assets import folder
from server.emulator import Emulator, Scenario, SyntheticTalker
from server.emulator.__main__ import main
from tests.server.emulator.wire_client import client, talk

COMMAND = [sys.executable, "-m", "server.emulator", "--voice", "synthetic", "--port", "0"]


def start(*options: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *options],
        cwd=folder().parent,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_it_prints_its_address_speaks_and_ends_cleanly(number: signal.Signals) -> None:
    options = ["--pace", "0", "--packet-frames", "7", "--api-key-env", "EMULATOR_KEY"]
    with start(*options, EMULATOR_KEY="sesame") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        url = process.stdout.readline().strip()
        async with client(url, "sesame") as c:
            await c.configure()
            heard = await c.say("Hello")
            assert heard.packets[0].n_frames == min(7, len(SyntheticTalker().codes("Hello")))
            started = time.monotonic()
            process.send_signal(number)
            await c.socket.wait_closed()
        assert process.wait(5) == 0
        assert time.monotonic() - started < 2.0
        assert process.stderr.read() == ""


async def test_a_taken_port_is_one_line() -> None:
    async with Emulator(SyntheticTalker(), Scenario(pace=0)) as e:
        with start("--port", str(e.port)) as second:
            assert await asyncio.to_thread(second.wait, 10) == 2
            assert second.stderr is not None
            error = second.stderr.read()
        assert str(e.port) in error
        assert error.count("\n") == 1
        assert (await talk(e.url, "x")).has_eos


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--packet-frames", "0"], "packets have 1..65535 frames"),
        (["--announce", "colour=red"], "codec.start has no colour"),
        (["--api-key-env", "NO_SUCH_KEY"], "NO_SUCH_KEY, which is not set"),
        (["--tls-cert", "/nowhere.pem"], "No such file"),
        (["--tls-key", "key.pem"], "--tls-key is of no use without --tls-cert"),
        (["--kind", "odd"], "invalid choice"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
    ],
)
def test_options_that_cannot_be_used_are_named(
    options: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(options)
    assert caught.value.code == 2
    assert text in capsys.readouterr().err
