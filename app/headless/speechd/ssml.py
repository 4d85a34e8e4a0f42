"""What speech-dispatcher's SSML says: the words, where marks are, where a sentence ends.

It is read with forgiveness, not parsed as XML: screen readers put any text between its tags, and a text that
is no XML is still to be spoken. Entities that are declared in a text are not known here, so none can grow.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from app.text import normalised

_TAG = re.compile(
    r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[(?P<cdata>.*?)\]\]>|<(?P<tag>/?[A-Za-z][^<>]*)>", re.DOTALL
)
_ESCAPED = re.compile(r"\s*<speak>.*</speak>\s*", re.DOTALL)
_NAME = re.compile(r"""\bname\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_BREAKS = {"p", "s", "break", "paragraph", "sentence"}


@dataclass(frozen=True)
class Mark:
    """A place in a text that wants to be told once it is heard."""

    name: str
    at_chars: int
    """How many characters of the text are before it."""


@dataclass(frozen=True)
class Script:
    """A text without its tags, with nothing in it that cannot be sent."""

    text: str
    marks: tuple[Mark, ...] = ()


def read(ssml: str) -> Script:
    """Return what is to be spoken of ``ssml``; other tags than marks and breaks are left out."""
    script = _read(ssml)
    # What is paused before its first mark comes again with its own tags escaped (speech-dispatcher 0.11.4).
    return _read(script.text) if _ESCAPED.fullmatch(script.text) else script


def _read(ssml: str) -> Script:
    words: list[str] = []
    marks: list[Mark] = []
    chars = position = 0

    def add(text: str) -> None:
        nonlocal chars
        if text := normalised(text):
            words.append(text)
            chars += len(text)

    for match in _TAG.finditer(ssml):
        add(html.unescape(ssml[position : match.start()]))
        position = match.end()
        if match["cdata"] is not None:
            add(match["cdata"])
        elif match["tag"] is not None:
            name = re.split(r"[\s/]", match["tag"].lstrip("/"), maxsplit=1)[0].lower()
            if name == "mark" and (found := _NAME.search(match["tag"])) is not None:
                marks.append(Mark(html.unescape(found[1] if found[1] is not None else found[2]), chars))
            elif name in _BREAKS and words and not words[-1].endswith("\n"):
                add("\n")
    add(html.unescape(ssml[position:]))
    return Script("".join(words), tuple(marks))
