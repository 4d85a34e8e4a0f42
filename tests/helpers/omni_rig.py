"""Starts the released vLLM-Omni handlers in a process of their own, over a simulated talker.

What can be served: the stock handler of 0.30 (PCM), the same with the plug-in, a talker-only deployment with
or without it, a model whose adapter cannot send codec tokens, the handler of 0.22 (the old generation), all
of them with a key or behind TLS. Unrealistic: see ``omni_server.engine``; the rest of vLLM's server is left
out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from decoder.wire.packets import Codes
from tests.helpers.omni_server.engine import TALKER_ONLY, TWO_STAGE
from tests.helpers.omni_server.scene import VOICES, Scene, true_frames
from tests.server.conformance.under_test import ServerUnderTest

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "server" / "omni_plugin"
NEW, OLD = "0.30.0", "0.22.0"
KEY = "a key for the tests"


def peer(name: str, version: str) -> Path:
    """Return where ``packaging/bootstrap.sh --test`` has put a library that must not be in our environment.

    Raises:
        FileNotFoundError: it is not there; the text says which command brings it.

    """
    folder = Path(sys.prefix) / "peers" / f"{name}-{version}"
    if not folder.is_dir():
        raise FileNotFoundError(f"{name} {version} is missing; run packaging/bootstrap.sh --test")
    return folder


def ask_probe(module: str, job: Any = None) -> Any:
    """Return what a module prints as JSON when it is run in a process of its own, with ``job`` to read."""
    done = subprocess.run(
        [sys.executable, "-m", module],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{module} has failed:\n{done.stderr}")
    return json.loads(done.stdout)


class OmniServer:
    """One running server."""

    def __init__(self, process: subprocess.Popen[str], scene: Scene, log: Path, tls: bool) -> None:
        self._process = process
        self._log = log
        self._scheme_end = "s" if tls else ""
        self.scene = scene
        self.port = int(self._answer()["port"])

    @property
    def url(self) -> str:
        """Address of the stream."""
        return f"ws{self._scheme_end}://127.0.0.1:{self.port}/v1/audio/speech/stream"

    @property
    def http_url(self) -> str:
        """Root of the HTTP paths, without a slash at the end."""
        return f"http{self._scheme_end}://127.0.0.1:{self.port}"

    def play(self, scene: Scene) -> None:
        """Let generations that begin from now on go like ``scene``."""
        self._ask({"scene": scene.to_dict()})
        self.scene = scene

    def state(self) -> dict[str, Any]:
        """Return what goes on inside.

        ``running`` counts generations, ``generations`` has for each ``text``, ``steps``, ``ended``,
        ``abort_asked_at`` and ``output_kind``; ``unknown_aborts``, ``marked_ready`` and ``discarded`` hold
        ids of requests; ``pipelines`` and ``models`` are registered names; ``tasks`` counts the loop's, and
        ``loaded`` names the modules that the plug-in loaded when it was registered.
        """
        state: dict[str, Any] = self._ask({"ask": "state"})
        return state

    def running(self) -> int:
        """Return how many generations run now."""
        return int(self.state()["running"])

    def log(self) -> str:
        """Return what the server has logged so far."""
        return self._log.read_text()

    def _ask(self, question: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server has ended:\n{self.log()}")
        return json.loads(line)


@contextmanager
def omni_server(
    scene: Scene | None = None,
    *,
    plugin: bool | Path = False,
    talker_only: bool = False,
    adapter: str = TWO_STAGE,
    version: str = NEW,
    release: Path | None = None,
    api_key: str | None = None,
    certificate: Path | None = None,
    key: Path | None = None,
    idle_timeout_s: float = 30.0,
    config_timeout_s: float = 10.0,
    environment: dict[str, str] | None = None,
) -> Iterator[OmniServer]:
    """Serve until the block ends.

    ``plugin`` is true for the plug-in of this repository, or the folder in which its wheel is installed.
    ``adapter`` is the name of the loaded TTS model. ``release`` is a folder with a vLLM-Omni in place of the
    released one of ``version``. ``certificate`` and ``key`` are PEM files. ``environment`` is added to ours.
    """
    scene = scene or Scene()
    path = [str(release or peer("vllm-omni", version))]
    if plugin:
        path.append(str(PLUGIN if plugin is True else plugin))
    job = {
        "path": path,
        "plugin": "installed" if isinstance(plugin, Path) else plugin,
        "scene": scene.to_dict(),
        "pipeline": TALKER_ONLY if talker_only else TWO_STAGE,
        "adapter": adapter,
        "api_key": api_key,
        "certificate": certificate and str(certificate),
        "key": key and str(key),
        "idle_timeout_s": idle_timeout_s,
        "config_timeout_s": config_timeout_s,
    }
    with tempfile.TemporaryDirectory() as folder, open(Path(folder) / "log", "w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.omni_server"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            bufsize=1,
            env={**os.environ, **(environment or {})},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            yield OmniServer(process, scene, Path(folder) / "log", tls=certificate is not None)
        finally:
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()


@contextmanager
def plugin_server() -> Iterator[ServerUnderTest]:
    """Serve the plug-in under the released handler, as the conformance suite wants it."""
    scene = Scene(step_s=0.012, stale_at=(4,), invalid_at=(3, 6), prefill_parts=2, ref_frames=90)
    with omni_server(
        scene, plugin=True, talker_only=True, api_key=KEY, idle_timeout_s=1.5, config_timeout_s=1.0
    ) as server:

        def frames(text: str, config: Mapping[str, Any]) -> Codes:
            voice, seed, limit = (
                config.get("voice", VOICES[0]),
                config.get("seed"),
                config.get("max_new_tokens"),
            )
            return true_frames(scene, text.strip(), voice=voice, seed=seed, max_tokens=limit)

        yield ServerUnderTest(
            url=server.url,
            http_url=server.http_url,
            config={"voice": VOICES[0]},
            voices=("default", *VOICES),
            frames=frames,
            generating=server.running,
            api_key=KEY,
            sends_context={},
            speaks_pcm=False,
            config_timeout_s=1.0,
            idle_timeout_s=1.5,
            oversize_closes_with=None,
        )
