"""A client as plain as can be: it sends JSON, keeps everything that comes, and checks nothing by itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from websockets.asyncio.client import ClientConnection, connect

from decoder.wire.packets import Codes, Flags, Packet, unpack

WAIT_S = 5.0


@dataclass
class Heard:
    """What came, in order: JSON as dicts, binary as bytes."""

    messages: list[dict[str, Any] | bytes] = field(default_factory=list)

    @property
    def types(self) -> list[str]:
        """Type of each message, runs of binary ones as one "binary"."""
        names: list[str] = []
        for message in self.messages:
            name = message["type"] if isinstance(message, dict) else "binary"
            if name != "binary" or names[-1:] != ["binary"]:
                names.append(name)
        return names

    @property
    def binary(self) -> list[bytes]:
        return [m for m in self.messages if isinstance(m, bytes)]

    @property
    def packets(self) -> list[Packet]:
        return [unpack(data, 16) for data in self.binary]

    @property
    def codes(self) -> Codes:
        return np.concatenate([np.zeros((0, 16), np.int16), *(p.codes for p in self.packets)])

    @property
    def has_eos(self) -> bool:
        return any(p.flags & Flags.EOS for p in self.packets)

    def json(self, name: str) -> dict[str, Any]:
        """Return the only message of this type."""
        (found,) = (m for m in self.messages if isinstance(m, dict) and m["type"] == name)
        return found


class WireClient:
    def __init__(self, socket: ClientConnection, wait_s: float = WAIT_S) -> None:
        self.socket = socket
        self.wait_s = wait_s
        """How long each message may let wait."""

    async def send(self, type_: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": type_, **fields}))

    async def configure(self, **fields: Any) -> None:
        await self.send("session.config", **({"output_mode": "codec_tokens"} | fields))

    async def recv(self) -> dict[str, Any] | bytes:
        message = await asyncio.wait_for(self.socket.recv(), self.wait_s)
        return json.loads(message) if isinstance(message, str) else message

    async def ask(self, text: str) -> None:
        await self.send("input.text", text=text)
        await self.send("input.done")

    async def hear(self, until: str = "session.done") -> Heard:
        """Collect up to and with the first message of type ``until``."""
        heard = Heard()
        await self.hear_into(heard, until)
        return heard

    async def hear_into(self, heard: Heard, until: str) -> None:
        """Collect into ``heard``, so that what came before a connection ended can be looked at."""
        while True:
            heard.messages.append(await self.recv())
            last = heard.messages[-1]
            if isinstance(last, dict) and last["type"] == until:
                return

    async def say(self, text: str, until: str = "session.done") -> Heard:
        await self.ask(text)
        return await self.hear(until)


@asynccontextmanager
async def client(
    url: str, key: str | None = None, wait_s: float = WAIT_S, **options: Any
) -> AsyncIterator[WireClient]:
    headers = {"Authorization": f"Bearer {key}"} if key else None
    settings: dict[str, Any] = {"compression": None, "proxy": None, "max_size": 2**23, "close_timeout": 0.5}
    async with connect(url, additional_headers=headers, **(settings | options)) as socket:
        yield WireClient(socket, wait_s)


async def talk(url: str, text: str, **config: Any) -> Heard:
    """Connect, configure, say ``text``, and return what was heard."""
    async with client(url) as c:
        await c.configure(**config)
        return await c.say(text)
