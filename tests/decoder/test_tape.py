"""Tapes: what is saved is loaded, and nothing else is."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from decoder.errors import TapeError
from decoder.spec import CodecSpec
from decoder.tape import Tape

SPEC = CodecSpec(codebook_size=1024)


def tape(frames: int = 7) -> Tape:
    codes = np.arange(frames * 16, dtype=np.int16).reshape(frames, 16)
    return Tape("Grüße, 世界 🙂", SPEC, codes)


@pytest.mark.parametrize("name", ["a.npz", "a.tape", "no_suffix"])
def test_a_saved_tape_is_loaded_again(tmp_path: Path, name: str) -> None:
    """Under exactly the name it was given."""
    tape().save(tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    loaded = Tape.load(tmp_path / name)
    assert (loaded.text, loaded.spec) == (tape().text, SPEC)
    np.testing.assert_array_equal(loaded.codes, tape().codes)
    assert loaded.codes.dtype == np.int16


def test_an_empty_tape_keeps_its_shape(tmp_path: Path) -> None:
    """No frame is [0, 16]."""
    tape(0).save(tmp_path / "t")
    assert Tape.load(tmp_path / "t").codes.shape == (0, 16)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The error says which."""
    with pytest.raises(TapeError, match=r"nowhere\.npz is not a tape"):
        Tape.load(tmp_path / "nowhere.npz")


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    """Empty, text, a folder, a bare array."""
    path = tmp_path / "t.npz"
    for content in (b"", b"words", b"PK\x03\x04 and no more"):
        path.write_bytes(content)
        with pytest.raises(TapeError, match="is not a tape"):
            Tape.load(path)
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(TapeError, match="is not a tape"):
        Tape.load(path)
    with pytest.raises(TapeError, match="is not a tape"):
        Tape.load(tmp_path)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("codes", None),
        ("text", None),
        ("codebook_size", None),
        ("codes", np.zeros((3, 8), np.int16)),
        ("codes", np.full((3, 16), -1)),
        ("codes", np.full((3, 16), 70_000)),
        ("codes", np.zeros((3, 16), np.float32)),
        ("codes", np.zeros((1, 3, 16), np.int16)),
        ("codes", np.array({"pickled": True}, dtype=object)),
        ("codebooks", np.zeros(2)),
    ],
)
def test_an_archive_with_a_wrong_part_is_refused(tmp_path: Path, part: str, value: Any) -> None:
    """A part that is missing, of another shape, or holds no codes."""
    parts: dict[str, Any] = {"codes": tape().codes, "text": np.asarray("x"), **vars(SPEC)}
    parts[part] = value
    with (tmp_path / "t").open("wb") as file:
        np.savez(file, **{name: v for name, v in parts.items() if v is not None})
    with pytest.raises(TapeError, match="is not a tape"):
        Tape.load(tmp_path / "t")


def test_a_damaged_tape_is_refused_wherever_it_is_cut(tmp_path: Path) -> None:
    """Cut short anywhere, it is a TapeError and nothing else."""
    tape(200).save(tmp_path / "whole")
    data = (tmp_path / "whole").read_bytes()
    for length in range(0, len(data), 97):
        (tmp_path / "cut").write_bytes(data[:length])
        with pytest.raises(TapeError, match="is not a tape"):
            Tape.load(tmp_path / "cut")


def test_flipped_bytes_never_raise_anything_else(tmp_path: Path) -> None:
    """A byte that rotted is found, or does not matter."""
    tape(4).save(tmp_path / "whole")
    data = bytearray((tmp_path / "whole").read_bytes())
    for position in range(0, len(data), 2):
        rotten = bytearray(data)
        rotten[position] ^= 0x5A
        (tmp_path / "rotten").write_bytes(rotten)
        with contextlib.suppress(TapeError):
            Tape.load(tmp_path / "rotten")
