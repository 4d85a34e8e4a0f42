"""Numbers of the stages that are well formed each, and with which nobody hears well, or nothing starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from decoder.spec import CodecSpec
from server.deploy.deployment import (
    DECODER,
    STOPS,
    TALKER,
    Deployment,
    Stages,
    devices,
    sampling,
    setting,
    whole,
)
from server.deploy.findings import Finding, Place, error, warning
from server.deploy.tree import Value, lay_stage_over, stages_by_id

_SPEC = CodecSpec()
LEAST_SEQS = 4
LEAST_TOKENS = 2
DEFAULT_MEMORY_SHARE = 0.92
"""What vllm 0.30.0 takes of a GPU if nothing is said."""
DEFAULT_MAX_TOKENS = 16
"""Of vllm's SamplingParams."""


def check_settings(deployment: Deployment) -> Iterator[Finding]:
    """Yield what is wrong with the stages' numbers, as they are and as each platform changes them."""
    stages: Stages = deployment.stages
    variants = [stages]
    for entry in deployment.platforms:
        changes = dict(stages_by_id(entry.value.get("stages")))
        if changes.keys() & stages.keys():
            variants.append({i: _on_platform(stage, changes.get(i)) for i, stage in stages.items()})
    found = (rule(deployment, variant) for variant in variants for rule in _RULES)
    # Most of it is the same on every platform.
    yield from dict.fromkeys(chain.from_iterable(found))


def _on_platform(stage: Value, changes: Value | None) -> Value:
    # What is missing is missing from the stage, not from what a platform changes of it.
    return stage if changes is None else replace(lay_stage_over(stage, changes), place=stage.place)


def _admission(deployment: Deployment, stages: Stages) -> Iterator[Finding]:
    for stage_id, stage in stages.items():
        seqs, batched = setting(stage, "max_num_seqs"), setting(stage, "max_num_batched_tokens")
        count, tokens = whole(seqs), whole(batched)
        if seqs is not None and count is not None and 0 < count < LEAST_SEQS:
            what = f"`max_num_seqs: {count}` speaks {count} at a time: whoever comes next is heard with gaps"
            if stage_id == TALKER:
                yield error(seqs.place, what, f"write `max_num_seqs: 64`, and never less than {LEAST_SEQS}")
            else:
                yield warning(seqs.place, what, f"write {LEAST_SEQS} or more, unless only one listens")
        if batched is None or tokens is None:
            continue
        if count is not None and tokens < count:
            what = f"`max_num_batched_tokens: {tokens}` is less than `max_num_seqs: {count}`: {STOPS}"
            yield error(batched.place, what, f"write {count} at least; 512 is quick, 8192 takes more at once")
        chunked = setting(stage, "enable_chunked_prefill") or deployment.root.get("enable_chunked_prefill")
        length = whole(setting(stage, "max_model_len")) or 0
        if chunked is not None and chunked.data is False and tokens < length:
            what = (
                f"`enable_chunked_prefill` is off, and a prompt may have more than {tokens} tokens: {STOPS}"
            )
            yield error(batched.place, what, "leave `enable_chunked_prefill` out")


def _talker_sampling(deployment: Deployment, stages: Stages) -> Iterator[Finding]:
    stage = stages.get(TALKER)
    params = sampling(stage) if stage is not None else None
    if params is None or params.is_open:
        return
    least, most = params.get("min_tokens"), params.get("max_tokens")
    advice = f"write `min_tokens: {LEAST_TOKENS}` under `default_sampling_params`"
    if least is None:
        what = "without `min_tokens` some checkpoints stop at once, and nothing is heard"
        yield error(params.place, what, advice)
    elif (count := whole(least)) is not None and count < LEAST_TOKENS:
        what = f"`min_tokens: {count}` lets some checkpoints stop at once, and nothing is heard"
        yield error(least.place, what, advice)
    if most is None:
        seconds = DEFAULT_MAX_TOKENS / _SPEC.frame_rate_hz
        what = (
            f"without `max_tokens` vllm ends each sentence after {DEFAULT_MAX_TOKENS} frames, {seconds:.2f} s"
        )
        yield error(params.place, what, "write `max_tokens: 4096` under `default_sampling_params`")
    elif least is not None and (whole(least) or 0) > (whole(most) or 0) > 0:
        yield error(least.place, f"`min_tokens` is above `max_tokens: {most.data}`: {STOPS}", advice)
    if (stop := params.get("stop")) is not None:
        what = f"`stop` looks for words, and a talker writes codes: {STOPS}"
        yield error(stop.place, what, "take it out; the pipeline adds the stop token")
    stop_ids = params.get("stop_token_ids")
    for item in stop_ids.items if stop_ids is not None else ():
        token = whole(item)
        if token is not None and 0 <= token < _SPEC.codebook_size:
            what = f"stop token {token} is a code that is spoken: a sentence ends wherever it sounds"
            yield error(
                item.place, what, "take `stop_token_ids` out; the pipeline adds 2150, the talker's own"
            )


def _lengths(deployment: Deployment, stages: Stages) -> Iterator[Finding]:
    for stage in stages.values():
        length, most = setting(stage, "max_model_len"), whole(sampling(stage).get("max_tokens"))
        room = whole(length)
        if length is not None and most is not None and room is not None and 0 < room < most:
            what = f"`max_model_len: {room}` holds prompt and sound together, less than `max_tokens: {most}`"
            yield error(length.place, what, f"write `max_model_len: {most}` at least, or less `max_tokens`")
    talker, decoder = stages.get(TALKER), stages.get(DECODER)
    frames = whole(sampling(talker).get("max_tokens")) if talker is not None else None
    if frames is None or decoder is None:
        return
    needed = frames * _SPEC.codebooks
    for key in ("max_model_len", "max_num_batched_tokens"):
        value = setting(decoder, key)
        room = whole(value)
        if value is not None and room is not None and 0 < room < needed:
            what = f"{frames} frames are {needed} codes for the decoder, more than `{key}: {room}`"
            yield warning(value.place, what, f"write `{key}: {needed}`")


def _memory(deployment: Deployment, stages: Stages) -> Iterator[Finding]:
    shares: dict[str, list[tuple[float, Place]]] = {}
    for stage_id, stage in stages.items():
        value = setting(stage, "gpu_memory_utilization")
        share = value.data if value is not None else DEFAULT_MEMORY_SHARE
        if isinstance(share, bool) or not isinstance(share, int | float):
            continue
        if value is None:
            what = f"stage {stage_id} says no `gpu_memory_utilization`, and takes {DEFAULT_MEMORY_SHARE}"
            yield warning(stage.place, what, "write the share of the GPU that it may have, such as 0.3")
        for device in dict.fromkeys(devices(stage)):
            shares.setdefault(device, []).append((float(share), (value or stage).place))
    for device, taken in shares.items():
        total = sum(share for share, _ in taken)
        if len(taken) > 1 and total > 1:
            parts = " + ".join(f"{share:g}" for share, _ in taken)
            what = f"the stages on GPU {device} take {parts} = {total:.2f} of its memory"
            yield error(taken[-1][1], what, "write shares whose sum is below 1, such as 0.3 each")


def _devices(deployment: Deployment, stages: Stages) -> Iterator[Finding]:
    for stage in stages.values():
        value = stage.get("devices")
        if value is None or not isinstance(value.data, str) or value.is_open:
            continue
        names = devices(stage)
        if not names or not all(name.isdecimal() for name in names):
            what = f"`devices: {value.data}` are not numbers of GPUs"
            yield error(value.place, what, 'write numbers with commas, in quotes, such as `devices: "0"`')
            continue
        if len(set(names)) < len(names):
            what = f"`devices` names GPU {max(names, key=names.count)} twice"
            yield error(value.place, what, "name each GPU once")
        width = whole(setting(stage, "tensor_parallel_size")) or 1
        replicas = whole(stage.get("num_replicas")) or 1
        if width > len(names):
            what = f"`tensor_parallel_size: {width}` wants {width} GPUs, and `devices` names {len(names)}"
            yield error(value.place, what, "name as many; Qwen3-TTS is small enough for one")
        elif replicas > 1 and len(names) not in (width, width * replicas):
            needed = width * replicas
            what = (
                f"`num_replicas: {replicas}` wants {needed} GPUs, and `devices` names {len(names)}: {STOPS}"
            )
            yield error(value.place, what, "name all of them, or those of one as a pattern that starts at 0")
        elif replicas > 1 and len(names) == width and any(int(name) >= width for name in names):
            what = f"`devices: {value.data}` is a pattern for {replicas} replicas, and starts at 0: {STOPS}"
            yield error(value.place, what, "name the GPUs of all replicas, or those of one from 0 on")


def _prefix_cache(deployment: Deployment, stages: Stages) -> Iterator[Finding]:
    decoder = stages.get(DECODER)
    if decoder is None:
        return
    value: Value | None = setting(decoder, "enable_prefix_caching") or deployment.root.get(
        "enable_prefix_caching"
    )
    if value is not None and value.data is True:
        what = "the decoder's stage does not support the prefix cache"
        yield warning(value.place, what, "write `enable_prefix_caching: false` in stage 1")


_RULES = (_admission, _talker_sampling, _lengths, _memory, _devices, _prefix_cache)
