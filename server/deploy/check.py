"""The strict checker of deploy files: vllm-omni ignores much of what is wrong, or stops at it after minutes.

It needs neither vllm nor a GPU, only PyYAML; what it knows of vllm-omni is frozen in `keys.yaml`. It knows
Qwen3-TTS; of other pipelines it checks keys and types.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from server.deploy.deployment import TALKER_ONLY, TWO_STAGE, Deployment
from server.deploy.findings import Finding, Place, Report, error
from server.deploy.reading import Document, UnusableError, read_file
from server.deploy.schema import schema
from server.deploy.settings import check_settings
from server.deploy.shape import check_shape
from server.deploy.tree import Value, overlay, stages_by_id
from server.deploy.wiring import check_pipeline, check_wiring

_INSTEAD = frozenset({"stage_args", "forced_aligner"})
"""What other kinds of files have in place of stages; their keys are told on their own."""
LIMIT_BASES = 8
"""How many files may be based on each other; the release has chains of three."""


def check(path: Path) -> Report:
    """Check one file, and the files that it is based on."""
    try:
        document = read_file(path)
    except UnusableError as fault:
        return Report(path, (fault.finding,), is_usable=False)
    whole, bases, findings = _with_bases(document.root, path, seen=(path.resolve(),))
    deployment = Deployment(whole or document.root, schema())
    is_qwen3_tts = deployment.pipeline not in schema().pipelines - {TWO_STAGE}
    for one in (document, *bases):
        findings += one.findings
        findings += check_shape(one.root, schema(), is_qwen3_tts=is_qwen3_tts)
        findings += _repeated_stages(one.root)
    if whole is not None:
        findings += _of_the_whole(deployment)
    # By alias or base, a value can be met more than once.
    unique = dict.fromkeys(findings)
    order = sorted(unique, key=lambda found: (found.place.path != path, found.place, found.what))
    return Report(path, tuple(order))


def _of_the_whole(deployment: Deployment) -> Iterator[Finding]:
    if not deployment.stages:
        said = deployment.root.entries
        if not said.keys() & _INSTEAD and ("stages" not in said or said["stages"].value.data == ()):
            what = "no stages: the talker would run with vllm's own settings"
            advice = "write `stages:` with `- stage_id: 0`, as in server/deploy/*.yaml"
            yield error(deployment.place_of("stages"), what, advice)
        return
    yield from check_pipeline(deployment)
    if deployment.pipeline in (TALKER_ONLY, TWO_STAGE):
        yield from check_wiring(deployment)
        yield from check_settings(deployment)


def _repeated_stages(root: Value) -> Iterator[Finding]:
    lists = [root.get("stages")]
    platforms = root.get("platforms")
    if platforms is not None:
        lists += [entry.value.get("stages") for entry in platforms.entries.values()]
    for stages in lists:
        first: dict[int, Place] = {}
        for stage_id, stage in stages_by_id(stages):
            place = stage.entries["stage_id"].value.place
            if stage_id in first:
                line = first[stage_id].line
                what = f"`stage_id: {stage_id}` is also in line {line}, and one of the two is lost"
                yield error(place, what, "give every stage its own number, or make one of the two")
            first.setdefault(stage_id, place)


def _with_bases(
    root: Value, path: Path, seen: tuple[Path, ...]
) -> tuple[Value | None, list[Document], list[Finding]]:
    """Return a file laid over its bases (``None`` if one is missing), the bases, and what is wrong there."""
    named = root.get("base_config")
    if named is None:
        return root, [], []
    if named.is_open or not isinstance(named.data, str):
        return None, [], []
    base = path.parent / named.data
    if len(seen) > LIMIT_BASES:
        what = f"more than {LIMIT_BASES} files are based on each other"
        return None, [], [error(named.place, what, "write a few of them into one")]
    try:
        document = read_file(base)
    except UnusableError as fault:
        what = f"`base_config: {named.data}` cannot be used: {fault.finding.what}"
        advice = f"{fault.finding.advice}; the name counts from the folder of this file"
        return None, [], [error(named.place, what, advice)]
    if base.resolve() in seen:
        what = f"`base_config: {named.data}` leads back to a file that is based on this one"
        return None, [], [error(named.place, what, "take one of the `base_config` lines out")]
    below, bases, findings = _with_bases(document.root, base, (*seen, base.resolve()))
    whole = overlay(below, root) if below is not None else None
    return whole, [document, *bases], findings
