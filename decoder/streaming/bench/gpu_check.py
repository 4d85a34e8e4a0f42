"""What to run on a machine with an NVIDIA GPU, to see whether it is right there, and how fast.

``python -m decoder.streaming.bench.gpu_check`` prints one JSON object and exits with 0 if all checks passed.
Full size with random weights unless ``--checkpoint`` is given; a minute or two.

Checked are the graphs against the eager steps (equal), both against the CPU's float32 (80 dB), the reduced
precisions (35 dB), and that every planned step length got its graph. Then the bench runs on the device.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from decoder.streaming.backend import Backend
from decoder.streaming.bench.run import BenchRequest, bench
from decoder.streaming.bench.subject import CodeSource, checkpoint_folder
from decoder.streaming.checkpoint import load_checkpoint
from decoder.streaming.cuda_graphs import STEP_FRAMES, CudaGraphs, device_backends
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.snr import snr_db

PARITY_DB = 80.0
REDUCED_DB = 35.0
_EQUAL_DB = 120.0
"""Graphs and eager steps may use different kernels for the same product."""


@dataclass(frozen=True)
class Check:
    """Something that must hold."""

    name: str
    value: float
    at_least: float

    @property
    def passed(self) -> bool:
        """Whether it does (NaN does not)."""
        return self.value >= self.at_least

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"name": self.name, "value": min(self.value, 999.0), "passed": self.passed}


def check(
    on_cpu: Qwen3TTSTokenizerV2Decoder,
    graphs: CudaGraphs,
    eager: CudaGraphs,
    on_device: Qwen3TTSTokenizerV2Decoder,
) -> list[Check]:
    """Decode the same codes in every way and compare.

    Args:
        on_cpu: the reference.
        graphs: the backend as it is used.
        eager: the same weights, without any graph.
        on_device: what the reduced precisions are made from; not the guarded backends, which would hide
            a failure.

    """
    cut = (*STEP_FRAMES, 3, *STEP_FRAMES, 1, 1)
    codes = CodeSource(on_cpu).take(sum(cut))
    with torch.inference_mode():
        whole = on_cpu(codes)
    by_graph, by_hand = _decode(graphs, codes, cut), _decode(eager, codes, cut)
    checks = [
        Check("graphs against eager steps, dB", snr_db(by_hand, by_graph), _EQUAL_DB),
        Check("graphs against the CPU's whole forward, dB", snr_db(whole, by_graph), PARITY_DB),
        Check("step lengths with a graph", float(len(graphs.recorded_frames)), float(len(STEP_FRAMES))),
    ]
    for dtype in (torch.float16, torch.bfloat16):
        name = str(dtype).removeprefix("torch.")
        found = snr_db(whole, _decode(CudaGraphs(on_device, dtype, step_frames=()), codes, cut))
        checks.append(Check(f"{name} against the CPU's whole forward, dB", found, REDUCED_DB))
    return checks


def _decode(backend: Backend, codes: Tensor, cut: tuple[int, ...]) -> Tensor:
    state = backend.new_state()
    return torch.cat([backend.step(piece, state).cpu() for piece in torch.split(codes, list(cut))])


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, measure, print; return an exit code."""
    parser = argparse.ArgumentParser(prog="python -m decoder.streaming.bench.gpu_check", description=__doc__)
    parser.add_argument("--checkpoint", help="a folder or a repository id; left out: random weights")
    parser.add_argument("--rounds", type=int, default=20, help="of the bench")
    options = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        print("torch sees no CUDA device here", file=sys.stderr)
        return 2
    with checkpoint_folder(options.checkpoint) as (folder, _):
        on_cpu = load_checkpoint(folder)
        on_device = deepcopy(on_cpu).to("cuda")
        checks = check(on_cpu, CudaGraphs(on_device), CudaGraphs(on_device, step_frames=()), on_device)
        report = bench(
            BenchRequest(
                checkpoint=str(folder),
                backends=tuple(device_backends(on_device)),
                device="cuda",
                rounds=options.rounds,
                streams=8,
                drift=True,
            ),
            tell=lambda text: print(text, file=sys.stderr),
        )
    result = {
        "device": torch.cuda.get_device_name(),
        "capability": ".".join(map(str, torch.cuda.get_device_capability())),
        "memory_peak_bytes": torch.cuda.max_memory_allocated(),
        "checks": [item.to_dict() for item in checks],
        "bench": report.to_dict(),
    }
    print(json.dumps(result, indent=1))
    return 0 if all(item.passed for item in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
