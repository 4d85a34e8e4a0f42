"""A server of the REST paths for voices: uploads, deletions, a key, and whatever can go wrong over HTTP.

Real HTTP over a real socket. Unrealistic in this: recordings are kept, not listened to, and TLS is all there
is in front of it.
"""

from __future__ import annotations

import asyncio
import email.parser
import email.policy
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from app.session.address import ServerAddress, server_address
from tests.helpers.servers import tcp_server

VOICES_PATH = "/v1/audio/voices"
MODELS_PATH = "/v1/models"
MAX_SAMPLE_BYTES = 10 * 1024 * 1024


@dataclass
class Heard:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = field(repr=False)


@dataclass
class VoiceHost:
    """What the server has, what it was asked, and how it misbehaves."""

    speakers: list[str] = field(default_factory=lambda: ["default", "vivian", "serena"])
    uploaded: list[dict[str, Any]] = field(default_factory=list)
    models: list[str] = field(default_factory=lambda: ["Qwen/Qwen3-TTS"])
    api_key: str = ""
    answer: tuple[int, bytes] | None = None
    """Answered to everything, if set; else by what was asked."""
    only: str = ""
    """The method that ``answer`` is for; empty for all."""
    location: str = ""
    holds: asyncio.Event | None = None
    """No answer before this is set."""
    drips: bool = False
    """A byte of an answer that never ends, again and again."""
    reads_body: bool = True
    """Without: the answer comes while the body is still on its way, and then the connection is cut."""
    heard: list[Heard] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """Set with every request whose head has arrived."""
    port: int = 0
    is_encrypted: bool = False

    def address(self, **more: Any) -> ServerAddress:
        """Return where it is, as a stream's address."""
        scheme = "wss" if self.is_encrypted else "ws"
        return server_address(f"{scheme}://127.0.0.1:{self.port}", **{"open_timeout_s": 5.0, **more})

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        pairs = (line.split(":", 1) for line in head[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, value in pairs}
        length = int(headers.get("content-length", 0))
        self.asked.set()
        body = await reader.readexactly(length) if self.reads_body else b""
        self.heard.append(Heard(method, path, headers, body))
        if self.holds is not None:
            await self.holds.wait()
        status, content = self._answer_to(self.heard[-1])
        lines = [f"HTTP/1.1 {status} -", "Content-Type: application/json", "Connection: close"]
        lines += [f"Location: {self.location}"] if self.location else []
        if self.drips:
            writer.write("\r\n".join([*lines, "", ""]).encode())
            while True:
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.02)
        lines += [f"Content-Length: {len(content)}", "", ""]
        writer.write("\r\n".join(lines).encode() + content)
        await writer.drain()

    def _answer_to(self, request: Heard) -> tuple[int, bytes]:
        if self.answer is not None and self.only in ("", request.method):
            return self.answer
        if self.api_key and request.headers.get("authorization") != f"Bearer {self.api_key}":
            return _json(401, {"error": "Unauthorized"})
        if (request.method, request.path) == ("GET", MODELS_PATH):
            return _json(200, {"object": "list", "data": [{"id": name} for name in self.models]})
        if (request.method, request.path) == ("GET", VOICES_PATH):
            names = [*self.speakers, *(voice["name"].lower() for voice in self.uploaded)]
            return _json(200, {"voices": sorted(names), "uploaded_voices": self.uploaded})
        if (request.method, request.path) == ("POST", VOICES_PATH):
            return self._upload(request)
        if request.method == "DELETE" and request.path.startswith(f"{VOICES_PATH}/"):
            return self._delete(unquote(request.path.removeprefix(f"{VOICES_PATH}/")))
        return _json(404, {"error": {"message": "Not Found", "code": 404}})

    def _upload(self, request: Heard) -> tuple[int, bytes]:
        parts = form(request)
        if missing := {"audio_sample", "consent", "name"} - set(parts):
            return _json(422, {"detail": [{"msg": f"Field required: {sorted(missing)[0]}"}]})
        if len(parts["audio_sample"]) > MAX_SAMPLE_BYTES:
            return _json(400, {"error": {"message": "File size exceeds maximum limit of 10MB."}})
        voice: dict[str, Any] = {
            "name": parts["name"].decode(),
            "consent": parts["consent"].decode(),
            "created_at": 1_790_000_000,
            "file_size": len(parts["audio_sample"]),
            "mime_type": "audio/wav",
            "embedding_source": "audio",
        }
        if "ref_text" in parts:
            voice["ref_text"] = parts["ref_text"].decode()
        self.uploaded = [v for v in self.uploaded if v["name"].lower() != voice["name"].lower()] + [voice]
        return _json(200, {"success": True, "voice": voice})

    def _delete(self, name: str) -> tuple[int, bytes]:
        left = [voice for voice in self.uploaded if voice["name"].lower() != name.lower()]
        if len(left) == len(self.uploaded):
            return _json(404, {"success": False, "error": f"Voice '{name}' not found"})
        self.uploaded = left
        return _json(200, {"success": True, "message": f"Voice '{name}' deleted successfully"})


def form(request: Heard) -> dict[str, bytes]:
    """Return the fields of a multipart form, read by the standard library."""
    head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + request.body)
    fields = {}
    for part in message.iter_parts():  # type: ignore[attr-defined]  # an EmailMessage, by its policy
        content = part.get_payload(decode=True)
        fields[str(part.get_param("name", header="content-disposition"))] = content
    return fields


def _json(status: int, body: object) -> tuple[int, bytes]:
    return status, json.dumps(body).encode()


@asynccontextmanager
async def voice_host(tls: ssl.SSLContext | None = None, **settings: Any) -> AsyncIterator[VoiceHost]:
    """Run a :class:`VoiceHost` for as long as the block does."""
    host = VoiceHost(**settings)
    async with tcp_server(host.serve, tls) as port:
        host.port, host.is_encrypted = port, tls is not None
        yield host
