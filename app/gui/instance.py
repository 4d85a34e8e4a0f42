"""One window for each person: a second start raises the first, and can hand it something to speak.

The first window listens on a local socket that only its user can reach. A request is one JSON object in a
line, and the answer is a line with ``ok``::

    {"do": "raise", "token": "…"}             token: of the desktop's start-up notification, may be empty
    {"do": "speak", "text": "…", "token": "…"}
    {"do": "speak-clipboard"}
"""

from __future__ import annotations

import getpass
import hashlib
import json
import logging
import os
import stat
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import platformdirs
from PySide6.QtCore import QLockFile, QObject
from PySide6.QtNetwork import QLocalServer, QLocalSocket

log = logging.getLogger("nearfield.gui")

ANSWER_S = 2.0
"""A window that takes longer to answer is taken for stuck, and another is opened."""
STARTS_S = 3.0
"""So long may a window take from claiming its place to listening there."""
_RETRY_S = 0.05
_MOST_BYTES = 4_000_000
_OK = b"ok\n"


@dataclass(frozen=True)
class Request:
    """What a second start asks of the first."""

    do: str
    text: str = ""
    token: str = ""

    RAISE = "raise"
    SPEAK = "speak"
    SPEAK_CLIPBOARD = "speak-clipboard"

    def line(self) -> bytes:
        """Return it as it travels."""
        return json.dumps({k: v for k, v in asdict(self).items() if v}).encode() + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> Request | None:
        """Read a line; ``None`` if it is no request."""
        try:
            fields = json.loads(line)
            request = cls(**{k: str(fields[k]) for k in ("do", "text", "token") if k in fields})
        except (ValueError, TypeError):
            return None
        return request if request.do in (cls.RAISE, cls.SPEAK, cls.SPEAK_CLIPBOARD) else None


@dataclass(frozen=True)
class Place:
    """Where the window of one user and one configuration is found."""

    socket: str
    lock: str


def place(config_path: Path | None = None) -> Place | None:
    """Return where the window with this configuration listens; ``None`` where no place is safe.

    A window with another configuration file is another window.
    """
    name = "window"
    if config_path is not None:
        name += "-" + hashlib.sha256(os.fsencode(config_path.resolve())).hexdigest()[:12]
    folder = platformdirs.user_runtime_path("nearfield", appauthor=False)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = folder.lstat()
    except OSError as error:
        log.warning("a second start cannot find this window: %s", error)
        return None
    if sys.platform == "win32":
        return Place(f"nearfield-{getpass.getuser()}-{name}", str(folder / f"{name}.lock"))
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o022:
        log.warning("a second start cannot find this window: others may write in %s", folder)
        return None
    return Place(str(folder / f"{name}.sock"), str(folder / f"{name}.lock"))


def claim(where: Place) -> QLockFile | None:
    """Become the first window: return what has to be kept while it is open, or ``None`` if there is one.

    What a crash left behind does not count.
    """
    lock = QLockFile(where.lock)
    lock.setStaleLockTime(0)
    return lock if lock.tryLock(0) else None


def hand_over(where: Place, request: Request, patience_s: float = 0.0) -> bool:
    """Ask the window that listens there; false if there is none, or it does not answer.

    Needs no event loop and no application. With ``patience_s`` a window that is just being opened is
    waited for.
    """
    give_up_at_s = time.monotonic() + patience_s
    socket = QLocalSocket()
    try:
        socket.connectToServer(where.socket)
        while not socket.waitForConnected(int(1000 * ANSWER_S)):
            if time.monotonic() >= give_up_at_s:
                return False
            time.sleep(_RETRY_S)
            socket.connectToServer(where.socket)
        socket.write(request.line())
        while not socket.canReadLine():
            if not socket.waitForReadyRead(int(1000 * ANSWER_S)):
                return False
        return bytes(socket.readLine().data()) == _OK
    finally:
        socket.abort()


class Instance(QObject):
    """Listens for later starts, from its making until ``close``; only for who has claimed the place."""

    def __init__(self, where: Place, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._handle: Callable[[Request], None] | None = None
        self._early: list[Request] = []
        """What was asked before there was somebody to do it."""
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_connection)
        self.is_listening = self._listen(where.socket)

    def serve(self, handle: Callable[[Request], None]) -> None:
        """Have ``handle`` called with each request, and with those that came already."""
        self._handle = handle
        early, self._early = self._early, []
        for request in early:
            handle(request)

    def close(self) -> None:
        """Listen no longer, and leave no socket behind."""
        self._server.close()

    def _listen(self, name: str) -> bool:
        QLocalServer.removeServer(name)  # what a crash left: the claim says that nobody listens there
        if self._server.listen(name):
            return True
        log.warning("a second start cannot find this window: %s", self._server.errorString())
        return False

    def _on_connection(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.setParent(self)
            socket.readyRead.connect(lambda socket=socket: self._on_bytes(socket))
            socket.disconnected.connect(socket.deleteLater)

    def _on_bytes(self, socket: QLocalSocket) -> None:
        if not socket.canReadLine():
            if socket.bytesAvailable() > _MOST_BYTES:
                socket.abort()
            return
        request = Request.parse(bytes(socket.readLine().data()))
        if request is None:
            socket.abort()
            return
        socket.write(_OK)
        socket.flush()
        if self._handle is None:
            self._early.append(request)
        else:
            self._handle(request)
