"""Decoding on a CUDA device: one graph for each common step length, replayed on one stream.

A step is hundreds of small kernels; launching them one by one costs more than they take to run, above
all on a Jetson. A graph is captured the first time a length in ``STEP_FRAMES`` is decoded
(``LoadedDecoder.warm_up`` does that) and replayed from then on. Other lengths run eagerly on the same
memory, with the same result.

A graph reads and writes fixed addresses, so there is one resident state. Utterances that take turns are
copied in and out on the device; one alone is never copied. Within a step nothing waits for the device:
codes go up from pinned memory, and the caller waits when it fetches the PCM.

Not yet run on a device: the tests drive this logic with a stand-in for the graph on a CPU.
``python -m decoder.streaming.bench.gpu_check`` is the check to run on a machine with a GPU.
"""

from __future__ import annotations

import contextlib
import logging
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from decoder.errors import CodesError
from decoder.streaming.backend import Backend
from decoder.streaming.guarded_backend import GuardedBackend
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.static import StaticState, StaticStep

logger = logging.getLogger(__name__)

STEP_FRAMES = (1, 2, 4, 8, 12, 25)
"""Step lengths that get a graph."""

_WARM_UP_RUNS = 3
"""Before a capture, as torch asks for: libraries choose kernels and allocate workspaces then."""


class Graph(Protocol):
    """Work on a device, recorded once and replayed."""

    def capture(self, work: Callable[[], Tensor]) -> Tensor:
        """Run ``work`` a few times, record it, and return its output: the same memory at every replay.

        Raises:
            RuntimeError: it cannot be recorded.

        """
        ...

    def replay(self) -> None:
        """Start what was recorded, on the current stream; does not wait."""
        ...


class DeviceGraph:
    """A ``torch.cuda.CUDAGraph``. Graphs of one ``pool`` share memory, so they must not overlap."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._graph = torch.cuda.CUDAGraph()

    def capture(self, work: Callable[[], Tensor]) -> Tensor:
        """As ``Graph.capture``."""
        # The shape is to be used thousands of times, so a search for the best kernels pays.
        before, torch.backends.cudnn.benchmark = torch.backends.cudnn.benchmark, True
        try:
            stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(_WARM_UP_RUNS):
                    work()
            torch.cuda.current_stream().wait_stream(stream)
            # Other threads' calls must not break a capture here.
            with torch.cuda.graph(self._graph, pool=self._pool, capture_error_mode="thread_local"):
                return work()
        finally:
            torch.backends.cudnn.benchmark = before

    def replay(self) -> None:
        """As ``Graph.replay``."""
        self._graph.replay()


@dataclass
class _Recorded:
    """A graph with its ends."""

    graph: Graph
    codes: Tensor
    """``[1, T, 16]``, written before a replay."""
    pcm: Tensor
    """``[1, T * 1920]``, valid until the next replay of any graph."""


class GraphState:
    """Of one utterance; on the device, and in the graphs' own memory while it is this utterance's turn."""

    def __init__(self, away: StaticState) -> None:
        self.away = away
        """Its values while another utterance is resident."""
        self.position_frames = 0

    @property
    def nbytes(self) -> int:
        """Bytes of carried tensors."""
        return self.away.nbytes


class CudaGraphs:
    """The backend. ``product_dtype`` is what convolutions and matrix products compute in.

    Attributes:
        name: as in ``backends``.
        eager_steps: how many steps had no graph, so far.

    """

    def __init__(
        self,
        decoder: Qwen3TTSTokenizerV2Decoder,
        product_dtype: torch.dtype = torch.float32,
        *,
        name: str = "exact",
        step_frames: tuple[int, ...] = STEP_FRAMES,
        new_graph: Callable[[], Graph] | None = None,
    ) -> None:
        self.name = name
        self.eager_steps = 0
        self._step = StaticStep(decoder, product_dtype)
        self._config = decoder.config
        self._resident = self._step.new_state()
        self._owner: weakref.ref[GraphState] | None = None
        self._step_frames = frozenset(step_frames)
        self._recorded: dict[int, _Recorded | None] = {}
        """None: cannot be recorded, so runs eagerly."""
        self._new_graph = new_graph or _graphs_of_one_pool()

    def new_state(self) -> GraphState:
        """Return the state before the first frame."""
        return GraphState(self._step.new_state())

    def step(self, codes: Tensor, state: GraphState) -> Tensor:
        """Decode the next frames: codes, integer ``[T, 16]`` -> pcm, float32 ``[T * 1920]`` on the device.

        Returns before the device is done. Codes that are on the device already are checked for their shape
        only, because looking at their values would wait.

        Raises:
            CodesError: wrong shape, or a code outside ``0..codebook_size-1``; ``state`` is untouched.

        """
        codes = self._checked(codes)
        frames = codes.shape[0]
        if frames == 0:
            return self._resident.carried.new_empty(0)
        with torch.inference_mode(), self._on_device():
            self._make_resident(state)
            pcm = self._run(codes, frames)
        state.position_frames += frames
        return pcm

    def prime(self, codes: Tensor, state: GraphState) -> None:
        """Take the next frames and emit nothing."""
        self.step(codes, state)

    @property
    def recorded_frames(self) -> list[int]:
        """Step lengths that have a graph by now."""
        return sorted(frames for frames, recorded in self._recorded.items() if recorded is not None)

    def _run(self, codes: Tensor, frames: int) -> Tensor:
        """Step the resident state."""
        recorded = self._graph_for(frames)
        if recorded is None:
            self.eager_steps += 1
            return self._step(self._uploaded(codes)[None], self._resident)[0]
        recorded.codes.copy_(self._pinned(codes)[None], non_blocking=True)
        recorded.graph.replay()
        return recorded.pcm[0].clone()

    def _on_device(self) -> AbstractContextManager[None]:
        """Make the weights' device the current one: graphs and streams belong to that."""
        device = self._step.device
        return torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()

    def _graph_for(self, frames: int) -> _Recorded | None:
        """Return the graph for this length, recorded now if need be; None: run eagerly."""
        if frames not in self._step_frames:
            return None
        if frames not in self._recorded:
            self._recorded[frames] = self._record(frames)
        return self._recorded[frames]

    def _record(self, frames: int) -> _Recorded | None:
        """Capture a step; its trial runs leave no trace in the resident state."""
        graph = self._new_graph()
        books = self._config.num_quantizers
        codes = torch.zeros(1, frames, books, dtype=torch.int64, device=self._step.device)
        before = self._step.new_state()
        before.copy_(self._resident)
        try:
            pcm = graph.capture(lambda: self._step(codes, self._resident))
        except RuntimeError as error:
            logger.warning("no CUDA graph for steps of %d frames, they run eagerly: %s", frames, error)
            return None
        finally:
            self._resident.copy_(before)
        return _Recorded(graph, codes, pcm)

    def _make_resident(self, state: GraphState) -> None:
        """Bring the values of ``state`` to where the graphs work, and save those of whoever was there."""
        owner = self._owner() if self._owner is not None else None
        if owner is state:
            return
        if owner is not None:
            owner.away.copy_(self._resident)
        self._resident.copy_(state.away)
        self._owner = weakref.ref(state)

    def _checked(self, codes: Tensor) -> Tensor:
        books, size = self._config.num_quantizers, self._config.codebook_size
        if codes.dim() != 2 or codes.shape[1] != books or codes.is_floating_point():
            raise CodesError(f"codes must be integers [T, {books}], not {codes.dtype} {list(codes.shape)}")
        if codes.device.type == "cpu" and codes.numel():
            lowest, highest = int(codes.min()), int(codes.max())
            if lowest < 0 or highest >= size:
                raise CodesError(f"codes must be 0..{size - 1}, not {lowest}..{highest}")
        return codes.to(torch.int64)

    def _pinned(self, codes: Tensor) -> Tensor:
        """Return codes that can be copied to the device without waiting for it."""
        return codes.pin_memory() if self._step.device.type == "cuda" and not codes.is_cuda else codes

    def _uploaded(self, codes: Tensor) -> Tensor:
        return self._pinned(codes).to(self._step.device, non_blocking=True)


def device_backends(decoder: Qwen3TTSTokenizerV2Decoder) -> dict[str, Callable[[], Backend]]:
    """Return the backends of a decoder whose weights are on a CUDA device, by name.

    ``fast`` computes products in float16: three bits more than bfloat16, and signals here stay far below
    its limit. What is not a number is done again in float32; to find out, the reduced ones wait for the
    device at the end of a step.
    """

    def reduced(name: str, dtype: torch.dtype) -> Callable[[], Backend]:
        return lambda: GuardedBackend(CudaGraphs(decoder, dtype, name=name), lambda: CudaGraphs(decoder))

    return {
        "exact": lambda: CudaGraphs(decoder),
        "fast": reduced("fast", torch.float16),
        "bfloat16": reduced("bfloat16", torch.bfloat16),
    }


def _graphs_of_one_pool() -> Callable[[], Graph]:
    pools: list[Any] = []

    def new_graph() -> Graph:
        if not pools:
            pools.append(torch.cuda.graph_pool_handle())
        return DeviceGraph(pools[0])

    return new_graph
