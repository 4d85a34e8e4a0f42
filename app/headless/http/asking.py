"""The fields with which a text is asked for, and the request that they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.desk.request import MAX_FIELD_CHARS, MAX_ID_CHARS, MAX_PRIORITY, Interrupt, Request
from app.headless.http.fields import Field, Kind

SOURCE = "http"

HOW_FIELDS = (
    Field("id", Kind.TEXT, "Of no request that is not over; made if left out.",
          least=1, most=MAX_ID_CHARS),
    Field("voice", Kind.TEXT, "As in GET /voices; left out: the configured one.", most=MAX_FIELD_CHARS),
    Field("language", Kind.TEXT, "Of the text; left out: the configured one.", most=MAX_FIELD_CHARS),
    Field("instructions", Kind.TEXT, "Style in words.", most=MAX_FIELD_CHARS),
    Field("priority", Kind.WHOLE, "Higher goes first.", least=-MAX_PRIORITY, most=MAX_PRIORITY, default=0),
    Field("interrupt", Kind.TEXT, "What becomes of what is heard, if that is no more urgent.",
          choices=tuple(each.value for each in Interrupt), default=Interrupt.NO.value),
    Field("ttl_s", Kind.NUMBER, "What has not begun within these seconds is dropped."),
)  # fmt: skip
TEXT = Field("text", Kind.TEXT, "What to say.", is_required=True)
JSON_FIELDS = (TEXT, *HOW_FIELDS)
STREAM = Field(
    "stream", Kind.YES, "Speak while the body is still coming; only for text/plain.", default=False
)
QUERY_FIELDS = (STREAM, *HOW_FIELDS)
MESSAGE_FIELDS = (
    Field("text", Kind.TEXT, "The next piece, cut anywhere."),
    Field("end", Kind.YES, "Nothing follows.", default=False),
)
FIRST_MESSAGE_FIELDS = (*MESSAGE_FIELDS, *HOW_FIELDS)


def request_of(given: Mapping[str, Any]) -> Request:
    """Return the desk's request for fields that were read."""
    fields = dict(given)
    interrupt = Interrupt(fields.pop("interrupt", Interrupt.NO.value))
    return Request(**fields, interrupt=interrupt, source=SOURCE)
