"""Bodies of requests, read with a bound on their size and on how long that may take."""

from __future__ import annotations

import asyncio
import codecs
import time
from collections.abc import AsyncGenerator

from aiohttp import web

from app.headless.http.faults import Fault, too_large
from app.within import within

WHOLE_S = 20.0
"""How long a body may take that is not read as it comes."""
PIECE_S = 120.0
"""How long a text in pieces may pause: a language model may think for a while."""


async def whole(request: web.Request, limit_bytes: int, within_s: float = WHOLE_S) -> bytes:
    """Return the body; raises Fault if it is too large, too slow, or encoded."""
    _refuse_encoded(request)
    if (request.content_length or 0) > limit_bytes:
        raise too_large(limit_bytes)
    give_up_s = time.monotonic() + within_s
    body = bytearray()
    while piece := await _next(request, give_up_s - time.monotonic()):
        body += piece
        if len(body) > limit_bytes:
            raise too_large(limit_bytes)
    return bytes(body)


async def texts(
    request: web.Request, limit_bytes: int, pause_s: float = PIECE_S
) -> AsyncGenerator[str, None]:
    """Yield the body's text as it comes, whole characters only; raises Fault."""
    _refuse_encoded(request)
    require_utf8(request)
    decoder = codecs.getincrementaldecoder("utf-8")()
    count = 0
    while True:
        piece = await _next(request, pause_s)
        count += len(piece)
        if count > limit_bytes:
            raise too_large(limit_bytes)
        try:
            text = decoder.decode(piece, final=not piece)
        except UnicodeDecodeError:
            raise _no_text() from None
        if text:
            yield text
        if not piece:
            return


def as_text(request: web.Request, body: bytes) -> str:
    """Return ``body`` as text; raises Fault."""
    require_utf8(request)
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise _no_text() from None


def require_utf8(request: web.Request) -> None:
    """Raise Fault if the body's text is in another encoding."""
    charset = (request.charset or "utf-8").lower()
    if charset not in ("utf-8", "utf8", "us-ascii"):
        raise Fault(415, "wrong_charset", f"text in {charset[:40]!r} is not read", "send it as UTF-8")


async def _next(request: web.Request, within_s: float) -> bytes:
    """Return what has come of the body, nothing at its end."""
    try:
        return await within(max(0.0, within_s), request.content.readany())
    except asyncio.TimeoutError:
        raise Fault(408, "too_slow", "the body did not come in time", "send it faster", closes=True) from None
    except (web.RequestPayloadError, ValueError) as error:
        raise Fault(
            400, "bad_body", f"the body cannot be read: {str(error)[:100]}", "send it again", closes=True
        ) from None


def _refuse_encoded(request: web.Request) -> None:
    encoding = request.headers.get("Content-Encoding", "identity").lower()
    if encoding != "identity":
        raise Fault(
            415, "encoded", f"a body in {encoding[:40]!r} is not read", "send it as it is", closes=True
        )


def _no_text() -> Fault:
    return Fault(400, "bad_text", "the body is not UTF-8", "send the text as UTF-8")
