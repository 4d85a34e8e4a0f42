"""The beginning of a text in one line, for where there is little room."""

from __future__ import annotations

TITLE_CHARS = 60
"""What fits into the title of a window."""
_ENOUGH = 16
"""White space may take so many times the room of what is kept."""


def excerpt(text: str, chars: int = TITLE_CHARS) -> str:
    """Return the first ``chars`` characters of ``text`` in one line, and an ellipsis if there are more."""
    line = " ".join(text[: _ENOUGH * chars].split())
    return line if len(line) <= chars else f"{line[:chars].rstrip()}…"
