"""An engine client whose talker is simulated: outputs as the API process of vLLM-Omni 0.30 sees them.

Taken from reading ``outputs/output_processor.py``, ``outputs/mm_outputs.py`` and the talker: the value of
``codes.audio`` is a tensor in the first output, then one Python list that grows (the very same list in every
output), and one tensor in the last. Unrealistic: steps of requests do not wait for each other, and tensors
are numpy arrays in a coat unless real ones are asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.helpers.omni_server.scene import Scene, frame_count, reference_codes, true_frames, true_pcm

TALKER_ONLY = "qwen3_tts_talker_only"
TWO_STAGE = "qwen3_tts"


class Coat:
    """As much of a tensor as a reader of rows needs."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    @property
    def shape(self) -> tuple[int, ...]:
        """As of a tensor."""
        return self._array.shape

    def __len__(self) -> int:
        return len(self._array)

    def detach(self) -> Coat:
        """Return it: there is no graph."""
        return self

    def cpu(self) -> Coat:
        """Return it: there is no device."""
        return self

    def numpy(self) -> NDArray[Any]:
        """Return the array."""
        return self._array


def torch_tensor(array: NDArray[Any]) -> Any:
    """Return a real tensor."""
    import torch

    return torch.from_numpy(array.copy())


Tensors = Callable[[NDArray[Any]], Any]


@dataclass
class Generation:
    """One request, as the tests ask about it afterwards."""

    request_id: str
    text: str
    output_kind: str
    steps: int = 0
    """Decode steps done."""
    ended: str = ""
    """"stop", "length", "abort", "error"; "closed" if it was closed or cancelled before its end."""
    abort_asked_at: int | None = None
    """Decode steps done when ``abort`` was called."""
    aborted: asyncio.Event = field(default_factory=asyncio.Event)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can carry."""
        return {
            "request_id": self.request_id,
            "text": self.text,
            "output_kind": self.output_kind,
            "steps": self.steps,
            "ended": self.ended,
            "abort_asked_at": self.abort_asked_at,
        }


class EngineError(Exception):
    """The engine could not go on."""


class FakeEngine:
    """The engine client of a deployment: ``talker-only`` or ``two-stage``."""

    def __init__(
        self, pipeline: str, scene: Scene, tensors: Tensors = Coat, *, adapter: str = TWO_STAGE
    ) -> None:
        self.scene = scene
        self.pipeline = pipeline
        self.generations: list[Generation] = []
        self.unknown_aborts: list[str] = []
        self.dead_error = EngineError("the engine is dead")
        self.default_sampling_params_list = [
            SamplingParams() for _ in range(1 if pipeline == TALKER_ONLY else 2)
        ]
        self.stage_configs = stage_configs(pipeline, adapter)
        self._tensors = tensors

    @property
    def errored(self) -> bool:
        """Whether it is dead."""
        return self.scene.dead

    @property
    def running(self) -> int:
        """Generations that have begun and not ended."""
        return sum(not generation.ended for generation in self.generations)

    async def abort(self, request_id: str) -> None:
        """Abort a generation by the id of its request; one that is not known is only noted."""
        found = [g for g in self.generations if g.request_id == request_id and not g.ended]
        if not found:
            self.unknown_aborts.append(request_id)
        for generation in found:
            generation.abort_asked_at = generation.steps
        if self.scene.abort_fails:
            raise EngineError("the engine does not answer")
        if self.scene.slow_abort_s:
            await asyncio.sleep(self.scene.slow_abort_s)
        for generation in found:
            generation.aborted.set()

    async def generate(
        self,
        prompt: Any,
        request_id: str = "",
        *,
        sampling_params_list: list[SamplingParams] | None = None,
        output_modalities: list[str] | None = None,
        arrival_time: float | None = None,
    ) -> AsyncGenerator[Any, None]:
        """Yield outputs; nothing happens before the first is asked for."""
        assert sampling_params_list is not None
        params = sampling_params_list[0]
        generation = Generation(request_id, prompt["text"], params.output_kind)
        self.generations.append(generation)
        try:
            async for output in self._outputs(generation, prompt, params):
                yield output
        except EngineError:
            generation.ended = "error"
            raise
        finally:
            generation.ended = generation.ended or "closed"

    async def _outputs(
        self, generation: Generation, prompt: dict[str, Any], params: SamplingParams
    ) -> AsyncGenerator[Any, None]:
        scene = self.scene
        frames = true_frames(
            scene, prompt["text"], voice=prompt["voice"], seed=params.seed, max_tokens=params.max_tokens
        )
        is_cut = params.max_tokens is not None and len(frames) < frame_count(scene, prompt["text"], None)
        steps = list(timeline(scene, frames))
        reference = reference_codes(scene) if scene.ref_frames else None
        payload = Payload(self._tensors, reference, has_flags=scene.flags)
        await self._pass(generation, scene.first_step_s)
        for number, step in enumerate(steps):
            if step.number is not None:
                if step.number == scene.error_at:
                    raise EngineError(scene.error_text)
                hangs = step.number == scene.hang_at
                await self._pass(generation, None if hangs else scene.step_s)
            if step.number is not None and step.number == scene.aborted_at:
                generation.aborted.set()
            if generation.aborted.is_set():
                payload.consolidate()
                yield self._output(payload, generation, finish_reason="abort")
                generation.ended = "abort"
                return
            generation.steps += step.number is not None
            payload.add(step)
            is_last = number == len(steps) - 1
            reason = ("length" if is_cut else "stop") if is_last else None
            wakes = is_last or number % scene.burst == scene.burst - 1
            if self.pipeline != TALKER_ONLY:
                if len(step.frames) or is_last:
                    yield _sound(self._tensors, step.frames, reason)
            elif is_last or (params.output_kind == "DELTA" and wakes):
                if is_last:
                    payload.consolidate()
                yield self._output(payload, generation, finish_reason=reason)
        generation.ended = "length" if is_cut else "stop"

    async def _pass(self, generation: Generation, seconds: float | None) -> None:
        if seconds == 0 and not generation.aborted.is_set():
            await asyncio.sleep(0)
            return
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(generation.aborted.wait(), seconds)

    def _output(self, payload: Payload, generation: Generation, finish_reason: str | None) -> Any:
        completion = SimpleNamespace(
            multimodal_output=payload.snapshot(),
            token_ids=[],
            cumulative_token_ids=[1] * generation.steps,
            finish_reason=finish_reason,
            stop_reason=2150 if finish_reason == "stop" else None,
        )
        return SimpleNamespace(
            request_id=generation.request_id,
            outputs=[completion],
            multimodal_output=completion.multimodal_output,
            finished=finish_reason is not None,
            stage_id=0,
            final_output_type="latent",
            error=None,
            metrics={},
        )


@dataclass(frozen=True)
class Step:
    """What one step of the talker emits: rows with their flags, and the frames among them."""

    number: int | None
    """Of the decode step; ``None`` for a part of the prefill."""
    rows: NDArray[np.int64]
    valid: NDArray[np.int8]
    frames: NDArray[np.int16]


def timeline(scene: Scene, frames: NDArray[np.int16]) -> Iterator[Step]:
    """Yield the steps that say ``frames``: zeros of the prefill, then each frame one step after its token."""
    none = frames[:0]
    width = frames.shape[1]

    def step(number: int | None, rows: NDArray[Any], valid: int, true: NDArray[np.int16]) -> Step:
        return Step(number, rows.astype(np.int64), np.full(len(rows), valid, np.int8), true)

    zeros = np.zeros((scene.prefill_rows, width), np.int64)
    for part in np.array_split(zeros, scene.prefill_parts):
        yield step(None, part, 0, none)
    for number, index in enumerate(range(len(frames)), 1):
        if number in scene.stale_at:
            again = np.concatenate([zeros, frames[max(index - 1, 0) : index]])
            yield step(None, again, 0, none)
        yield step(number, frames[index : index + 1], 1, frames[index : index + 1])
        if number in scene.invalid_at:
            yield step(None, zeros[:1], 0, none)


class Payload:
    """The accumulated output of a request, as a completion carries it."""

    def __init__(self, tensors: Tensors, reference: NDArray[np.int16] | None, *, has_flags: bool) -> None:
        self._tensors = tensors
        self._reference = reference
        self._has_flags = has_flags
        self._parts: dict[str, list[NDArray[Any]]] = {}
        self._lists: dict[str, list[Any]] = {}
        self._final: dict[str, Any] = {}

    def add(self, step: Step) -> None:
        """Take what a step emits; a list that was handed out grows with it."""
        self._append("codes.audio", step.rows)
        if self._has_flags:
            self._append("meta.codec_frame_valid", step.valid)
        if self._reference is not None:
            self._append("codes.ref", self._reference.astype(np.int64))

    def _append(self, key: str, value: NDArray[Any]) -> None:
        self._parts.setdefault(key, []).append(value)
        self._lists.setdefault(key, []).append(self._tensors(value))

    def consolidate(self) -> None:
        """Make one tensor of each list, as the last output has it; of equal references the last is kept."""
        for key, parts in self._parts.items():
            whole = parts[-1] if key == "codes.ref" else np.concatenate(parts)
            self._final[key] = self._tensors(whole)

    def snapshot(self) -> dict[str, Any]:
        """Return the nested payload; a list in it is the one that goes on growing."""
        nested: dict[str, Any] = {}
        for key, values in self._lists.items():
            outer, inner = key.split(".")
            value = self._final.get(key, values if len(values) > 1 else values[0])
            nested.setdefault(outer, {})[inner] = value
        return nested


def _sound(tensors: Tensors, frames: NDArray[np.int16], finish_reason: str | None) -> Any:
    """Return the output of a decoding stage."""
    pcm = np.frombuffer(true_pcm(frames), "<i2").astype(np.float32) / 32768.0
    payload = {"audio": tensors(pcm), "sr": 24_000}
    completion = SimpleNamespace(multimodal_output=payload, token_ids=[], finish_reason=finish_reason)
    return SimpleNamespace(
        outputs=[completion],
        multimodal_output=payload,
        finished=finish_reason is not None,
        stage_id=1,
        final_output_type="audio",
        error=None,
        metrics={},
    )


@dataclass
class SamplingParams:
    """What a request may change of how it is sampled."""

    output_kind: str = "CUMULATIVE"
    seed: int | None = None
    max_tokens: int | None = 4096


def stage_configs(pipeline: str, adapter: str) -> list[Any]:
    """Return the stages of a deployment, in the older of the two forms that 0.30 knows."""
    talker = _stage(adapter, final=pipeline == TALKER_ONLY, kind="latent")
    return [talker] if pipeline == TALKER_ONLY else [talker, _stage("code2wav", final=True, kind="audio")]


def _stage(name: str, *, final: bool, kind: str) -> Any:
    return SimpleNamespace(
        engine_args=SimpleNamespace(model_stage=name, model_arch="", worker_type="ar"),
        final_output=final,
        final_output_type=kind if final else None,
    )
