"""Load time and memory of a process that does nothing but decode: measured in one of its own.

``python -m decoder.streaming.bench.footprint FOLDER`` prints one JSON object.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from decoder.errors import BenchError
from decoder.streaming.bench.memory import memory, reset_peak
from decoder.streaming.bench.report import Footprint

_TIMEOUT_S = 300.0
_STEPS = (1, 4, 12, 25)
"""Frames; as the application warms up."""


def footprint(
    folder: Path, *, backend: str, threads: int, device: str = "cpu", also: tuple[str, ...] = ()
) -> Footprint:
    """Measure in a new process.

    Args:
        folder: a checkpoint; read once before, so that its pages are cached.
        backend: as in ``backend.backends``.
        threads: of the decoder.
        device: as ``load_decoder``'s.
        also: modules that this process imports as well (the application's, to count their memory).

    Raises:
        BenchError: the process failed; the text is the end of what it said.

    """
    command = [sys.executable, "-m", __name__, str(folder), "--backend", backend, "--threads", str(threads)]
    command += ["--device", device, *(f"--import={name}" for name in also)]
    try:
        done = subprocess.run(  # noqa: S603 — this very module
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"loading in a new process took longer than {_TIMEOUT_S:.0f} s") from error
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise BenchError(f"loading in a new process failed: {last[0]}")
    return Footprint(**json.loads(done.stdout))


def measure(folder: Path, *, backend: str, threads: int, device: str, also: tuple[str, ...]) -> Footprint:
    """Measure in this process, which should be new."""
    for name in also:
        importlib.import_module(name)
    start = time.perf_counter()
    from decoder.streaming.bench.subject import load

    imported = time.perf_counter()
    reset_peak()
    loaded = load(folder, backend=backend, threads=threads, device=device)
    loaded.prepare_thread()
    ready = time.perf_counter()
    loaded.warm_up(_STEPS)
    warm = time.perf_counter()
    now = memory()
    return Footprint(imported - start, ready - imported, warm - ready, now.resident_bytes, now.peak_bytes)


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m decoder.streaming.bench.footprint", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--backend", default="exact")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--import", dest="also", action="append", default=[])
    options = parser.parse_args()
    found = measure(
        options.folder,
        backend=options.backend,
        threads=options.threads,
        device=options.device,
        also=tuple(options.also),
    )
    json.dump(asdict(found), sys.stdout)


if __name__ == "__main__":
    _main()
