"""Fetching from a real HTTP server: ranges, resumption, fallbacks, and errors with the next step."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import constants
from safetensors.torch import load_file, save

from decoder.errors import CheckpointError
from decoder.streaming import ranges
from decoder.streaming.checkpoint import load_checkpoint
from decoder.streaming.config import CodecConfig
from decoder.streaming.fetch import cached, fetch
from decoder.streaming.location import find_checkpoint
from decoder.streaming.random_weights import random_checkpoint
from tests.decoder.streaming.hub_server import COMMIT, Hub, serve

WEIGHTS, CONFIG = "speech_tokenizer/model.safetensors", "speech_tokenizer/config.json"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, small_config: CodecConfig) -> dict[str, bytes]:
    """A checkpoint with an encoder in it that is larger than the decoder."""
    folder = random_checkpoint(tmp_path_factory.mktemp("repo"), small_config, seed=3)
    tensors = load_file(folder / "model.safetensors")
    tensors |= {f"encoder.{index}": torch.zeros(400_000) for index in range(3)}
    tensors["decoder_of_something_else"] = torch.zeros(10)
    return {WEIGHTS: save(tensors), CONFIG: (folder / "config.json").read_bytes()}


@pytest.fixture
def hub(files: dict[str, bytes]) -> Iterator[Hub]:
    with serve(Hub(dict(files))) as running:
        yield running


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No token, proxy or cache of the developer's; short pauses."""
    monkeypatch.setattr(ranges, "_PAUSE_S", 0.001)
    monkeypatch.setattr(ranges, "_FIRST_BYTES", 1000)  # the header comes in two parts
    monkeypatch.setattr(ranges, "_PIECE_BYTES", 1000)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def fetch_from(hub: Hub, tmp_path: Path, progress: Any = None, **options: Any) -> Path:
    return fetch(hub.repo, progress=progress, endpoint=hub.url, cache_folder=tmp_path / "hf", **options)


def check(folder: Path, files: dict[str, bytes], tmp_path: Path) -> None:
    """Whatever way it came, the decoder's tensors are those of the repository."""
    original = tmp_path / "original"
    original.mkdir()
    for name, content in files.items():
        (original / Path(name).name).write_bytes(content)
    wanted, got = load_checkpoint(original).state_dict(), load_checkpoint(folder).state_dict()
    assert all(torch.equal(wanted[name], got[name]) for name in wanted)


@pytest.mark.parametrize("redirect", [False, True])
def test_only_the_decoder_is_fetched(
    redirect: bool, hub: Hub, files: dict[str, bytes], tmp_path: Path
) -> None:
    """Ranges leave the encoder where it is; the rest is equal to the repository's."""
    hub.redirect = redirect
    seen: list[tuple[int, int]] = []
    folder = fetch_from(hub, tmp_path, progress=lambda done, total: seen.append((done, total)))
    check(folder, files, tmp_path)
    size = (folder / "model.safetensors").stat().st_size
    assert hub.sent_bytes < size + 40_000 < len(files[WEIGHTS]) / 2
    assert seen[-1] == (size, size)
    assert seen == sorted(seen)
    names = load_file(folder / "model.safetensors")
    assert all(name.startswith("decoder.") for name in names)
    assert not any(".rvq_rest.input_proj." in name for name in names)
    assert "decoder.pre_transformer.input_proj.weight" in names
    assert COMMIT in str(folder)


def test_neighbours_come_in_one_request(hub: Hub, tmp_path: Path) -> None:
    """269 tensors in a handful of requests: the header's two, and one for each stretch."""
    fetch_from(hub, tmp_path)
    assert 3 <= len(hub.gets) <= 8


def test_a_second_fetch_downloads_nothing(hub: Hub, tmp_path: Path) -> None:
    """One HEAD tells that the commit is the same."""
    folder = fetch_from(hub, tmp_path)
    before = hub.sent_bytes
    assert fetch_from(hub, tmp_path) == folder
    assert hub.sent_bytes == before


def test_a_codec_repository_has_its_files_at_the_top(files: dict[str, bytes], tmp_path: Path) -> None:
    """Without ``speech_tokenizer/`` the top level is looked at."""
    flat = {Path(name).name: content for name, content in files.items()}
    with serve(Hub(flat, repo="owner/codec")) as hub:
        check(fetch_from(hub, tmp_path), files, tmp_path)


def test_a_broken_connection_is_taken_up_again(hub: Hub, files: dict[str, bytes], tmp_path: Path) -> None:
    """Three breaks in one fetch: each goes on at the byte where it broke, nothing twice."""
    hub.drop_after_bytes = [10_000, 0, 0, 20_000]
    folder = fetch_from(hub, tmp_path)
    check(folder, files, tmp_path)
    assert hub.sent_bytes < (folder / "model.safetensors").stat().st_size + 40_000


def test_a_busy_server_is_asked_again(hub: Hub, files: dict[str, bytes], tmp_path: Path) -> None:
    """503 means later."""
    folder = fetch_from(hub, tmp_path)
    (folder / "model.safetensors").unlink()
    hub.busy = 2
    check(fetch_from(hub, tmp_path), files, tmp_path)


def test_giving_up_keeps_what_has_come(hub: Hub, files: dict[str, bytes], tmp_path: Path) -> None:
    """After five attempts without a byte it stops, and the next fetch goes on from there."""
    hub.drop_after_bytes = [2000, 30_000, 50_000] + [0] * 5  # twice the header, then the data
    with pytest.raises(CheckpointError, match="run it again, it goes on where it was"):
        fetch_from(hub, tmp_path)
    assert cached(hub.repo, cache_folder=tmp_path / "hf") is None
    part = next(tmp_path.rglob("*.incomplete")).stat().st_size
    assert part > 50_000
    hub.sent_bytes = 0
    folder = fetch_from(hub, tmp_path)
    assert hub.sent_bytes < (folder / "model.safetensors").stat().st_size - part + 40_000
    check(folder, files, tmp_path)


def test_leftovers_of_something_else_are_not_continued(
    hub: Hub, files: dict[str, bytes], tmp_path: Path
) -> None:
    """An incomplete file with another beginning is started anew."""
    hub.drop_after_bytes = [2000, 30_000, 50_000] + [0] * 5  # twice the header, then the data
    with pytest.raises(CheckpointError):
        fetch_from(hub, tmp_path)
    part = next(tmp_path.rglob("*.incomplete"))
    part.write_bytes(b"x" * part.stat().st_size)
    check(fetch_from(hub, tmp_path), files, tmp_path)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:huggingface_hub")
def test_a_server_without_ranges_gives_the_whole_file(
    hub: Hub, files: dict[str, bytes], tmp_path: Path
) -> None:
    """huggingface_hub downloads it to the shared cache, and progress is told at both ends."""
    hub.ranges = False
    seen: list[tuple[int, int]] = []
    folder = fetch_from(hub, tmp_path, progress=lambda done, total: seen.append((done, total)))
    check(folder, files, tmp_path)
    size = len(files[WEIGHTS])
    assert seen == [(0, size), (size, size)]
    assert cached(hub.repo, cache_folder=tmp_path / "hf") == folder


def test_the_shared_cache_is_used(hub: Hub, files: dict[str, bytes], tmp_path: Path) -> None:
    """What another tool downloaded whole is not fetched again."""
    snapshot = tmp_path / "hf" / "hub" / "models--owner--talker" / "snapshots" / COMMIT / "speech_tokenizer"
    snapshot.mkdir(parents=True)
    (snapshot.parents[2] / "refs").mkdir()
    (snapshot.parents[2] / "refs" / "main").write_text(COMMIT)
    for name, content in files.items():
        (snapshot / Path(name).name).write_bytes(content)
    assert fetch_from(hub, tmp_path) == snapshot
    assert hub.sent_bytes == 0
    assert cached(hub.repo, cache_folder=tmp_path / "hf") == snapshot


@contextmanager
def nobody_there() -> Iterator[str]:
    """An address that refuses connections."""
    with serve(Hub({})) as hub:
        url = hub.url
    yield url


def test_offline_finds_what_was_fetched(hub: Hub, tmp_path: Path) -> None:
    """Once fetched, no network is needed, with a name for the revision or without."""
    folder = fetch_from(hub, tmp_path)
    with nobody_there() as url:
        assert fetch(hub.repo, endpoint=url, cache_folder=tmp_path / "hf") == folder
        assert fetch(hub.repo, COMMIT, endpoint=url, cache_folder=tmp_path / "hf") == folder
        with pytest.raises(CheckpointError, match="cannot reach"):
            fetch(hub.repo, "v2", endpoint=url, cache_folder=tmp_path / "hf")


def test_offline_with_nothing_says_what_to_do(tmp_path: Path) -> None:
    """The address and both ways on are in the text."""
    with (
        nobody_there() as url,
        pytest.raises(CheckpointError, match=r"check the network.*or give the folder") as e,
    ):
        fetch("owner/talker", endpoint=url, cache_folder=tmp_path)
    assert url in str(e.value)


def test_a_private_repository_needs_a_token(
    hub: Hub, files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """401 names HF_TOKEN, and with it every request, ranges too, is let in."""
    hub.token = "hf_secret"
    with pytest.raises(CheckpointError, match="check the name, and for a private one set HF_TOKEN"):
        fetch_from(hub, tmp_path)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    check(fetch_from(hub, tmp_path), files, tmp_path)


def test_a_gated_repository_names_its_page(hub: Hub, tmp_path: Path) -> None:
    """The terms are accepted in a browser."""
    hub.gated = True
    with pytest.raises(CheckpointError, match=rf"gated: accept its terms at {hub.url}/owner/talker"):
        fetch_from(hub, tmp_path)


def test_what_is_not_there_is_named(hub: Hub, tmp_path: Path) -> None:
    """A repository, a revision, a file, a name that cannot be one, and a server of another kind."""
    with pytest.raises(CheckpointError, match=r"owner/nobody.*check the name"):
        fetch("owner/nobody", endpoint=hub.url, cache_folder=tmp_path)
    with pytest.raises(CheckpointError, match="no revision 'v9'"):
        fetch_from(hub, tmp_path, revision="v9")
    with pytest.raises(CheckpointError, match="neither a folder here nor a repository id"):
        fetch("a/b/c", endpoint=hub.url, cache_folder=tmp_path)
    config = hub.files.pop(CONFIG)
    with pytest.raises(CheckpointError, match="lacks a file"):
        fetch_from(hub, tmp_path)
    hub.files[CONFIG] = config
    del hub.files[WEIGHTS]
    with pytest.raises(CheckpointError, match=r"neither speech_tokenizer/model\.safetensors nor"):
        fetch_from(hub, tmp_path)
    hub.files[WEIGHTS] = b"x"
    hub.commit_header = False
    with pytest.raises(CheckpointError, match="does not answer like"):
        fetch_from(hub, tmp_path)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "empty"),
        (b"<html>Sign in</html>", "HTML"),
        (save({"encoder.0": torch.zeros(3)}), "no tensor whose name starts with decoder"),
    ],
)
def test_a_bad_file_on_the_server_is_named(content: bytes, named: str, hub: Hub, tmp_path: Path) -> None:
    """As a bad file on the disk would be."""
    hub.files[WEIGHTS] = content
    with pytest.raises(CheckpointError, match=named):
        fetch_from(hub, tmp_path)


def test_a_truncated_file_on_the_server_is_named(hub: Hub, tmp_path: Path) -> None:
    """Its header promises more than there is."""
    hub.files[WEIGHTS] = hub.files[WEIGHTS][:-5]
    with pytest.raises(CheckpointError, match="truncated: tensor"):
        fetch_from(hub, tmp_path)
    hub.files[WEIGHTS] = hub.files[WEIGHTS][:500]
    with pytest.raises(CheckpointError, match="truncated within its header"):
        fetch_from(hub, tmp_path)


def test_a_folder_that_cannot_be_written_is_named(hub: Hub, tmp_path: Path) -> None:
    """The reason is passed on, and looking for what is here finds nothing."""
    (tmp_path / "hf").mkdir()
    (tmp_path / "hf" / "assets").write_text("a file in the way")
    with pytest.raises(CheckpointError, match="owner/talker: cannot be stored"):
        fetch_from(hub, tmp_path)
    assert cached(hub.repo, cache_folder=tmp_path / "hf") is None


def test_the_environment_of_the_ecosystem_is_obeyed(hub: Hub, tmp_path: Path) -> None:
    """A fresh process with HF_ENDPOINT and HF_HOME fetches, then loads by name without network."""
    environment = os.environ | {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home")}
    code = (
        "import sys\n"
        "from decoder.streaming.fetch import fetch\n"
        "folder = fetch('owner/talker')\n"
        "assert 'torch' not in sys.modules\n"
        "from decoder.streaming.location import find_checkpoint\n"
        "assert find_checkpoint('owner/talker') == folder\n"
        "print(folder)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert Path(result.stdout.strip()).is_relative_to(tmp_path / "home" / "assets" / "nearfield")
    find_checkpoint(result.stdout.strip())


def test_a_name_that_was_not_fetched_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading never goes to the network by itself."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_ASSETS_CACHE", str(tmp_path))
    with pytest.raises(CheckpointError, match="run `nearfield fetch owner/unheard-of`"):
        find_checkpoint("owner/unheard-of")
