"""Which folder a word on the command line means."""

from __future__ import annotations

from pathlib import Path

import pytest

from decoder.errors import CheckpointError
from decoder.streaming.location import find_checkpoint


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    folder = tmp_path / "talker" / "speech_tokenizer"
    folder.mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        (folder / name).touch()
    return folder


def test_a_folder_its_parent_and_its_file_mean_the_same(tokenizer: Path) -> None:
    """A talker's own weights beside ``speech_tokenizer`` are not mistaken for the codec."""
    for name in ("config.json", "model.safetensors"):
        (tokenizer.parent / name).touch()
    for source in (tokenizer, str(tokenizer), tokenizer.parent, tokenizer / "model.safetensors"):
        assert find_checkpoint(source) == tokenizer


def test_home_is_expanded(tokenizer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path from a config file may start with a tilde."""
    monkeypatch.setenv("HOME", str(tokenizer.parent))
    assert find_checkpoint("~/speech_tokenizer") == tokenizer


def test_a_folder_without_config_says_so(tokenizer: Path) -> None:
    """Half a checkpoint is not skipped over."""
    (tokenizer / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"config\.json is missing"):
        find_checkpoint(tokenizer.parent)


def test_what_is_no_checkpoint_is_named(tmp_path: Path) -> None:
    """An empty folder, another file, and nothing at all."""
    with pytest.raises(CheckpointError, match=r"neither model\.safetensors nor speech_tokenizer"):
        find_checkpoint(tmp_path)
    (tmp_path / "model.pt").write_bytes(b"12345")
    with pytest.raises(CheckpointError, match=r"model\.pt \(5 bytes\): a checkpoint is a folder"):
        find_checkpoint(tmp_path / "model.pt")
    with pytest.raises(CheckpointError, match="no such folder"):
        find_checkpoint(tmp_path / "nowhere")
