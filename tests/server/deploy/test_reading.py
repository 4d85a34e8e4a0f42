"""Files that cannot be read, and places that hold in an editor."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from server.deploy.check import check
from server.deploy.findings import EXIT_UNUSABLE
from server.deploy.reading import LIMIT_BYTES, LIMIT_DEPTH, UnusableError, read_file, read_text
from tests.server.deploy.broken import TALKER, changed, told


def why_not(text: str) -> str:
    with pytest.raises(UnusableError) as refusal:
        read_text(text, Path("x.yaml"))
    finding = refusal.value.finding
    return f"{finding.place.line}:{finding.place.column} {finding.what} -> {finding.advice}"


EMPTY = (
    "1:1 the file says nothing, and a server with nothing set is not a talker "
    "-> begin with one of server/deploy/*.yaml"
)
NO_KEY = (
    "what stands here is no key with a value "
    "-> write a colon and a plain blank behind the key, as in `max_num_seqs: 64`"
)
INDENTATION = (
    "the indentation of this line does not fit the lines from {} on "
    "-> begin it in the column of those that it belongs to"
)
LINE_BEFORE = "look at the colons, quotes and blanks of this line and of the one before"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", EMPTY),
        ("# nothing\n", EMPTY),
        ("---\n", EMPTY),
        ("~\n", EMPTY),
        (
            "- a\n",
            "1:1 the file is a list, and a deploy file is made of keys and values "
            "-> begin with one of server/deploy/*.yaml",
        ),
        (
            "\n\nhello\n",
            "3:1 the file is a single value, and a deploy file is made of keys and values "
            "-> begin with one of server/deploy/*.yaml",
        ),
        (
            "a: 1\n---\nb: 2\n",
            "2:1 a second document begins here, and vllm-omni reads only one "
            "-> put each into a file of its own, or take this line out",
        ),
        (
            "stages:\n\t- stage_id: 0\n",
            "2:1 a tab stands here, and YAML takes only blanks -> put blanks in its place",
        ),
        ("a:\t\tb: 1\n", "1:3 a tab stands here, and YAML takes only blanks -> put blanks in its place"),
        (
            "a: b: c\n",
            "1:5 no key can stand here, and this colon is behind one -> put a value that has a colon in "
            "quotes; else look at how this line and the one before begin",
        ),
        (
            'a: 1\nb: "open\nc: 2\n',
            "2:4 a quote begins here and does not end -> put the other one behind the text",
        ),
        ("a: 1\nb 2\n\n# more\nc: 3\n", f"2:1 {NO_KEY}"),
        ("a: 1\nb:2\n\n# more\nc: 3\n", f"2:1 {NO_KEY}"),
        ("a:\n  - b: 1\n    c: 2\n   d: 3\n", f"4:4 {INDENTATION.format(2)}"),
        ("a:\n  - b: 1\n    c: [2]\n     d: 2\n", f"4:6 {INDENTATION.format(2)}"),
        (
            'a: "b" c\n',
            "1:8 this is not YAML: expected <block end>, but found '<scalar>' "
            f"(while parsing a block mapping, which began in line 1) -> {LINE_BEFORE}",
        ),
        ("a: *b\n", f"1:4 this is not YAML: found undefined alias 'b' -> {LINE_BEFORE}"),
        ("a: 1\nb: \x07\n", "2:4 the character U+0007 may not stand in YAML -> delete it"),
        (
            "a: &a\n  b: *a\n",
            "1:4 this contains itself -> write out what is meant in place of the alias",
        ),
        (
            "a: " + "[" * 99 + "]" * 99,
            f"1:{3 + LIMIT_DEPTH} more than {LIMIT_DEPTH} levels within each other "
            "-> see server/deploy/*.yaml",
        ),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(text: str, says: str) -> None:
    assert why_not(text) == says


def test_a_few_lines_do_not_become_billions() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    assert "more than 20,000 values, with all aliases written out" in why_not("\n".join(lines))


def test_a_merge_of_itself_ends(tmp_path: Path) -> None:
    assert "this contains itself" in why_not("a: &a\n  <<: *a\n")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: None, "the file cannot be read: No such file or directory"),
        (lambda path: path.mkdir(), "this is not a file"),
        (lambda path: os.mkfifo(path), "this is not a file"),
        (lambda path: path.symlink_to(path), "the file cannot be read: Too many levels of symbolic links"),
        (lambda path: path.write_bytes(b"a: 1\nb: \xff\n"), "byte 0xff is not UTF-8"),
        (lambda path: path.write_bytes(b"#" * (LIMIT_BYTES + 1)), "1,000,001 bytes"),
    ],
)
def test_what_is_no_deploy_file_ends_with_2(tmp_path: Path, make, says: str) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "x.yaml"
    make(path)
    report = check(path)
    (finding,) = report.findings
    assert says in finding.what
    assert finding.advice
    assert report.exit_code == EXIT_UNUSABLE


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_those_of_an_editor(tmp_path: Path, end: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(
        ("\ufeff# é\u2028# ü\x85# no line ends" + end + "a: 1" + end + "  # c" + end + "b: 2").encode()
    )
    entries = read_file(path).root.entries
    assert [(entry.place.line, entry.place.column) for entry in entries.values()] == [(2, 1), (4, 1)]


def test_numbers_are_read_as_vllm_omni_reads_them() -> None:
    """Through OmegaConf: exponents without a point, no dates; the rest as YAML 1.1 has it."""
    text = "a: 1e-3\nb: 2026-01-01\nc: 0x10\nd: on\ne: '1e3'\nf: =\ng: 1_000\nh: .inf\n"
    plain = read_text(text, Path("x")).root.plain()
    assert plain == {
        "a": 0.001, "b": "2026-01-01", "c": 16, "d": True, "e": "1e3", "f": "=", "g": 1000, "h": float("inf"),
    }  # fmt: skip


def test_merged_keys_are_there_and_what_they_lose_is_said(tmp_path: Path) -> None:
    """What YAML merges is merged at one level only."""
    text = changed(
        TALKER,
        "stages:\n",
        "env_of_all: &all\n"
        "  default_sampling_params: {temperature: 0.9, max_tokens: 4096, min_tokens: 2}\n"
        "stages:\n",
    )
    text = changed(
        text, "      temperature: 0.9\n      max_tokens: 4096\n      min_tokens: 2\n", "      seed: 1\n"
    )
    text = changed(text, '    devices: "0"\n', '    <<: *all\n    devices: "0"\n')
    lines = told(tmp_path, text)
    assert (
        "15:5 warning: `default_sampling_params` replaces the one merged from line 6 whole: "
        "without max_tokens, min_tokens, temperature -> write all of its entries here"
    ) in lines
    assert any("without `min_tokens` some checkpoints stop at once" in line for line in lines)
    assert any("unknown key `env_of_all`" in line for line in lines)


def test_an_alias_is_checked_where_it_stands_for_something(tmp_path: Path) -> None:
    text = changed(TALKER, "max_num_seqs: 64", "max_num_seqs: &n many")
    text = changed(text, "max_model_len: 4096", "max_model_len: *n")
    lines = told(tmp_path, text)
    assert [line.partition(" error")[0] for line in lines] == ["9:19", "9:19"]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (
            "!!python/object:os.system x",
            "9:19 error: vllm-omni does not know the tag tag:yaml.org,2002:python/object",
        ),
        ("!mine 64", "9:19 error: vllm-omni does not know the tag !mine -> leave the tag out"),
        ("!!int many", "9:19 error: `many` is not what its form says (int)"),
        ("!!int", "9:19 error: `` is not what its form says (int)"),
        ("0x_", "9:19 error: `0x_` is not what its form says (int)"),
        (f"0x{'f' * 5000}", f"9:19 error: `0x{'f' * 38}` is not what its form says (int)"),
    ],
)
def test_tags_are_no_way_around(tmp_path: Path, value: str, says: str) -> None:
    (line,) = told(tmp_path, changed(TALKER, "max_num_seqs: 64", f"max_num_seqs: {value}"))
    assert line.startswith(says)


def test_a_key_that_stands_twice_is_an_error_with_both_lines(tmp_path: Path) -> None:
    (line,) = told(tmp_path, changed(TALKER, "    max_model_len", "    max_num_seqs: 8\n    max_model_len"))
    assert line == (
        "11:5 error: `max_num_seqs` stands here a second time, after line 9; the server stops "
        "-> keep one of the two"
    )


def test_a_stage_whose_dash_was_forgotten_is_told_so(tmp_path: Path) -> None:
    lines = told(tmp_path, changed(TALKER, "platforms:", "    stage_id: 1\nplatforms:"))
    assert lines[-1] == (
        "16:5 error: `stage_id` stands here a second time, after line 6; the server stops "
        "-> keep one of the two, or begin the next stage with a dash"
    )


@pytest.mark.parametrize(("written", "means"), [("064", 52), ("1:30", 90)])
def test_a_number_that_means_another_one_is_told(tmp_path: Path, written: str, means: int) -> None:
    (line,) = told(tmp_path, changed(TALKER, "max_num_seqs: 64", f"max_num_seqs: {written}"))
    assert line.startswith(f"9:19 warning: `{written}` is the number {means} to YAML -> write it without")


@pytest.mark.parametrize("written", ["64", "0x40", "0b1000000", "6_4", "+64"])
def test_a_number_that_means_itself_is_no_matter(tmp_path: Path, written: str) -> None:
    assert told(tmp_path, changed(TALKER, "max_num_seqs: 64", f"max_num_seqs: {written}")) == []


def test_a_key_that_is_no_word_is_an_error(tmp_path: Path) -> None:
    (line,) = told(tmp_path, changed(TALKER, "    max_model_len", "    [a, b]: 1\n    max_model_len"))
    assert line == "11:5 error: a key has to be a word -> write the key as a plain word"
