"""Whether a request can be taken, apart from what is going on at the moment."""

from __future__ import annotations

import math
from dataclasses import replace

from app.desk.request import MAX_FIELD_CHARS, MAX_ID_CHARS, MAX_PRIORITY, Request
from app.errors import BadField, NothingToSay, TextTooLong
from app.text import MAX_TEXT_CHARS, clean, is_speakable

MAX_TTL_S = 7 * 24 * 3600.0


def checked(request: Request, *, in_pieces: bool = False) -> Request:
    """Return ``request`` with its text and fields cleaned; ``in_pieces`` if more of its text follows.

    Raises:
        BadField: a value that a field cannot have.
        TextTooLong: the text is longer than what is taken.
        NothingToSay: nothing in the text can be spoken, and nothing follows.

    """
    if len(request.text) > MAX_TEXT_CHARS:
        raise TextTooLong(too_long(len(request.text)))
    if len(request.id) > MAX_ID_CHARS or not request.id.isprintable():
        raise BadField("id", f"it is not printable, or longer than {MAX_ID_CHARS} characters")
    for name in ("voice", "language", "instructions", "source"):
        value = getattr(request, name)
        if value is not None and len(value) > MAX_FIELD_CHARS:
            raise BadField(name, f"it is longer than {MAX_FIELD_CHARS} characters")
    if not -MAX_PRIORITY <= request.priority <= MAX_PRIORITY:
        raise BadField("priority", f"{request.priority} is not between -{MAX_PRIORITY} and {MAX_PRIORITY}")
    if request.ttl_s is not None and not (math.isfinite(request.ttl_s) and 0 < request.ttl_s <= MAX_TTL_S):
        raise BadField("ttl_s", f"{request.ttl_s} is no time from above 0 to {MAX_TTL_S:.0f} seconds")
    if in_pieces:
        return request
    text = clean(request.text)
    if not is_speakable(text):
        raise NothingToSay("there is nothing to say in this text")
    return replace(request, text=text)


def too_long(chars: int) -> str:
    """Say that a text of ``chars`` characters is not taken."""
    return f"a text of {chars} characters is longer than the {MAX_TEXT_CHARS} that are taken at once"
