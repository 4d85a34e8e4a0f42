"""Addresses that clients name: fetched over HTTP and nothing else, bounded in bytes and in time."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from urllib.parse import SplitResult, urljoin, urlsplit

ANSWER_S = 10.0
"""How long a web server may take to be reached, and to go on with its answer."""
FETCH_S = 30.0
"""How long all of it may take."""
MOST_REDIRECTIONS = 5
_PIECE_BYTES = 64 * 1024
_MOVED = (
    HTTPStatus.MOVED_PERMANENTLY,
    HTTPStatus.FOUND,
    HTTPStatus.SEE_OTHER,
    HTTPStatus.TEMPORARY_REDIRECT,
    HTTPStatus.PERMANENT_REDIRECT,
)


def fetch(uri: str, most_bytes: int, within_s: float = FETCH_S) -> bytes:
    """Return what is at ``uri``, of more than ``most_bytes`` the first ``most_bytes + 1``; it blocks.

    Redirections are followed to HTTP only, and no proxy of the environment is asked.

    Raises:
        OSError: it cannot be reached, is not there, or took more than ``within_s``.
        ValueError: this is no address of the web.
        http.client.HTTPException: what answers does not speak HTTP.

    """
    give_up_at_s = time.monotonic() + within_s
    try:
        for _ in range(MOST_REDIRECTIONS + 1):
            with _asked(urlsplit(uri), give_up_at_s) as answer:
                target = answer.getheader("Location")
                if answer.status in _MOVED and target:
                    uri = urljoin(uri, target)
                    continue
                if answer.status != HTTPStatus.OK:
                    raise OSError(f"HTTP status {answer.status} {answer.reason}")
                data = bytearray()
                while len(data) <= most_bytes and (piece := answer.read1(_PIECE_BYTES)):
                    data += piece
                _check_time(give_up_at_s, within_s)
                return bytes(data[: most_bytes + 1])
    except (OSError, http.client.HTTPException):
        _check_time(give_up_at_s, within_s)  # else the end of a connection that was hung up hides why
        raise
    raise OSError(f"more than {MOST_REDIRECTIONS} redirections")


@contextlib.contextmanager
def _asked(parts: SplitResult, give_up_at_s: float) -> Iterator[http.client.HTTPResponse]:
    """Yield the beginning of an answer, and hang up when the time is over, whatever is waited for.

    The time-out of the socket alone would let a server go on for ever that sends a byte now and then.
    """
    with contextlib.closing(_connection(parts)) as connection:
        connection.connect()
        left_s = max(0.0, give_up_at_s - time.monotonic())
        watchdog = threading.Timer(left_s, _hang_up, [connection.sock])
        watchdog.start()
        try:
            connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
            with connection.getresponse() as answer:
                yield answer
        finally:
            watchdog.cancel()
            watchdog.join()


def _connection(parts: SplitResult) -> http.client.HTTPConnection:
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"{parts.scheme}: is neither http: nor https:")
    if not parts.hostname:
        raise ValueError("the address names no host")
    if parts.scheme == "http":
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=ANSWER_S)
    context = ssl.create_default_context()
    return http.client.HTTPSConnection(parts.hostname, parts.port, timeout=ANSWER_S, context=context)


def _hang_up(connected: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it has ended by itself
        socket.socket.shutdown(connected, socket.SHUT_RDWR)  # TLS has a shutdown of its own, for its reader


def _check_time(give_up_at_s: float, within_s: float) -> None:
    if time.monotonic() >= give_up_at_s:
        raise TimeoutError(f"it took more than {within_s:.0f} s")
