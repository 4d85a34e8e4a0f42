"""Who has fetched nothing can use a server that decodes itself, and is told what any other needs."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from server.emulator import Emulator, Scenario, SyntheticTalker


async def say(url: str, cache: Path) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "app.cli", "say", "hello there", "--json", "--no-play", "--server", url),
        env={**os.environ, "HF_HOME": str(cache), "HF_HUB_OFFLINE": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), 120)
    return process.returncode, out.decode(), err.decode()


async def test_a_server_that_decodes_needs_no_decoder_here(tmp_path: Path) -> None:
    """PCM is played through the same engine, and it is said who decodes."""
    async with Emulator(SyntheticTalker(), Scenario(kind="stock", pace=0)) as emulator:
        code, out, err = await say(emulator.url, tmp_path)
    assert code == 0, err
    report = json.loads(out)
    assert report["outcome"] == "complete"
    assert report["audio_s"] > 0
    assert report["rtf"] is None
    assert "decodes itself" in err


async def test_a_server_of_codec_tokens_needs_one_and_that_is_said(tmp_path: Path) -> None:
    """Nothing is spoken, nothing hangs, and the next step is in the message."""
    async with Emulator(SyntheticTalker(), Scenario(pace=0)) as emulator:
        code, out, err = await say(emulator.url, tmp_path)
        assert not emulator.utterances
    assert code == 2, err
    assert "nearfield fetch Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice" in err
    assert out == ""
