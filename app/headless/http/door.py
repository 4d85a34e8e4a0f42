"""The door of the server: who may come in, and how every error leaves."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

import msgspec
from aiohttp import web

from app.headless.http.faults import Fault, fault_of
from app.headless.http.guard import Guard
from app.headless.http.rate import Rate

log = logging.getLogger("nearfield.http")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

OPENAI_PATHS = "/v1/"
"""Below this, errors have OpenAI's form."""
MOST_WRONG_TOKENS = 30
"""In a minute, from one address."""
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_METHODS = "GET, POST, OPTIONS"
_HEADERS = "Authorization, Content-Type, Last-Event-ID"
_ASK_AGAIN_S = "600"


class Door:
    """Checks every request before it is handled, and turns whatever goes wrong into an answer.

    ``open_paths`` need no token; those in ``counted`` are what a caller may ask for so often a minute.
    """

    def __init__(
        self,
        guard: Guard,
        per_minute: int,
        *,
        open_paths: frozenset[str],
        counted: frozenset[str],
        paths: tuple[str, ...],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``paths`` is what is told to those who ask for another."""
        self._guard = guard
        self._rate = Rate(per_minute)
        self._wrong_tokens = Rate(MOST_WRONG_TOKENS)
        self._open_paths = open_paths
        self._counted = counted
        self._paths = paths
        self._clock = clock

    async def handle(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Handle a request; the middleware of the application."""
        try:
            if (answer := self._admit(request)) is not None:
                return answer
            return await handler(request)
        except web.HTTPException as error:
            return answer_of(request, self._in_words(request, error))
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception as error:
            fault = fault_of(error)
            if fault.code == "internal":
                log.exception("%s %s failed in an unexpected way", request.method, request.path)
            return answer_of(request, fault)

    async def prepare(self, request: web.Request, response: web.StreamResponse) -> None:
        """Add to the head of every answer what belongs there."""
        headers = response.headers
        headers["Server"] = "nearfield"
        headers["X-Content-Type-Options"] = "nosniff"
        headers["Referrer-Policy"] = "no-referrer"
        headers["Content-Security-Policy"] = _PAGE_POLICY
        headers.setdefault("Cache-Control", "no-store")
        origin = request.headers.get("Origin")
        if origin is not None and self._guard.allows(origin):
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Expose-Headers"] = "Retry-After, X-Nearfield-Voice"
            headers["Vary"] = "Origin"

    # -- inside -----------------------------------------------------------------------------------------

    def _admit(self, request: web.Request) -> web.Response | None:
        """Raise Fault if the request may not come in; a browser's question whether it may is answered."""
        self._guard.check_host(request.headers.get("Host"))
        self._guard.check_origin(request.method, request.headers)
        if request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
            return web.Response(
                status=204,
                headers={
                    "Access-Control-Allow-Methods": _METHODS,
                    "Access-Control-Allow-Headers": _HEADERS,
                    "Access-Control-Max-Age": _ASK_AGAIN_S,
                },
            )
        if request.path not in self._open_paths:
            self._check_token(request)
        if request.path in self._counted:
            wait_s = self._rate.take(request.remote or "", self._clock())
            if wait_s:
                raise Fault(
                    429, "too_often", "that is more than a caller may ask for in a minute",
                    "ask less often, or raise kiosk.rate_per_minute", retry_after_s=wait_s, closes=True,
                )  # fmt: skip
        return None

    def _check_token(self, request: web.Request) -> None:
        header = request.headers.get("Authorization")
        try:
            self._guard.check_token(header)
        except Fault:
            wait_s = self._wrong_tokens.take(request.remote or "", self._clock()) if header else 0.0
            if wait_s:
                raise Fault(
                    429, "too_often", "that were too many wrong tokens",
                    "ask again later, with the right one", retry_after_s=wait_s, closes=True,
                ) from None  # fmt: skip
            raise

    def _in_words(self, request: web.Request, error: web.HTTPException) -> Fault:
        match error:
            case web.HTTPNotFound():
                return Fault(
                    404, "not_found", f"there is no {request.path[:100]!r} here",
                    f"there are {', '.join(self._paths)}",
                )  # fmt: skip
            case web.HTTPMethodNotAllowed():
                methods = ", ".join(sorted(error.allowed_methods))
                return Fault(405, "wrong_method", f"{request.method[:20]} does not apply", f"use {methods}")
            case web.HTTPExpectationFailed():
                return Fault(417, "wrong_expectation", "only Expect: 100-continue is known", "leave it out")
            case _:
                return Fault(error.status, "refused", error.reason, "see /openapi.json", closes=True)


def answer_of(request: web.BaseRequest, fault: Fault) -> web.Response:
    """Return the answer that tells ``fault``, in the form that the path's callers expect."""
    is_openai = request.path.startswith(OPENAI_PATHS)
    body = fault.openai_body() if is_openai else fault.body()
    answer = json_answer(body, fault.status, fault.headers)
    if fault.closes:
        answer.force_close()
    return answer


def json_answer(body: object, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """Return an answer in JSON."""
    encoded = msgspec.json.encode(body)
    return web.Response(body=encoded, status=status, headers=headers, content_type="application/json")


def dropper(request: web.Request) -> Callable[[], None]:
    """Return what ends the request's connection at once, whoever waits for it."""

    def drop() -> None:
        if request.transport is not None:
            request.transport.abort()

    return drop
