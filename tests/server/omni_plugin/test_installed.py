"""Whether the installed vLLM-Omni is the one the plug-in was made for: found out without importing it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from server.omni_plugin.nearfield_omni import installed
from server.omni_plugin.nearfield_omni.installed import NEEDS, SUBCLASS_NEEDS, Installed, Need, Unfit
from tests.helpers.omni_rig import NEW, OmniServer, omni_server, peer
from tests.helpers.omni_server.scene import true_frames
from tests.server.omni_plugin.talk import CODEC, PCM, TEXT, say, session

HANDLER = "vllm_omni/entrypoints/openai/serving_speech_stream.py"
SERVICE = "vllm_omni/entrypoints/openai/serving_speech.py"
PROTOCOL = "vllm_omni/entrypoints/openai/protocol/audio.py"
REGISTRY = "vllm_omni/config/pipeline_registry.py"


def released() -> Installed:
    return Installed(peer("vllm-omni", NEW) / "vllm_omni", NEW)


def test_the_release_has_all_that_is_needed() -> None:
    assert released().missing(NEEDS) == ""
    assert released().missing(SUBCLASS_NEEDS) == ""
    released().refuse_if_it_has_the_mode()


@pytest.mark.parametrize(
    ("need", "words"),
    [
        (Need("gone.py", "anything"), "anything in vllm_omni/gone.py"),
        (Need("entrypoints/utils.py", "coerce"), "coerce in vllm_omni/entrypoints/utils.py"),
        (
            Need("entrypoints/async_omni.py", "AsyncOmni.stop"),
            "AsyncOmni.stop in vllm_omni/entrypoints/async_omni",
        ),
        (
            Need("entrypoints/openai/serving_speech.py", "OmniOpenAIServingSpeech._kind"),
            "OmniOpenAIServingSpeech._kind in vllm_omni/entrypoints/openai/serving_speech.py",
        ),
        (
            Need("entrypoints/async_omni.py", "AsyncOmni.abort", ("request_id", "why")),
            "parameter 'why' of AsyncOmni.abort in vllm_omni/entrypoints/async_omni.py",
        ),
    ],
)
def test_what_is_missing_is_named_with_its_file(need: Need, words: str) -> None:
    assert released().missing((*NEEDS[:2], need)).startswith(words)


def test_without_vllm_omni_there_is_nothing_to_do() -> None:
    """This environment has none."""
    with pytest.raises(Unfit, match="vllm-omni is not installed"):
        installed.check()


# -- the same in a server's process, over a release in which something is different ----------------------


@dataclass(frozen=True)
class Change:
    """One file of the release, changed; ``old`` empty: a new file."""

    file: str
    old: str
    new: str


def changed_release(folder: Path, *changes: Change, version: str = NEW) -> Path:
    """Return a folder that is the release but for ``changes``; what stays is linked, not copied."""
    source = peer("vllm-omni", NEW)
    info = folder / f"vllm_omni-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm-omni\nVersion: {version}\n")
    paths = [Path(change.file) for change in changes]
    _link(source / "vllm_omni", folder / "vllm_omni", [path.relative_to("vllm_omni") for path in paths])
    for change, path in zip(changes, paths, strict=True):
        text = (source / path).read_text() if change.old else ""
        assert change.old in text
        (folder / path).write_text(text.replace(change.old, change.new) if change.old else change.new)
    return folder


def _link(source: Path, target: Path, apart: list[Path]) -> None:
    """Link all in ``source``, but make folders of those that have a part in ``apart``."""
    target.mkdir()
    for entry in source.iterdir():
        inside = [path.relative_to(entry.name) for path in apart if path.parts[0] == entry.name]
        if not inside:
            os.symlink(entry, target / entry.name)
        elif entry.is_dir():
            _link(entry, target / entry.name, inside)


MOVED = {
    "a method of the handler": (
        Change(HANDLER, "_build_config", "_make_config"),
        "has no OmniStreamingSpeechHandler._build_config in " + HANDLER,
    ),
    "a parameter of the service": (
        Change(
            SERVICE,
            "        request_id: str | None = None,\n        has_inline",
            "        id_: str | None = None,\n        has_inline",
        ),
        "has no parameter 'request_id' of OmniOpenAIServingSpeech._prepare_speech_generation in " + SERVICE,
    ),
}


def notes(server: OmniServer) -> list[str]:
    """Return the plug-in's lines in the server's log."""
    return [line for line in server.log().splitlines() if "nearfield" in line]


async def is_untouched(server: OmniServer) -> None:
    """It is a stock server, and speaks as one."""
    async with session(server) as c:
        await c.send("input.cancel")
        assert await c.recv() == {"type": "error", "message": "Unknown message type: input.cancel"}
    assert (await say(server, config=PCM)).json("audio.done")["error"] is False
    assert server.state()["pipelines"] == ["qwen3_tts"]
    assert server.state()["models"] == [{}, {}]


@pytest.mark.parametrize(("change", "words"), MOVED.values(), ids=MOVED)
async def test_a_name_that_moved_is_one_line_and_an_untouched_server(
    tmp_path: Path, change: Change, words: str
) -> None:
    with omni_server(plugin=True, release=changed_release(tmp_path, change)) as server:
        (line,) = notes(server)
        assert line.startswith("WARNING vllm.nearfield_omni: nearfield-omni does nothing: ")
        assert line.endswith(f"vllm-omni 0.30.0 {words} any more")
        await is_untouched(server)


async def test_another_release_is_one_line_and_an_untouched_server(tmp_path: Path) -> None:
    with omni_server(plugin=True, release=changed_release(tmp_path, version="0.31.2")) as server:
        (line,) = notes(server)
        assert line.startswith("WARNING ")
        assert line.endswith("vllm-omni 0.31.2 is installed, this release of the plug-in is for 0.30.x")
        await is_untouched(server)


@pytest.mark.parametrize("version", ["0.30.0+cu130", "0.30.2rc1"])
async def test_every_release_of_the_line_is_served(tmp_path: Path, version: str) -> None:
    with omni_server(
        plugin=True, talker_only=True, release=changed_release(tmp_path, version=version)
    ) as server:
        (line,) = notes(server)
        assert "pipeline qwen3_tts_talker_only is registered" in line
        assert len((await say(server)).codes) == len(true_frames(server.scene, TEXT))


ASIDE = {
    "its own module": (
        Change("vllm_omni/entrypoints/openai/codec_stream.py", "", "MODE = True\n"),
        "this vllm-omni has a module codec_stream of its own",
    ),
    "its own field": (
        Change(
            PROTOCOL,
            "    stream_audio: bool = Field(",
            "    output_mode: str = 'pcm'\n    stream_audio: bool = Field(",
        ),
        "this vllm-omni knows output_mode itself",
    ),
    "its own pipeline": (
        Change(
            REGISTRY, '    "qwen3_tts": QWEN3', '    "qwen3_tts_talker_only": None,\n    "qwen3_tts": QWEN3'
        ),
        "this vllm-omni has the pipeline qwen3_tts_talker_only itself",
    ),
}


@pytest.mark.parametrize(("change", "words"), ASIDE.values(), ids=ASIDE)
async def test_a_server_that_has_the_mode_is_left_alone(tmp_path: Path, change: Change, words: str) -> None:
    with omni_server(plugin=True, release=changed_release(tmp_path, change)) as server:
        (line,) = notes(server)
        assert line == f"INFO vllm.nearfield_omni: nearfield-omni does nothing: {words}"
        await is_untouched(server)


# -- which way the rows take ----------------------------------------------------------------------------

SUBCLASS = {
    "NearfieldQwen3TTSTalkerForConditionalGeneration": (
        "nearfield_omni.talker:NearfieldQwen3TTSTalkerForConditionalGeneration"
    )
}


@pytest.mark.parametrize(
    ("wanted", "way", "models"),
    [(None, "subclass", SUBCLASS), ("auto", "subclass", SUBCLASS), (" Audio ", "audio", {})],
)
async def test_an_environment_variable_chooses_how_the_rows_get_out(
    wanted: str | None, way: str, models: dict[str, str]
) -> None:
    variables = {} if wanted is None else {"NEARFIELD_OMNI_ROWS": wanted}
    with omni_server(plugin=True, talker_only=True, environment=variables) as server:
        (line,) = notes(server)
        assert line.endswith(f"pipeline qwen3_tts_talker_only is registered, rows by {way}")
        assert server.state()["models"] == [models, models]
        assert len((await say(server, config=CODEC)).codes) == len(true_frames(server.scene, TEXT))


async def test_a_runner_that_knows_no_such_keys_has_the_rows_shipped_as_audio(tmp_path: Path) -> None:
    change = Change(
        "vllm_omni/worker/gpu_ar_model_runner.py", "_client_multimodal_output_keys", "_client_keys"
    )
    release = changed_release(tmp_path, change)
    with omni_server(plugin=True, talker_only=True, release=release) as server:
        assert notes(server)[0].endswith("rows by audio")
        assert server.state()["models"] == [{}, {}]
    wants = {"NEARFIELD_OMNI_ROWS": "subclass"}
    with omni_server(plugin=True, release=release, environment=wants) as server:
        (line,) = notes(server)
        assert "NEARFIELD_OMNI_ROWS asks for a subclass, but vllm-omni 0.30.0 has no GPUARModelRunner" in line
        await is_untouched(server)


async def test_a_way_that_does_not_exist_is_one_line_and_an_untouched_server() -> None:
    with omni_server(plugin=True, environment={"NEARFIELD_OMNI_ROWS": "pigeon"}) as server:
        (line,) = notes(server)
        assert line.endswith("NEARFIELD_OMNI_ROWS is 'pigeon'; known: auto, subclass, audio")
        await is_untouched(server)
