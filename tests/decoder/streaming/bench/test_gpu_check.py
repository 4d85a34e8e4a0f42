"""The check for a GPU machine, with pretended graphs on a CPU: it must be able to pass and to fail."""

from __future__ import annotations

import pytest
import torch

from decoder.streaming.bench.gpu_check import Check, check, main
from decoder.streaming.cuda_graphs import STEP_FRAMES, CudaGraphs
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from tests.decoder.streaming.test_cuda_graphs import PretendGraph


def checks_of(decoder: Qwen3TTSTokenizerV2Decoder, graph: type[PretendGraph]) -> dict[str, Check]:
    graphs = CudaGraphs(decoder, new_graph=graph)
    eager = CudaGraphs(decoder, step_frames=())
    return {item.name: item for item in check(decoder, graphs, eager, decoder)}


def test_what_is_right_passes(small_decoder: Qwen3TTSTokenizerV2Decoder) -> None:
    checks = checks_of(small_decoder, PretendGraph)
    assert len(checks) == 5
    assert checks.pop("bfloat16 against the CPU's whole forward, dB").value > 20.0  # by these weights
    assert all(item.passed for item in checks.values()), checks
    assert checks["step lengths with a graph"].value == len(STEP_FRAMES)


def test_a_graph_that_replays_something_else_fails(small_decoder: Qwen3TTSTokenizerV2Decoder) -> None:
    class Stale(PretendGraph):
        def replay(self) -> None:
            """Leave the output of the capture where it is."""

    checks = checks_of(small_decoder, Stale)
    assert not checks["graphs against eager steps, dB"].passed
    assert not checks["graphs against the CPU's whole forward, dB"].passed
    assert checks["float16 against the CPU's whole forward, dB"].passed


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr().err == "torch sees no CUDA device here\n"
