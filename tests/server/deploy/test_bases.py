"""Files that are based on others."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.deploy.check import LIMIT_BASES, check
from server.deploy.findings import Severity
from tests.server.deploy.broken import TALKER, changed, told


def test_what_a_base_says_need_not_be_said_again(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(TALKER)
    assert told(tmp_path, "base_config: base.yaml\nstages:\n  - stage_id: 0\n    max_num_seqs: 128\n") == []


def test_a_trap_of_both_together_is_found_where_it_was_made(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(TALKER)
    lines = told(
        tmp_path, "base_config: base.yaml\nstages:\n  - stage_id: 0\n    max_num_batched_tokens: 32\n"
    )
    assert [line.partition(":")[0] for line in lines] == ["4"]
    assert "less than `max_num_seqs: 64`" in lines[0]


def test_what_is_wrong_in_a_base_is_found_in_that_file(tmp_path: Path) -> None:
    base = tmp_path / "base.yaml"
    base.write_text(changed(TALKER, "max_num_seqs: 64", "max_num_seq: 64"))
    over = tmp_path / "over.yaml"
    over.write_text("base_config: base.yaml\n")
    (finding,) = check(over).of(Severity.ERROR)
    assert (finding.place.path, finding.place.line) == (base, 9)


@pytest.mark.parametrize(
    ("base", "says"),
    [
        (
            None,
            "1:14 error: `base_config: base.yaml` cannot be used: the file cannot be read: "
            "No such file or directory -> look at the name and at who may read it; "
            "the name counts from the folder of this file",
        ),
        ("- a\n", "cannot be used: the file is a list"),
        ("base_config: deploy.yaml\n", "1:14 error: `base_config: deploy.yaml` leads back to a file"),
        ("base_config: base.yaml\n", "1:14 error: `base_config: base.yaml` leads back to a file"),
    ],
)
def test_a_base_that_is_none_is_said_where_it_is_named(tmp_path: Path, base: str | None, says: str) -> None:
    if base is not None:
        (tmp_path / "base.yaml").write_text(base)
    (line,) = told(tmp_path, "base_config: base.yaml\n")
    assert says in line


def test_names_that_no_file_can_have_are_survived(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("loop", '"a\\0b"', "x" * 5000, "/dev/zero", ".", '""'):
        (line,) = told(tmp_path, f"base_config: {name}\n")
        assert " cannot be used: " in line, name


def test_a_base_that_is_no_name_is_an_error(tmp_path: Path) -> None:
    (line,) = told(tmp_path, "base_config: [a]\n")
    assert line.startswith("1:14 error: `base_config` is a list, not text")


def test_a_chain_has_an_end(tmp_path: Path) -> None:
    (tmp_path / "0.yaml").write_text(TALKER)
    for number in range(1, LIMIT_BASES + 3):
        (tmp_path / f"{number}.yaml").write_text(f"base_config: {number - 1}.yaml\n")
    assert check(tmp_path / f"{LIMIT_BASES}.yaml").exit_code == 0
    (finding,) = check(tmp_path / f"{LIMIT_BASES + 2}.yaml").findings
    assert finding.what == "more than 8 files are based on each other"
