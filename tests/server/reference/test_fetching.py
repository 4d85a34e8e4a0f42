"""What is fetched for a client comes over HTTP, and ends in bytes and in time whoever answers."""

from __future__ import annotations

import threading
import time
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler

import pytest

from server.reference.fetching import MOST_REDIRECTIONS, fetch
from tests.server.reference.web_server import answer, web_server

BODY = b"a voice" * 20_000
MOST = 10 * 1024 * 1024


def test_what_is_there_is_returned() -> None:
    asked = []

    def respond(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.path)
        answer(handler, BODY)

    with web_server(respond) as root:
        assert fetch(f"{root}/voices/a%20voice.wav?key=1#part", MOST) == BODY
        assert fetch(root, MOST) == BODY
    assert asked == ["/voices/a%20voice.wav?key=1", "/"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirection_is_followed(status: int) -> None:
    def respond(handler: BaseHTTPRequestHandler) -> None:
        if handler.path == "/old/voice.wav":
            answer(handler, b"", status, Location="../new.wav")
        else:
            answer(handler, handler.path.encode())

    with web_server(respond) as root:
        assert fetch(f"{root}/old/voice.wav", MOST) == b"/new.wav"


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x", "http://[/"])
def test_a_redirection_to_anything_but_a_web_server_is_not_followed(target: str) -> None:
    with (
        web_server(lambda handler: answer(handler, b"secret", 302, Location=target)) as root,
        pytest.raises(ValueError),  # noqa: PT011  # the texts are of urllib and ours
    ):
        fetch(root, MOST)


def test_redirections_end() -> None:
    asked = []

    def respond(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.path)
        answer(handler, b"", 302, Location="/again")

    with web_server(respond) as root, pytest.raises(OSError, match="redirections"):
        fetch(root, MOST)
    assert len(asked) == MOST_REDIRECTIONS + 1


def test_what_is_not_there_is_told_with_its_status() -> None:
    with (
        web_server(lambda handler: answer(handler, b"", 404)) as root,
        pytest.raises(OSError, match="404 Not Found"),
    ):
        fetch(root, MOST)
    with pytest.raises(OSError, match="refused"):
        fetch(root, MOST)


def test_what_does_not_speak_http_is_told() -> None:
    with (
        web_server(lambda handler: handler.wfile.write(b"220 mail.example ESMTP\r\n")) as root,
        pytest.raises(HTTPException),
    ):
        fetch(root, MOST)


def test_what_is_too_large_is_not_fetched_to_its_end() -> None:
    sent = 0

    def endless(handler: BaseHTTPRequestHandler) -> None:
        nonlocal sent
        answer(handler, b"")
        try:
            while sent < 100 * MOST:
                sent += handler.wfile.write(bytes(1024 * 1024))
        except OSError:
            pass

    with web_server(endless) as root:
        assert len(fetch(root, MOST)) == MOST + 1
    assert sent < 3 * MOST


@pytest.mark.parametrize("begin", [b"", b"HTTP/1.1 200 OK\r\nX-Slow: ", b"HTTP/1.1 200 OK\r\n\r\n"],
                         ids=["nothing", "headers", "body"])  # fmt: skip
def test_a_server_that_drips_is_hung_up_on(begin: bytes) -> None:
    """However it spreads its bytes, it never lets a time-out of the socket end it."""
    hung_up = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(begin)
        try:
            while not hung_up.wait(0.02):
                handler.wfile.write(b"a" if begin else b"")
                if not begin:
                    hung_up.wait(1)
        except OSError:
            hung_up.set()

    with web_server(drip) as root:
        began_s = time.monotonic()
        with pytest.raises(TimeoutError, match="took more than"):
            fetch(root, MOST, within_s=0.2)
        assert 0.2 <= time.monotonic() - began_s < 2.0
        hung_up.set()


def test_no_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with web_server(lambda handler: answer(handler, BODY)) as root:
        assert fetch(root, MOST) == BODY
