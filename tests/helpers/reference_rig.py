"""The reference talker under test: one process for all tests of a run, servers in it on demand.

``REFERENCE_PYTHON`` names the interpreter of an environment made by ``server/reference/README.md``,
to run the same tests with the true packages; without it, it is ours, with stand-ins for what only the
official package needs.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from decoder.wire.packets import Codes
from tests.helpers.tiny_kinds import CUSTOM_VOICE, SPEAKERS
from tests.server.conformance.under_test import ServerUnderTest

ROOT = Path(__file__).parents[2]
PEERS = Path(__file__).parent / "reference_peers"
OWN_PYTHON = "REFERENCE_PYTHON"
KEY = "a key for the tests"
TEXT = "Hi there."
LONG_TEXT = "It goes on and on. " * 20
CONFIG_TIMEOUT_S = 1.0
IDLE_TIMEOUT_S = 1.5
PATIENCE_S = 120.0
"""How long one command may take, the loading of everything included."""
REF_TEXT = "What was said."
REF_HZ = 16_000


def python() -> tuple[str, dict[str, str]]:
    """Return the interpreter that can import qwen-tts, and the environment it needs."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1"}
    if own := os.environ.get(OWN_PYTHON):
        return own, environment
    return sys.executable, environment | {"PYTHONPATH": str(PEERS)}


def reference_wav(seconds: float = 1.5, rate_hz: int = REF_HZ) -> bytes:
    """Return a sound to clone: a tone with some noise."""
    t = np.arange(round(seconds * rate_hz)) / rate_hz
    noise = np.random.default_rng(1).normal(0.0, 0.02, len(t))
    file = BytesIO()
    soundfile.write(file, 0.3 * np.sin(2 * np.pi * 220 * t) + noise, rate_hz, format="WAV")
    return file.getvalue()


def data_uri(wav: bytes) -> str:
    return f"data:audio/wav;base64,{base64.b64encode(wav).decode()}"


@dataclass(frozen=True)
class OpenServer:
    """A server in the process, with what a test may look at."""

    process: ReferenceProcess
    number: int
    name: str
    url: str
    http_url: str

    def generating(self) -> int:
        """Generations that the model is at: 0 or 1."""
        return self.process.ask("generating", name=self.name)  # type: ignore[no-any-return]

    def forwards(self) -> int:
        """Steps that the model has begun so far, the reading of texts included."""
        return self.process.ask("forwards", name=self.name)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Official:
    """What the official code makes without streaming."""

    codes: Codes
    """The frames."""
    context: Codes
    """Those of the reference."""
    decoded: Codes
    """What it hands to its decoder: both."""


class ReferenceProcess:
    """This end of ``reference_process``; its methods block, and any thread may call them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        interpreter, environment = python()
        self._errors = (folder / "stderr.txt").open("w+")
        self._process = subprocess.Popen(
            [interpreter, "-m", "tests.helpers.reference_process", str(folder)],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._lock = threading.Lock()

    def ask(self, do: str, **fields: Any) -> Any:
        """Return the result of a command."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            patience = threading.Timer(PATIENCE_S, self._process.kill)
            patience.start()
            try:
                self._process.stdin.write(json.dumps({"do": do, **fields}) + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
            finally:
                patience.cancel()
                patience.join()
        if not line:
            self._errors.seek(0)
            raise RuntimeError(
                f"the process of the reference talker has ended:\n{self._errors.read()[-4000:]}"
            )
        answer = json.loads(line)
        if "error" in answer:
            if "NotInstalled" in answer["error"]:
                raise RuntimeError(f"packaging/bootstrap.sh --test brings what is missing: {answer['error']}")
            raise RuntimeError(answer["error"])
        return answer["result"]

    def checkpoint(self, kind: str) -> Path:
        """Return the folder of a tiny checkpoint."""
        return Path(self.ask("make", kind=kind))

    @contextmanager
    def server(
        self,
        kind: str,
        *,
        api_key: str | None = None,
        ref_folder: Path | None = None,
        ref_http: bool = False,
        dtype: str = "float32",
        **scenario: Any,
    ) -> Iterator[OpenServer]:
        """Run a server for the time of the block; ``scenario`` may shorten its time-outs."""
        opened = self.ask(
            "open",
            kind=kind,
            scenario=scenario,
            api_key=api_key,
            ref_folder=None if ref_folder is None else str(ref_folder),
            ref_http=ref_http,
            dtype=dtype,
        )
        server = OpenServer(self, **opened)
        try:
            yield server
        finally:
            self.ask("close", number=server.number)

    def official(
        self, kind: str, method: str, seed: int, reference: Path | None = None, **arguments: Any
    ) -> Official:
        """Call a method of ``Qwen3TTSModel`` after seeding torch, on a model of its own."""
        path = None if reference is None else str(reference)
        found = self.ask("official", kind=kind, method=method, seed=seed, arguments=arguments, reference=path)
        return Official(**{name: np.array(rows, np.int16).reshape(-1, 16) for name, rows in found.items()})

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()


_users = 0
_shared: tuple[ReferenceProcess, tempfile.TemporaryDirectory[str]] | None = None


@contextmanager
def reference_process() -> Iterator[ReferenceProcess]:
    """Share one process among all who are in this block; to start it takes seconds."""
    global _users, _shared
    if _shared is None:
        folder = tempfile.TemporaryDirectory()
        _shared = ReferenceProcess(Path(folder.name)), folder
    _users += 1
    try:
        yield _shared[0]
    finally:
        _users -= 1
        if not _users:
            process, folder = _shared
            _shared = None
            process.close()
            folder.cleanup()


@contextmanager
def reference_server() -> Iterator[ServerUnderTest]:
    """Run the reference talker on a tiny CustomVoice checkpoint, for the conformance suite."""
    with (
        reference_process() as process,
        process.server(
            CUSTOM_VOICE, api_key=KEY, config_timeout_s=CONFIG_TIMEOUT_S, idle_timeout_s=IDLE_TIMEOUT_S
        ) as server,
    ):
        yield ServerUnderTest(
            url=server.url,
            http_url=server.http_url,
            config={"voice": "vivian"},
            voices=("default", *SPEAKERS),
            text=TEXT,
            sentences=("One two.", "Three."),
            long_text=LONG_TEXT,
            generating=server.generating,
            api_key=KEY,
            speaks_pcm=False,
            config_timeout_s=CONFIG_TIMEOUT_S,
            idle_timeout_s=IDLE_TIMEOUT_S,
        )
