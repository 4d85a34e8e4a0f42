"""CUDA graphs without CUDA: which lengths get one, what capturing leaves behind, whose state is where."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from decoder.errors import CodesError
from decoder.streaming.backend import backends
from decoder.streaming.cuda_graphs import STEP_FRAMES, CudaGraphs, device_backends
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from tests.decoder.streaming.measure import PARITY_DB, snr_db, step_through


class PretendGraph:
    """Records by keeping the work, and replays by doing it again into the same memory.

    Unrealistic: capturing runs the work for real (a device's capture does not), and nothing is asynchronous.
    The trial runs are real ones on a device, too.
    """

    def __init__(self) -> None:
        self.replays = 0

    def capture(self, work: Callable[[], torch.Tensor]) -> torch.Tensor:
        self.work = work
        for _ in range(3):
            work()
        self.out = work()
        return self.out

    def replay(self) -> None:
        self.replays += 1
        self.out.copy_(self.work())


class Graphs:
    """Makes graphs and keeps them, in the order of their making."""

    def __init__(self) -> None:
        self.made: list[PretendGraph] = []

    def __call__(self) -> PretendGraph:
        self.made.append(PretendGraph())
        return self.made[-1]


@pytest.fixture
def graphs() -> Graphs:
    return Graphs()


@pytest.fixture
def backend(small_decoder: Qwen3TTSTokenizerV2Decoder, graphs: Graphs) -> CudaGraphs:
    return CudaGraphs(small_decoder, new_graph=graphs)


@pytest.fixture
def codes(small_decoder: Qwen3TTSTokenizerV2Decoder, random: torch.Generator) -> torch.Tensor:
    return torch.randint(small_decoder.config.codebook_size, (110, 16), generator=random)


def whole(decoder: Qwen3TTSTokenizerV2Decoder, codes: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return decoder(codes)


@pytest.mark.parametrize("cut", [(1,), (4,), (25,), (3, 12, 1, 73), STEP_FRAMES])
def test_graphs_and_eager_steps_make_one_signal(
    cut: tuple[int, ...],
    backend: CudaGraphs,
    small_decoder: Qwen3TTSTokenizerV2Decoder,
    codes: torch.Tensor,
) -> None:
    """Lengths with and without a graph follow each other on one state."""
    state = backend.new_state()
    out = step_through(lambda piece: backend.step(piece, state), codes, cut, dim=0)
    assert snr_db(whole(small_decoder, codes), out) >= PARITY_DB
    assert state.position_frames == 110


def test_a_length_is_captured_once_and_replayed(
    backend: CudaGraphs, graphs: Graphs, codes: torch.Tensor
) -> None:
    state = backend.new_state()
    for frames in (1, 1, 4, 1, 4, 5, 13):
        backend.step(codes[:frames], state)
    assert [graph.replays for graph in graphs.made] == [3, 2]
    assert backend.eager_steps == 2


def test_what_cannot_be_captured_runs_eagerly_and_says_so_once(
    small_decoder: Qwen3TTSTokenizerV2Decoder, codes: torch.Tensor, caplog: pytest.LogCaptureFixture
) -> None:
    """Also when capturing fails half-way: the state is what it was."""

    class Refusing(PretendGraph):
        def capture(self, work: Callable[[], torch.Tensor]) -> torch.Tensor:
            work()
            raise RuntimeError("operation not permitted when stream is capturing")

    backend = CudaGraphs(small_decoder, new_graph=Refusing)
    state = backend.new_state()
    with caplog.at_level(logging.WARNING):
        out = step_through(lambda piece: backend.step(piece, state), codes[:20], (4,), dim=0)
    assert snr_db(whole(small_decoder, codes[:20]), out) >= PARITY_DB
    assert backend.eager_steps == 5
    assert len(caplog.records) == 1
    assert "4 frames" in caplog.text


def test_utterances_take_turns(
    backend: CudaGraphs, small_decoder: Qwen3TTSTokenizerV2Decoder, codes: torch.Tensor
) -> None:
    """Each has its own state, whoever was resident before; one that is gone is not saved anywhere."""
    other = codes.flip(0)
    first, second = backend.new_state(), backend.new_state()
    heard: tuple[list[torch.Tensor], list[torch.Tensor]] = ([], [])
    for start in range(0, 24, 4):
        heard[0].append(backend.step(codes[start : start + 4], first))
        heard[1].append(backend.step(other[start : start + 4], second))
        backend.step(codes[:1], backend.new_state())
        gc.collect()
    assert snr_db(whole(small_decoder, codes[:24]), torch.cat(heard[0])) >= PARITY_DB
    assert snr_db(whole(small_decoder, other[:24]), torch.cat(heard[1])) >= PARITY_DB


def test_returned_memory_is_the_callers(backend: CudaGraphs, codes: torch.Tensor) -> None:
    """The next replay does not write to what was handed out."""
    state = backend.new_state()
    first = backend.step(codes[:4], state)
    kept = first.clone()
    backend.step(codes[4:8], state)
    assert torch.equal(first, kept)


@pytest.mark.parametrize(
    "bad",
    [
        torch.zeros(2, 15, dtype=torch.int64),
        torch.zeros(16, dtype=torch.int64),
        torch.zeros(2, 16),
        torch.full((1, 16), -1),
        torch.full((1, 16), 64),
    ],
)
def test_bad_codes_change_nothing(bad: torch.Tensor, backend: CudaGraphs, codes: torch.Tensor) -> None:
    state, untouched = backend.new_state(), backend.new_state()
    with pytest.raises(CodesError):
        backend.step(bad, state)
    assert state.position_frames == 0
    assert torch.equal(backend.step(codes[:4], state), backend.step(codes[:4], untouched))


def test_no_frames_are_no_samples(backend: CudaGraphs, graphs: Graphs, codes: torch.Tensor) -> None:
    assert backend.step(codes[:0], backend.new_state()).shape == (0,)
    assert not graphs.made


def test_the_backends_of_a_device(small_decoder: Qwen3TTSTokenizerV2Decoder) -> None:
    """Making one needs no device: graphs are made when they are needed."""
    offered = device_backends(small_decoder)
    assert {name: make().name for name, make in offered.items()} == {name: name for name in offered}
    assert {"exact", "fast"} <= set(offered)


def test_a_device_is_decoded_on_with_graphs() -> None:
    """Which backends there are depends on where the weights are."""
    weight = SimpleNamespace(device=torch.device("cuda", 0))
    decoder: Any = SimpleNamespace(pre_conv=SimpleNamespace(conv=SimpleNamespace(weight=weight)))
    assert set(backends(decoder)) == {"modules", *device_backends(decoder)}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_on_a_device(small_decoder: Qwen3TTSTokenizerV2Decoder, codes: torch.Tensor) -> None:
    """Real graphs, against the CPU."""
    from copy import deepcopy

    backend = CudaGraphs(deepcopy(small_decoder).to("cuda"))
    state = backend.new_state()
    out = step_through(lambda piece: backend.step(piece, state), codes, (1, 4, 25, 7), dim=0)
    assert snr_db(whole(small_decoder, codes), out.cpu()) >= PARITY_DB
