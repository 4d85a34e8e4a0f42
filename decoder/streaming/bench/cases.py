"""The cases that are timed in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from decoder.streaming.backend import Backend
from decoder.streaming.batch import StreamBatch
from decoder.streaming.bench import goals
from decoder.streaming.bench.peak import ConvPeak
from decoder.streaming.bench.subject import CodeSource
from decoder.streaming.bench.timing import Case
from decoder.streaming.machine import Machine
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.static import StaticStep

OFFICIAL_FRAMES = {goals.OFFICIAL_ONE: (1, 1), goals.OFFICIAL_WHOLE: (125, 125), goals.DESCRIBED: (97, 25)}
"""Of each official case: frames that are decoded, and how many of them are new. The described streaming
scheme decodes every chunk of 25 with the 72 frames before it, whose samples it cuts off again."""

_SHORT_FRAMES = 4
"""Steps up to here take milliseconds, and are timed several times a round."""


def step_case_name(backend: Backend, frames: int) -> str:
    """Name the case of a backend's steps."""
    return f"{backend.name}, steps of {frames}"


def step_case(backend: Backend, frames: int, codes: CodeSource, window: int) -> Case:
    """Make a case of an utterance that goes on, step by step, its window full from the start."""
    state = backend.new_state()
    backend.step(codes.take(window), state)

    def run() -> None:
        backend.step(codes.take(frames), state).cpu()

    return Case(step_case_name(backend, frames), run, repeats=4 if frames <= _SHORT_FRAMES else 1)


def official_cases(forward: Callable[[Tensor], Tensor], codes: CodeSource) -> list[Case]:
    """Make the cases that are compared with."""

    def case(name: str, frames: int) -> Case:
        piece = codes.take(frames)
        return Case(name, lambda: forward(piece), repeats=3 if frames <= _SHORT_FRAMES else 1)

    return [case(name, frames) for name, (frames, _) in OFFICIAL_FRAMES.items()]


def peak_case_name(dtype: str) -> str:
    """Name the case of a convolution peak."""
    return f"convolution peak, {dtype}"


def peak_dtypes(machine: Machine, device: torch.device) -> list[torch.dtype]:
    """Return the types whose peak is worth knowing: on a CPU without instructions for it bfloat16 is not."""
    if device.type == "cuda":
        return [torch.float32, torch.float16, torch.bfloat16]
    return [torch.float32, torch.bfloat16] if machine.has_bf16 else [torch.float32]


def peak_case(dtype: str, peak: ConvPeak) -> Case:
    """Make the case of a convolution peak."""
    return Case(peak_case_name(dtype), peak.run, repeats=3)


def in_turn_name(backend: Backend, frames: int) -> str:
    """Name the case of many streams that take turns."""
    return f"{backend.name}, streams in turn, steps of {frames}"


def in_turn_case(backend: Backend, streams: int, frames: int, codes: CodeSource) -> Case:
    """Make a case of many streams, one step each."""
    states = [backend.new_state() for _ in range(streams)]

    def run() -> None:
        for state in states:
            backend.step(codes.take(frames), state).cpu()

    return Case(in_turn_name(backend, frames), run)


def batched_name(frames: int) -> str:
    """Name the case of many streams in one step."""
    return f"batched, steps of {frames}"


def batched_cases(
    decoder: Qwen3TTSTokenizerV2Decoder, streams: int, lengths: Sequence[int], codes: CodeSource
) -> list[Case]:
    """Make cases of many streams whose steps align, decoded together."""
    step = StaticStep(decoder)

    def case(frames: int) -> Case:
        batch = StreamBatch(step, streams)

        def run() -> None:
            for pcm in batch.step({row: codes.take(frames) for row in range(streams)}).values():
                pcm.cpu()

        return Case(batched_name(frames), run)

    return [case(frames) for frames in lengths]
