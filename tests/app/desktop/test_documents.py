from __future__ import annotations

import codecs
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.desktop.documents import MOST_BYTES, cut_to_limit, pasted, read_document, unwrapped
from app.desktop.markdown import speakable
from app.errors import DocumentError, NotText, TooLong
from app.text import MAX_TEXT_CHARS

GREETING = "Grüße, 你好 — “hello” 🎉."


def document(folder: Path, data: bytes, name: str = "a.txt"):
    (folder / name).write_bytes(data)
    return read_document(folder / name)


# -- encodings ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_unicode_is_read_without_a_guess(tmp_path: Path, mark: bytes, encoding: str) -> None:
    read = document(tmp_path, mark + GREETING.encode(encoding))
    assert (read.text, read.guessed_encoding, read.name) == (GREETING, "", "a.txt")


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "Die Straße führt über München. „Schön“ – sagte er."),
        ("cp1252", "C’est l’été. Où est-il allé ? “Là-bas”, dit-elle."),
        ("cp1252", "Café"),
        ("cp1250", "Zażółć gęślą jaźń. Dzień dobry."),
        ("cp1251", "Привет, мир. Сегодня хорошая погода."),
        ("gb18030", "你好，世界。今天天气很好。"),
        ("big5", "你好，世界。今天天氣很好。"),
        ("shift_jis", "こんにちは、世界。今日は天気がいいです。"),
        ("euc_kr", "안녕하세요 세계. 오늘 날씨가 좋습니다."),
    ],
)
def test_other_encodings_are_guessed_and_that_is_said(tmp_path: Path, encoding: str, text: str) -> None:
    read = document(tmp_path, text.encode(encoding))
    assert read.text == text
    assert read.guessed_encoding


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        random.Random(1).randbytes(3000),
        bytes(b for b in random.Random(2).randbytes(3000) if b),
        codecs.BOM_UTF16_LE + b"\x00\xd8\x00",
        b"\x01\x02\x03\x04 text",
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(NotText, match=r"a\.txt"):
        document(tmp_path, data)


def test_an_empty_file_is_an_empty_text(tmp_path: Path) -> None:
    assert document(tmp_path, b"").text == ""


# -- bounds and errors --------------------------------------------------------------------------------------


def test_g5_a_long_text_is_cut_and_that_is_said(tmp_path: Path) -> None:
    read = document(tmp_path, b"A sentence of some words. " * 5000)
    assert read.cut
    assert MAX_TEXT_CHARS - 2000 < len(read.text) <= MAX_TEXT_CHARS
    assert read.text.endswith("words.")
    assert not document(tmp_path, b"word " * 20_000).cut


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "a.txt").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(TooLong, match="100000 characters"):
        read_document(tmp_path / "a.txt")


def test_what_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="No such file"):
        read_document(tmp_path / "nowhere.txt")
    with pytest.raises(NotText, match="no file"):
        read_document(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(NotText):
        read_document(tmp_path / "pipe.txt")


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("One. Two.", 9, "One. Two."),
        ("One. Two.", 8, "One."),
        ("One two three", 9, "One two"),
        ("One two three", 7, "One two"),
        ("onetwothree", 5, "onetw"),
        ("一二三。四五六。", 6, "一二三。"),
        ("One\ntwo", 5, "One"),
    ],
)
def test_cuts_are_where_sentences_or_words_end(text: str, limit: int, cut: str) -> None:
    assert cut_to_limit(text, limit) == cut


def test_the_largest_files_are_read_at_once(tmp_path: Path) -> None:
    source = ("# Heading\n\nSome *words* and [a link](http://a.b).\n\n" * 20_000).encode()[:MOST_BYTES]
    started_s = time.perf_counter()
    assert document(tmp_path, source, "a.md").cut
    assert time.perf_counter() - started_s < 5  # 0.6 s on a quiet machine


def test_slow_imports_wait_until_they_are_needed() -> None:
    code = (
        "import sys, app.desktop.documents; "
        "sys.exit('markdown_it' in sys.modules or 'charset_normalizer' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# -- pasted -------------------------------------------------------------------------------------------------


def test_g3_pasted_text_is_clean_and_keeps_its_edges() -> None:
    assert pasted(" one\u2029two\u2028three\r\nfour\x00\ufeff ") == " one\ntwo\nthree\nfour "
    assert pasted("sof\u00adt") == "soft"


PAGE = (
    "It was the best of times, it was the worst of times, it was the age\n"
    "of wisdom, it was the age of foolishness, it was the epoch of be-\n"
    "lief, it was the epoch of incredulity, it was the season of Light."
)


def test_lines_that_only_filled_a_page_are_joined() -> None:
    joined = (
        "It was the best of times, it was the worst of times, it was the age of wisdom, it was "
        "the age of foolishness, it was the epoch of belief, it was the epoch of incredulity, it was the "
        "season of Light."
    )
    assert unwrapped(PAGE) == joined
    assert unwrapped(f"\n{PAGE}\n\n{PAGE}\n") == f"\n{joined}\n\n{joined}\n"


def test_a_page_of_chinese_is_joined_without_spaces() -> None:
    line = "这是一个很长的段落它被分成了几行以适应页面的宽度"
    assert unwrapped(f"{line}\n{line}\n{line}。") == f"{line * 3}。"


@pytest.mark.parametrize(
    "text",
    [
        "Two roads diverged in a yellow wood,\nAnd sorry I could not travel both\nAnd be one traveler",
        "Sing, O goddess, the anger of Achilles son of Peleus,\n"
        "That brought countless ills upon the Achaeans of old;\n"
        "Many a brave soul did it send hurrying down to Hades.",
        "- a first point that is long enough to fill a whole line\n" * 4,
        "1. a first point that is long enough to fill a whole line\n" * 4,
        "One line that is long enough to fill a page of some width.\nAnother one of the same kind, so two.",
        "One paragraph in a line of its own, as editors make them.\nShort.\nAnother paragraph as long.",
        "",
        "\n\n\n",
        "one\n \n\ntwo",
    ],
)
def test_verses_lists_and_paragraphs_stay(text: str) -> None:
    assert unwrapped(text) == text


@given(st.text(st.sampled_from("ab -.\n\t字"), max_size=400))
def test_joining_loses_nothing_but_line_breaks_and_hyphens(text: str) -> None:
    assert "".join(unwrapped(text).split()).replace("-", "") == "".join(text.split()).replace("-", "")


@given(st.text(max_size=200))
def test_pasting_twice_changes_nothing_more(text: str) -> None:
    assert pasted(pasted(text)) == pasted(text)


def test_old_text_files_are_joined_too(tmp_path: Path) -> None:
    assert document(tmp_path, PAGE.replace("\n", "\r\n").encode()).text.count("\n") == 0


# -- Markdown -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("# A *heading*\n\nWords.", "A heading.\n\nWords."),
        ("Setext\n===\nWords", "Setext.\n\nWords."),
        ("# Why?\n# 标题", "Why?\n\n标题。"),
        ("some **bold**, _it_, `code`, ~~gone~~", "some bold, it, code, gone."),
        ("[a link](http://a.b 'title') and <http://c.d>!", "a link and http://c.d!"),
        ("[ref][1]\n\n[1]: http://a.b", "ref."),
        ("![a picture](a.png) here", "a picture here."),
        ("one\ntwo  \nthree", "one two\nthree."),
        ("你好\n世界", "你好世界。"),
        ("- one\n- two\n  1. three\n  2. four", "one.\n\ntwo.\n\nthree.\n\nfour."),
        ("- [x] done\n- [ ] open", "done.\n\nopen."),
        ('> he said "so"', 'he said "so".'),
        ("| A | B |\n|---|---|\n| 1 | *2* |", "A, B.\n\n1, 2."),
        ("---\ntitle: x\n---\nWords.", "Words."),
        ("a &amp; b &lt;", "a & b <."),
        ("<div>in <b>tags</b></div><!-- no -->\n\n<script>\nno()\n</script>", "in tags."),
        ("with <b>tags</b><br>inside", "with tags\ninside."),
        ("above\n\n***\n\nbelow", "above.\n\nbelow."),
        ("snake_case and 2 * 3 * 4", "snake_case and 2 * 3 * 4."),
        ("list:\n- one", "list:\n\none."),
        ("", ""),
    ],
)
def test_markdown_is_read_without_its_marks(source: str, text: str) -> None:
    assert speakable(source) == (text, 0)


def test_code_is_left_out_and_counted(tmp_path: Path) -> None:
    source = "Before.\n\n```py\nprint()\n```\n\n    indented\n\nAfter."
    read = document(tmp_path, source.encode(), "a.MD")
    assert (read.text, read.code_blocks) == ("Before.\n\nAfter.", 2)
    assert "print" in document(tmp_path, source.encode(), "a.txt").text


@given(st.text(max_size=200))
def test_whatever_is_called_markdown_can_be_read(source: str) -> None:
    text, code_blocks = speakable(source)
    assert text == text.strip()
    assert code_blocks >= 0
