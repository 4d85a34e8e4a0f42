"""Markdown as it would be read aloud: the words without the marks."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_UNSEEN = re.compile(r"<!--.*?-->|<(script|style)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
# A line break in a paragraph is a space, but not between characters that are written without any.
_BETWEEN_WIDE = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uff60]) (?=[\u3000-\u9fff\uff00-\uff60])")
_TASK = re.compile(r"\A\[[ xX]\]\s+")


def speakable(source: str) -> tuple[str, int]:
    """Return the text of a Markdown document, and how many blocks of code were left out.

    Headings, paragraphs and list items become paragraphs; links and emphasis their text, images their
    description, table rows their cells with commas between. What ends without a mark gets a full stop, which
    a talker needs to pause. Left out are blocks of code, marks, numbers of lists, rules, HTML tags and the
    front matter.
    """
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = parser.parse(_FRONT_MATTER.sub("", source))
    blocks: list[str] = []
    cells: list[str] | None = None
    code_blocks = 0
    for token in tokens:
        match token.type:
            case "inline":
                text = _TASK.sub("", _inline(token.children or ()))
                (blocks if cells is None else cells).append(text)
            case "tr_open":
                cells = []
            case "tr_close" if cells is not None:
                blocks.append(", ".join(cell for cell in cells if cell))
                cells = None
            case "fence" | "code_block":
                code_blocks += 1
            case "html_block":
                blocks.append(_without_tags(token.content))
    paragraphs = (_ended(_tidy(block)) for block in blocks)
    return "\n\n".join(p for p in paragraphs if p), code_blocks


def _inline(tokens: Sequence[Token]) -> str:
    parts = []
    for token in tokens:
        match token.type:
            case "text" | "code_inline":
                parts.append(token.content)
            case "softbreak":
                parts.append(" ")
            case "hardbreak":
                parts.append("\n")
            case "image":
                parts.append(_inline(token.children or ()))
            case "html_inline" if token.content.lower().startswith("<br"):
                parts.append("\n")
    return "".join(parts)


def _without_tags(source: str) -> str:
    return html.unescape(_TAG.sub(" ", _UNSEEN.sub(" ", source)))


def _tidy(block: str) -> str:
    lines = (" ".join(line.split()) for line in block.split("\n"))
    return _BETWEEN_WIDE.sub("", "\n".join(line for line in lines if line))


def _ended(block: str) -> str:
    last = next((c for c in reversed(block) if unicodedata.category(c)[0] not in "PS"), "")
    if not last or any(c in ".!?…。！？:;：；" for c in block[block.rindex(last) :]):
        return block
    return f"{block}{'。' if unicodedata.east_asian_width(last) in 'WF' else '.'}"
