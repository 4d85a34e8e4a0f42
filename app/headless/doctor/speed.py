"""Decodes for a moment and prints how long it took: ``python -m app.headless.doctor.speed FOLDER …``.

A process of its own, because whatever torch does to this machine must not happen to the doctor.
"""

from __future__ import annotations

import json
import sys
import time
from statistics import median

ROUNDS = 5
STEPS = (1, 12)
"""Frames; one is what the first sound waits for, twelve is what keeps up."""


def main(folder: str, device: str, threads: str, precision: str) -> None:
    """Print one JSON object: seconds of a step by its length, and what decoded.

    Raises:
        CheckpointError: it cannot be loaded.

    """
    from decoder.streaming import load_decoder

    begun_s = time.perf_counter()
    loaded = load_decoder(folder, device=device, threads=int(threads) or None, precision=precision)
    loaded.prepare_thread()
    loaded_s = time.perf_counter()
    taken = [loaded.warm_up(STEPS) for _ in range(ROUNDS)]
    found = {
        "load_s": round(loaded_s - begun_s, 3),
        "backend": loaded.backend.name,
        "device": loaded.device,
        "threads": loaded.threads,
        **{f"step_{frames}_s": median(times[frames] for times in taken) for frames in STEPS},
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
