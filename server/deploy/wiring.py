"""Which stages there are, and how they are joined: what vllm-omni would ignore, or stop at."""

from __future__ import annotations

from collections.abc import Iterator

from server.deploy.deployment import DECODER, STOPS, TALKER, TALKER_ONLY, TWO_STAGE, Deployment, place_in
from server.deploy.findings import Finding, error, note, warning
from server.deploy.tree import Value, stages_by_id

_ONE_OF = f"write `pipeline: {TALKER_ONLY}`, or `pipeline: {TWO_STAGE}`"


def check_wiring(deployment: Deployment) -> Iterator[Finding]:
    """Yield what is wrong with pipeline, stages and connectors of a Qwen3-TTS deployment."""
    yield from _stages(deployment)
    yield from _chunks(deployment)
    yield from _connectors(deployment)
    yield from _runner(deployment)


def check_pipeline(deployment: Deployment) -> Iterator[Finding]:
    """Yield what is to be said of the pipeline's name; a warning or error if it is not one of Qwen3-TTS."""
    place, name, release = deployment.place_of("pipeline"), deployment.pipeline, deployment.schema.release
    if deployment.root.get("pipeline") is None:
        what = f"no `pipeline`: vllm-omni takes the model's own, which was taken to be `{TWO_STAGE}` here"
        yield note(place, what, _ONE_OF)
    elif deployment.is_talker_only:
        what = f"a stock vllm-omni {release} has no pipeline `{name}` and stops with KeyError"
        yield note(place, what, "install the plug-in: server/omni_plugin/README.md")
    elif name not in deployment.schema.pipelines:
        what = f"vllm-omni {release} has no pipeline `{name}`, and neither has the plug-in"
        yield error(place, what, _ONE_OF)
    elif name != TWO_STAGE:
        what = f"the pipeline `{name}` is not Qwen3-TTS, so that only keys and types were checked"
        yield warning(place, what, _ONE_OF)


def _stages(deployment: Deployment) -> Iterator[Finding]:
    known = (TALKER,) if deployment.is_talker_only else (TALKER, DECODER)
    name, stages = deployment.pipeline, deployment.stages
    for stage_id, stage in stages.items():
        if stage_id not in known:
            what = f"`{name}` has no stage {stage_id}, so that vllm-omni ignores this"
            yield error(
                place_in(stage, "stage_id"), what, f"known: {', '.join(map(str, known))}; take it out"
            )
    for stage_id in known:
        if stage_id not in stages:
            what = f"stage {stage_id} of `{name}` is not here and takes vllm's own settings"
            yield error(
                deployment.place_of("stages"), what, f"write `- stage_id: {stage_id}` and its settings"
            )
    for entry in deployment.platforms:
        for stage_id, stage in stages_by_id(entry.value.get("stages")):
            if stage_id not in stages:
                what = (
                    f"the platform {entry.key} changes stage {stage_id}, which is not there: nothing happens"
                )
                yield error(place_in(stage, "stage_id"), what, f"known: {', '.join(map(str, stages))}")


def _chunks(deployment: Deployment) -> Iterator[Finding]:
    place, said = deployment.place_of("async_chunk"), deployment.root.get("async_chunk")
    if deployment.is_talker_only:
        if "async_chunk" not in deployment.root.entries:
            what = f"`async_chunk` is true if nothing is said, and `{TALKER_ONLY}` has no next stage"
            yield warning(deployment.root.place, what, "write `async_chunk: false`")
        elif said is not None and said.data is True:
            what = f"`async_chunk: true` hands chunks to the next stage, and `{TALKER_ONLY}` has none"
            yield error(place, what, "write `async_chunk: false`")
        return
    if said is not None and said.data is False:
        what = "without `async_chunk` the server sends nothing before a sentence is complete"
        yield warning(place, what, "write `async_chunk: true`")
        return
    out = [stage for stage in deployment.stages.values() if _is_false(stage, "async_chunk")]
    if len(out) == 1 and len(deployment.stages) > 1:
        what = f"one stage takes part in `async_chunk` and the other does not: {STOPS}"
        yield error(place_in(out[0], "async_chunk"), what, "take the line out")


def _connectors(deployment: Deployment) -> Iterator[Finding]:
    connectors = deployment.root.get("connectors")
    named = connectors.entries if connectors is not None else {}
    used = set()
    for stage in deployment.stages.values():
        for side in ("input_connectors", "output_connectors"):
            if (wired := stage.get(side)) is None:
                continue
            used |= {str(entry.value.data) for entry in wired.entries.values()}
            if deployment.is_talker_only:
                what = f"`{side}`: the talker-only pipeline has no other stage"
                yield error(wired.place, what, f"take `{side}` and `connectors` out")
                continue
            for entry in wired.entries.values():
                if entry.value.data not in named:
                    what = f"there is no connector `{entry.value.data}` under `connectors`"
                    yield error(entry.value.place, what, f"known: {', '.join(named) or 'none'}")
    for entry in named.values():
        if entry.key not in used:
            what = f"no stage uses the connector `{entry.key}`"
            yield warning(entry.place, what, "take it out, or name it in the stages")


def _runner(deployment: Deployment) -> Iterator[Finding]:
    runner = deployment.root.get("model_runner")
    advice = "write `model_runner: v1`"
    if deployment.is_talker_only and runner is not None and runner.data == "v2":
        what = "the plug-in takes the codec frames from the v1 runner; v2 does not hand them out"
        yield error(runner.place, what, advice)
    for entry in deployment.platforms:
        own = entry.value.get("model_runner")
        if own is not None and own.data == "v2" and entry.key in ("npu", "xpu"):
            yield error(own.place, f"model runner v2 does not run on {entry.key}: {STOPS}", advice)


def _is_false(value: Value, key: str) -> bool:
    found = value.get(key)
    return found is not None and found.data is False
