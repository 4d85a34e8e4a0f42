"""Ends with 0 if a talker server would speak now: a health check with nothing but Python's own library.

``/health`` of a server only says that its engine lives. This asks over the WebSocket, too, what the first
words of every client find out: whether it sends codec tokens, or decodes itself. Nothing is spoken for it.

    python3 is_serving.py [--port 8001] [--mode codec|pcm|any] [--key-env VLLM_API_KEY]
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import http.client
import json
import os
import socket
import struct
import sys
import time
from collections.abc import Sequence

PATH = "/v1/audio/speech/stream"
TEXT, CLOSE = 0x1, 0x8
KNOWN, STOCK = "input.cancelled", "Unknown message type: input.cancel"
LIMIT_BYTES = 65_536
"""Of one answer; a probe is answered with a few dozen."""


class NotServing(Exception):
    """Nobody would be heard; the text says why."""


class Connection:
    """Just enough of a WebSocket: masked text out, unfragmented frames in, all of it before one instant."""

    def __init__(self, stream: socket.socket, ends_at_s: float) -> None:
        self._stream = stream
        self._ends_at_s = ends_at_s

    def open(self, host: str, port: int, key: str) -> None:
        """Shake hands."""
        nonce = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET {PATH} HTTP/1.1",
            f"Host: {host}:{port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {nonce}",
            "Sec-WebSocket-Version: 13",
            *([f"Authorization: Bearer {key}"] if key else []),
        ]
        self._stream.sendall("\r\n".join([*lines, "", ""]).encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self._take(1)
            if len(head) > LIMIT_BYTES:
                raise NotServing("the answer to the handshake has no end")
        status = head.split(b"\r\n", 1)[0].decode(errors="replace")
        if " 101 " not in f"{status} ":
            hint = ": the key is wrong or missing" if " 401" in status or " 403" in status else ""
            raise NotServing(f"the WebSocket was refused ({status}){hint}")

    def send(self, message: dict[str, object]) -> None:
        """Send one JSON message."""
        body = json.dumps(message).encode()
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(body))
        size = bytes([0x80 | len(body)]) if len(body) < 126 else struct.pack(">BH", 0x80 | 126, len(body))
        self._stream.sendall(bytes([0x80 | TEXT]) + size + mask + masked)

    def receive(self) -> dict[str, object]:
        """Return the next JSON message; pings and the like are passed over."""
        while True:
            first, second = self._take(2)
            size = second & 0x7F
            if size == 126:
                (size,) = struct.unpack(">H", self._take(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", self._take(8))
            if size > LIMIT_BYTES:
                raise NotServing(f"an answer of {size} bytes to a probe")
            body = self._take(size)
            if first & 0x0F == CLOSE:
                raise NotServing("the server closed the connection instead of answering")
            if first & 0x0F == TEXT:
                with contextlib.suppress(ValueError):
                    message = json.loads(body)
                    if isinstance(message, dict):
                        return message
                raise NotServing("the answer is not a JSON object")

    def _take(self, count: int) -> bytes:
        taken = b""
        while len(taken) < count:
            left_s = self._ends_at_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            self._stream.settimeout(left_s)
            part = self._stream.recv(count - len(taken))
            if not part:
                raise NotServing("the server dropped the connection")
            taken += part
        return taken


def check_health(host: str, port: int, limit_s: float) -> None:
    """Raise NotServing unless ``/health`` answers with 200."""
    connection = http.client.HTTPConnection(host, port, timeout=limit_s)
    try:
        connection.request("GET", "/health")
        answer = connection.getresponse()
        if answer.status != 200:
            text = answer.read(300).decode(errors="replace").strip()
            raise NotServing(f"/health answers {answer.status}: {text}")
    except http.client.HTTPException as fault:
        raise NotServing(f"what answers is no HTTP server ({type(fault).__name__})") from None
    finally:
        connection.close()


def find_mode(host: str, port: int, key: str, limit_s: float) -> str:
    """Return ``codec`` or ``pcm``; raises NotServing if the server says neither."""
    ends_at_s = time.monotonic() + limit_s
    with socket.create_connection((host, port), timeout=limit_s) as stream:
        connection = Connection(stream, ends_at_s)
        connection.open(host, port, key)
        config = {"output_mode": "codec_tokens", "stream_audio": True, "response_format": "pcm"}
        connection.send({"type": "session.config", **config})
        # Answered before any text, and never spoken.
        connection.send({"type": "input.cancel"})
        message = connection.receive()
        connection.send({"type": "session.close"})
    if message.get("type") == KNOWN:
        return "codec"
    told = str(message.get("message", ""))
    if told.startswith(STOCK):
        return "pcm"
    raise NotServing(f"an unknown answer to the probe: {told or message.get('type')}")


def main(argv: Sequence[str] | None = None) -> int:
    """Ask, say in a line how it stands, and return 0 or 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--host", default="127.0.0.1", help="default: %(default)s")
    parser.add_argument("--port", type=int, default=8001, help="default: %(default)s")
    parser.add_argument(
        "--mode", choices=("codec", "pcm", "any"), default="codec", help="what it has to send"
    )
    parser.add_argument(
        "--key-env", default="VLLM_API_KEY", metavar="NAME", help="variable with the key, if any"
    )
    parser.add_argument("--limit-s", type=float, default=5.0, metavar="S", help="of each question")
    asked = parser.parse_args(argv)
    try:
        check_health(asked.host, asked.port, asked.limit_s)
        mode = find_mode(asked.host, asked.port, os.environ.get(asked.key_env, ""), asked.limit_s)
        if asked.mode not in (mode, "any"):
            what = "it sends codec tokens" if mode == "codec" else "it decodes itself: is the plug-in loaded?"
            raise NotServing(f"it lives, but {what}")
    except NotServing as fault:
        print(f"not serving: {fault}")
        return 1
    except TimeoutError:
        print(f"not serving: no answer in {asked.limit_s:g} s")
        return 1
    except OSError as fault:
        print(f"not serving: {fault.strerror or fault}")
        return 1
    print("serving: codec tokens" if mode == "codec" else "serving: PCM, decoded by the server")
    return 0


if __name__ == "__main__":
    sys.exit(main())
