"""What goes wrong, as an answer: a status, a code for programs, words for people, and a next step."""

from __future__ import annotations

import math
from typing import Any

from app.errors import (
    ConfigError,
    DeskClosing,
    NearfieldError,
    NothingToSay,
    QueueFull,
    Refused,
    RequestError,
    TextTooLong,
    Unreachable,
)
from decoder.errors import DecoderError

_BUSY_S = 5.0
"""When somebody who found the queue full may ask again."""


class Fault(Exception):
    """Raised by whatever handles a request; the door makes the answer of it."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        next_step: str,
        *,
        param: str | None = None,
        retry_after_s: float | None = None,
        closes: bool = False,
    ) -> None:
        """``param`` is the field at fault; ``closes`` ends the connection, because its body is not read."""
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.next_step = next_step
        self.param = param
        self.retry_after_s = retry_after_s
        self.closes = closes

    @property
    def headers(self) -> dict[str, str]:
        """What belongs into the head of the answer."""
        headers = {}
        if self.retry_after_s is not None:
            headers["Retry-After"] = str(max(1, math.ceil(self.retry_after_s)))
        if self.status == 401:
            headers["WWW-Authenticate"] = 'Bearer realm="nearfield"'
        if self.closes:
            headers["Connection"] = "close"
        return headers

    def body(self) -> dict[str, Any]:
        """Return the answer of this API: ``{"error": {code, message, next}}``."""
        return {"error": {"code": self.code, "message": self.message, "next": self.next_step}}

    def openai_body(self) -> dict[str, Any]:
        """Return the same in the form of OpenAI's errors."""
        if self.status == 401:
            kind = "authentication_error"
        elif self.status == 429:
            kind = "rate_limit_error"
        elif self.status >= 500:
            kind = "server_error"
        else:
            kind = "invalid_request_error"
        message = f"{self.message}; {self.next_step}" if self.next_step else self.message
        return {"error": {"message": message, "type": kind, "param": self.param, "code": self.code}}


def bad_field(name: str, fault: str) -> Fault:
    """Return the fault of a field with a value that it cannot have."""
    return Fault(400, "bad_field", f"{name}: {fault}", "see /openapi.json for what it may be", param=name)


def too_large(limit: int) -> Fault:
    """Return the fault of a body of more than ``limit`` bytes."""
    return Fault(
        413,
        "too_large",
        f"the body is larger than {limit} bytes",
        "send less at once, or raise kiosk.request_bytes",
        closes=True,
    )


def unexpected() -> Fault:
    """Return what is told of an error that nobody foresaw: nothing; the log has it."""
    return Fault(500, "internal", "something unexpected went wrong", "the program's log says what; try again")


def fault_of(error: Exception) -> Fault:
    """Return the answer to an error that was raised on purpose, or to one that was not."""
    text = str(error)
    match error:
        case Fault():
            return error
        case QueueFull():
            return Fault(429, error.code, text, "ask again later", retry_after_s=_BUSY_S)
        case DeskClosing():
            return Fault(503, error.code, text, "ask again once it runs", retry_after_s=_BUSY_S)
        case TextTooLong():
            return Fault(413, error.code, text, "send it in parts", param="text")
        case NothingToSay():
            return Fault(400, error.code, text, "send a letter or a number", param="text")
        case RequestError():
            param = getattr(error, "field", None)
            return Fault(400, error.code, text, "see /openapi.json for what it may be", param=param)
        case Unreachable():
            return Fault(503, "unreachable", text, "ask again later", retry_after_s=_BUSY_S)
        case Refused():
            return Fault(502, "refused", text, "see GET /status, and the server's settings")
        case ConfigError():
            return Fault(400, "bad_voice", text, "see GET /voices for what there is")
        case NearfieldError() | DecoderError():
            return Fault(503, "not_ready", text, "see GET /healthz for what is missing")
        case _:
            return unexpected()
