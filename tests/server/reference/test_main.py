"""``python -m server.reference`` as a process, and the client with its real decoder on the other side."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from decoder.streaming.checkpoint import load_checkpoint
from server.reference.__main__ import main
from tests.helpers.reference_rig import ROOT, ReferenceProcess, python, reference_wav
from tests.helpers.tiny_kinds import BASE, CUSTOM_VOICE
from tests.server.emulator.wire_client import client

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")
TEXT = "Hello from a tiny talker."
SEED = 5


@contextmanager
def running(*options: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run the command for the time of the block."""
    interpreter, own = python()
    with subprocess.Popen(
        [interpreter, "-m", "server.reference", "--port", "0", "--device", "cpu", *options],
        cwd=ROOT,
        env=own | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def nearfield(*arguments: str, key: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1", "NEARFIELD_API_KEY": key},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def samples_of(path: Path) -> np.ndarray:
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (24_000, 1, 2)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2")


def offline(checkpoint: Path, codes: np.ndarray, context: int = 0) -> np.ndarray:
    """Return the samples of ``codes`` decoded in one piece, without those of the first ``context`` frames."""
    with torch.inference_mode():
        pcm = load_checkpoint(checkpoint)(torch.from_numpy(codes.astype(np.int64)))
    return pcm.numpy()[context * 1920 :]


def alike(wav: np.ndarray, pcm: np.ndarray) -> None:
    assert len(wav) == len(pcm)
    assert np.abs(pcm).max() > 0.05
    np.testing.assert_allclose(wav / 32768, pcm, atol=2 / 32768)


async def test_the_client_decodes_what_the_server_says(process: ReferenceProcess, tmp_path: Path) -> None:
    checkpoint = await asyncio.to_thread(process.checkpoint, CUSTOM_VOICE)
    official = process.official(CUSTOM_VOICE, "generate_custom_voice", SEED, text=TEXT, speaker="uncle_fu")
    wav = tmp_path / "said.wav"
    with running(
        "--checkpoint", str(checkpoint), "--api-key-env", "TALKER_KEY", TALKER_KEY="sesame"
    ) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        url = (await asyncio.to_thread(server.stdout.readline)).strip()
        assert url.startswith("ws://127.0.0.1:"), server.stderr.read()
        said = await asyncio.to_thread(
            nearfield, "say", "--server", url, "--checkpoint", str(checkpoint), "--voice", "Uncle_Fu",
            "--seed", str(SEED), "-o", str(wav), "--no-play", TEXT, key="sesame",
        )  # fmt: skip
        assert said.returncode == 0, said.stderr
        alike(samples_of(wav), offline(checkpoint, official.codes))
        async with client(url, "sesame") as c:
            await c.configure(voice="vivian")
            assert len((await c.say("Hi.")).codes) > 3
            server.send_signal(signal.SIGTERM)
            await c.socket.wait_closed()
        assert await asyncio.to_thread(server.wait, 10) == 0
        assert server.stderr.read() == ""


async def test_a_cloned_voice_goes_on_from_its_reference_in_the_client(
    process: ReferenceProcess, tmp_path: Path
) -> None:
    checkpoint = await asyncio.to_thread(process.checkpoint, BASE)
    reference, wav = tmp_path / "reference.wav", tmp_path / "said.wav"
    reference.write_bytes(reference_wav())
    official = process.official(
        BASE, "generate_voice_clone", SEED, reference, text=TEXT, ref_text="Said before."
    )
    settings = tmp_path / "config.yaml"
    settings.write_text(
        f"voice:\n  task: Base\n  ref_audio: {reference}\n  ref_text: Said before.\n  seed: {SEED}\n"
    )
    with process.server(BASE) as server:
        said = await asyncio.to_thread(
            nearfield, "say", "--config", str(settings), "--server", server.url,
            "--checkpoint", str(checkpoint), "-o", str(wav), "--no-play", TEXT,
        )  # fmt: skip
    assert said.returncode == 0, said.stderr
    heard = samples_of(wav)
    alike(heard, offline(checkpoint, official.decoded, len(official.context)))
    # Without the reference in front the same frames would begin differently.
    assert np.abs(heard / 32768 - offline(checkpoint, official.codes))[:9600].max() > 0.01


def ended(*command: str, **environment: str) -> tuple[int, str]:
    """Run to the end; the exit code and what was said."""
    interpreter, own = python()
    done = subprocess.run(
        [interpreter, *command],
        cwd=ROOT, env=own | environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout == ""
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ([], "--checkpoint"),
        (["--checkpoint", "x", "--ref-folder", "/nowhere"], "--ref-folder /nowhere is no folder"),
        (["--checkpoint", "x", "--api-key-env", "NO_SUCH_KEY"], "NO_SUCH_KEY, which is not set"),
        (["--checkpoint", "x", "--dtype", "int8"], "invalid choice"),
    ],
)
def test_options_that_cannot_be_used_are_named(
    options: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(options)
    assert caught.value.code == 2
    assert text in capsys.readouterr().err


def test_a_checkpoint_that_cannot_be_used_is_told_with_what_it_has_to_be(
    process: ReferenceProcess, tmp_path: Path
) -> None:
    """All in one process, because each import takes seconds."""
    other = tmp_path / "other"
    shutil.copytree(process.checkpoint(CUSTOM_VOICE), other)
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps(config | {"tts_model_type": "singer"}))
    broken = tmp_path / "broken"
    shutil.copytree(process.checkpoint(CUSTOM_VOICE), broken)
    (broken / "model.safetensors").write_bytes(b"no weights")
    slower = tmp_path / "slower"
    shutil.copytree(process.checkpoint(CUSTOM_VOICE), slower)
    tokenizer = {"model_type": "qwen3_tts_tokenizer_25hz"}
    (slower / "speech_tokenizer" / "config.json").write_text(json.dumps(tokenizer))
    empty = tmp_path / "empty"
    empty.mkdir()
    program = (
        "import sys; from server.reference.__main__ import main\n"
        "for path in sys.argv[1:]: assert main(['--port', '0', '--checkpoint', path]) == 2"
    )
    paths = str(broken), str(slower), str(empty), "no/such-repository"
    code, said = ended("-c", program, str(other), *paths)
    assert code == 0, said
    assert "other is a 'singer', known are custom_voice, voice_design, base" in said
    for path in paths:
        assert f"{path} cannot be loaded" in said
    assert f"{slower} cannot be loaded: its speech tokenizer makes 25 frames a second" in said
    assert said.count("It has to be a Qwen3-TTS 12 Hz checkpoint") == len(paths)
    assert "Traceback" not in said


@pytest.mark.parametrize("missing", ["qwen_tts", "librosa", "transformers"])
def test_a_missing_package_is_told_with_the_command_that_brings_it(missing: str) -> None:
    program = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from server.reference.__main__ import main; sys.exit(main(['--checkpoint', 'x']))"
    )
    code, said = ended("-c", program)
    assert code == 2
    assert missing in said
    assert "pip install -r server/reference/requirements.txt" in said
    assert said.count("\n") == 1
