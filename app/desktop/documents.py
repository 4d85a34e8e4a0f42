"""Text from outside for the editor: files, and what is pasted."""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from app.errors import DocumentError, NotText, TooLong
from app.text import MAX_TEXT_CHARS, normalised

SUFFIXES = (".txt", ".text", ".md", ".markdown")
"""What the editor opens, as suffixes of file names."""
MOST_BYTES = 2_000_000
"""Larger files are refused: 100,000 characters take 400,000 bytes at most."""
_MARKDOWN = (".md", ".markdown")
_SAMPLE_BYTES = 64_000
_ENOUGH_BYTES = 1000
"""Guesses from fewer bytes are poor; repeated often enough even one line is guessed well."""
# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class Document:
    """A file as text to be read aloud."""

    name: str
    text: str
    guessed_encoding: str = ""
    """Set if the file does not say its encoding and it is not UTF-8: some characters may be wrong."""
    cut: bool = False
    """It was longer than 100,000 characters: the rest is left out."""
    code_blocks: int = 0
    """Blocks of program code, which are left out: they are no pleasure to listen to."""


def read_document(path: Path) -> Document:
    """Read a text or Markdown file; the suffix says which.

    Raises:
        NotText: it is something else.
        TooLong: it is larger than `MOST_BYTES`.
        DocumentError: it cannot be read.

    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise TooLong(
                f"{path.name} is too long: at most {MAX_TEXT_CHARS} characters are read aloud at once"
            )
        if not path.is_file():
            raise NotText(f"{path.name} is no file")
        data = path.read_bytes()
    except OSError as error:
        raise DocumentError(f"cannot open {path}: {error.strerror or error}") from error
    text, guessed = _decoded(data, path.name)
    code_blocks = 0
    if path.suffix.lower() in _MARKDOWN:
        from app.desktop.markdown import speakable

        # Twice as much as is kept: nobody waits for the rest of a long file to be understood.
        text, code_blocks = speakable(normalised(text[: 2 * MAX_TEXT_CHARS]))
    else:
        text = unwrapped(normalised(text[: 2 * MAX_TEXT_CHARS]))
    text = text.strip()
    kept = cut_to_limit(text)
    return Document(path.name, kept, guessed, len(kept) < len(text), code_blocks)


def pasted(text: str) -> str:
    """Make pasted text fit for the editor: clean, and without the line breaks that only filled a page.

    White space around it stays, for it may go into the middle of other text.
    """
    return unwrapped(normalised(text))


def cut_to_limit(text: str, limit_chars: int = MAX_TEXT_CHARS) -> str:
    """Cut ``text`` after a sentence or word before ``limit_chars``; never in mid-word if there are words."""
    if len(text) <= limit_chars:
        return text
    head = text[:limit_chars]
    if text[limit_chars].isspace():
        return head.rstrip()
    nearby = max(0, limit_chars - 2000)
    ends = [m.end() for m in re.finditer(r"[.!?…][\"'”’»)\]]*(?=\s)|[。！？]|\n", head[nearby:])]
    cut = nearby + ends[-1] if ends else max(head.rfind(" "), head.rfind("\n"))
    return head[: cut if cut > 0 else limit_chars].rstrip()


# -- lines that only filled a page --------------------------------------------------------------------------

_LIST_ITEM = re.compile(r"\s*(?:[-*•‣–—]|\(?\w{1,3}[.)])\s")
_LONG_LINE_CHARS = 45
"""Shorter lines are verses, addresses or lists."""
_EVEN = 0.6
"""Lines that fill a page are alike: the shortest but the last has so much of the longest's length."""


def unwrapped(text: str) -> str:
    """Join the lines of paragraphs that were broken to fill a page, as in PDFs and old text files.

    A talker would pause at each of those breaks. A word divided there is put together. Lists, verses (each
    line begins with a capital) and whatever else has short or uneven lines stay as they are; so do
    paragraphs of fewer than three lines.
    """
    parts = re.split(r"(\n[^\S\n]*\n\s*)", text)
    return "".join(part if i % 2 else _unwrapped_paragraph(part) for i, part in enumerate(parts))


def _unwrapped_paragraph(paragraph: str) -> str:
    body = paragraph.strip("\n")
    lines = body.split("\n")
    if len(lines) < 3 or any(_LIST_ITEM.match(line) for line in lines):
        return paragraph
    widths = [_width(line.strip()) for line in lines]
    longest = max(widths)
    is_even = longest >= _LONG_LINE_CHARS and min(widths[:-1]) >= _EVEN * longest
    is_verse = all(line.strip()[:1].isupper() for line in lines)
    if not is_even or is_verse:
        return paragraph
    joined = lines[0].strip()
    for line in lines[1:]:
        joined = _joined(joined, line.strip())
    before, _, after = paragraph.partition(body)
    return f"{before}{joined}{after}"


def _width(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def _joined(before: str, after: str) -> str:
    if len(before) > 1 and before[-1] in "-\u2010" and before[-2].isalpha() and after[:1].islower():
        return before[:-1] + after
    if before and after and all(unicodedata.east_asian_width(c) in "WF" for c in (before[-1], after[0])):
        return before + after
    return f"{before} {after}"


# -- encodings ----------------------------------------------------------------------------------------------


def _decoded(data: bytes, name: str) -> tuple[str, str]:
    """Return the text, and its encoding if that had to be guessed."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return _checked(data[len(mark) :].decode(encoding), name), ""
            except UnicodeDecodeError:
                raise NotText(f"{name} begins like {encoding.upper()} text and is none") from None
    if b"\0" in data:
        raise NotText(f"{name} is no text file")
    try:
        return _checked(data.decode("utf-8"), name), ""
    except UnicodeDecodeError:
        pass
    encoding = _guessed_encoding(data)
    if not encoding:
        raise NotText(f"{name} is no text file, or in an unknown encoding; save it as UTF-8")
    return _checked(data.decode(encoding, "replace"), name), encoding


def _guessed_encoding(data: bytes) -> str:
    """Guess; empty if nothing fits."""
    from charset_normalizer import from_bytes

    sample = data[:_SAMPLE_BYTES]
    matches = from_bytes(sample * -(-_ENOUGH_BYTES // len(sample)))
    best = matches.best()
    if best is None:
        return ""
    # Where Western European fits as well as anything, it is the likeliest by far.
    western = next((m for m in matches if m.encoding == "cp1252"), None)
    return "cp1252" if western is not None and western.chaos <= best.chaos else best.encoding


def _checked(text: str, name: str) -> str:
    """Return ``text`` if it is some: hardly any control characters."""
    controls = sum(1 for c in text if c < " " and c not in "\t\n\r\f\v\x1b")
    if controls > 0.01 * len(text):
        raise NotText(f"{name} is no text file")
    return text
