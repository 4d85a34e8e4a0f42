"""A real HTTP server on the loopback that speaks what a Hugging Face endpoint speaks for file downloads.

Like the real one: HEAD and GET of ``/OWNER/NAME/resolve/REVISION/FILE`` with commit, ETag and size, ranges, a
redirect to another path for large files, error codes in ``X-Error-Code``. Unlike it: no API, no Xet, one
revision, and faults to order.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """What the server has, and how it misbehaves."""

    files: dict[str, bytes]
    repo: str = "owner/talker"
    ranges: bool = True
    redirect: bool = False
    """Send GET of a large file on to another path, as the Hub does to its storage."""
    token: str | None = None
    """Wanted in ``Authorization``; without it 401, as for a repository that is not there."""
    gated: bool = False
    commit_header: bool = True
    drop_after_bytes: list[int] = field(default_factory=list)
    """Each range of data is cut after so many bytes, once per item; the connection is closed."""
    busy: int = 0
    """So many GETs are answered with 503 first."""
    sent_bytes: int = 0
    requests: list[str] = field(default_factory=list)
    """Method, path and range of each."""
    url: str = ""

    @property
    def gets(self) -> list[str]:
        return [request for request in self.requests if request.startswith("GET") and "bytes=" in request]


@contextmanager
def serve(hub: Hub) -> Iterator[Hub]:
    """Serve ``hub`` on a free port and set ``hub.url``."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, *, body: bool) -> None:
            hub.requests.append(f"{self.command} {self.path} {self.headers.get('Range', '')}".strip())
            match = re.fullmatch(rf"/{hub.repo}/(resolve|storage)/([^/]+)/(.+)", self.path)
            if match is None:
                return self.refuse(404, "RepoNotFound")
            kind, revision, name = match.groups()
            authorized = hub.token is None or self.headers.get("Authorization") == f"Bearer {hub.token}"
            if kind == "resolve" and not authorized:
                return self.refuse(401, "RepoNotFound")
            if hub.gated:
                return self.refuse(403, "GatedRepo")
            if revision not in {"main", COMMIT}:
                return self.refuse(404, "RevisionNotFound")
            if name not in hub.files:
                return self.refuse(404, "EntryNotFound")
            if body and hub.busy > 0:
                hub.busy -= 1
                return self.refuse(503, "Busy")
            if hub.redirect and kind == "resolve" and name.endswith(".safetensors"):
                self.send_response(302)
                self.send_file_headers(name)
                self.send_header("Location", f"{hub.url}/{hub.repo}/storage/{revision}/{name}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return None
            return self.send_file(name, body=body)

        def send_file(self, name: str, *, body: bool) -> None:
            content = hub.files[name]
            wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            if wanted and hub.ranges and body:
                begin, end = int(wanted[1]), min(int(wanted[2]) + 1, len(content))
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(content)}")
            else:
                begin, end = 0, len(content)
                self.send_response(200)
            self.send_file_headers(name)
            self.send_header("Content-Length", str(end - begin))
            self.end_headers()
            if not body:
                return
            piece = content[begin:end]
            if begin > 0 and hub.drop_after_bytes:
                piece = piece[: hub.drop_after_bytes.pop(0)]
                self.close_connection = True
            try:
                self.wfile.write(piece)
            except OSError:  # the client has seen enough
                self.close_connection = True
            hub.sent_bytes += len(piece)

        def send_file_headers(self, name: str) -> None:
            if hub.commit_header:
                self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", f'"{abs(hash(hub.files[name])):040x}"')
            self.send_header("X-Linked-Size", str(len(hub.files[name])))

        def refuse(self, status: int, code: str) -> None:
            self.send_response(status)
            self.send_header("X-Error-Code", code)
            self.send_header("X-Error-Message", f"{code} by the test server")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Keep quiet; ``hub.requests`` remembers."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
