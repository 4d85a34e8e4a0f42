"""A slow, far and unsteady link: a model of when bytes arrive, and a relay for real sockets that obeys it.

What a segment costs on the wire is estimated: TCP over IPv4 with timestamps, as Linux sends it. Unrealistic:
nothing is lost, acknowledgements cost nothing, and segments of a burst are as large as they can be.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from dataclasses import dataclass, field

SEGMENT_OVERHEAD_BYTES = 52
"""20 of IPv4, 20 of TCP, 12 of its timestamps; no Ethernet frame."""
SEGMENT_BYTES = 1448
QUEUE_BYTES = 16 * 1024
"""What a router keeps for the link; then it stops to take more."""
LOOK_S = 0.01
PACKET_HEADER_BYTES = 7
FRAME_BYTES = 32


def message_bytes(packet_frames: int) -> int:
    """Return the bytes of a packet as a WebSocket message of a server."""
    payload_bytes = PACKET_HEADER_BYTES + packet_frames * FRAME_BYTES
    return payload_bytes + (2 if payload_bytes < 126 else 4)


def wire_bytes(data_bytes: int) -> int:
    """Return what ``data_bytes`` handed to TCP at once cost on the wire."""
    segments = -(-data_bytes // SEGMENT_BYTES)
    return data_bytes + segments * SEGMENT_OVERHEAD_BYTES


@dataclass
class LinkModel:
    """One direction of a link; time is an argument."""

    bits_per_s: float
    delay_s: float = 0.0
    jitter_s: float = 0.0
    """Each segment comes up to this much later, at random, and never before the one in front of it."""
    seed: int = 0
    wire_bytes: int = 0
    """What has gone through so far."""
    _free_s: float = field(default=0.0, init=False)
    _last_due_s: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)

    def due_s(self, now_s: float, data_bytes: int) -> float:
        """Return when ``data_bytes`` that are sent at ``now_s`` have arrived."""
        cost_bytes = wire_bytes(data_bytes)
        self.wire_bytes += cost_bytes
        self._free_s = max(now_s, self._free_s) + 8 * cost_bytes / self.bits_per_s
        due_s = self._free_s + self.delay_s + self._rng.uniform(0.0, self.jitter_s)
        self._last_due_s = max(due_s, self._last_due_s)
        return self._last_due_s


class SlowLink:
    """Passes bytes on to a port, both ways; give it to ``tcp_server``."""

    def __init__(self, to_port: int, down: LinkModel, up: LinkModel) -> None:
        self._to_port = to_port
        self.down = down
        self.up = up

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._to_port)
        try:
            await asyncio.gather(
                self._pass(reader, far_writer, self.up), self._pass(far_reader, writer, self.down)
            )
        finally:
            far_writer.transport.abort()

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, link: LinkModel
    ) -> None:
        on_the_way: deque[tuple[float, bytes]] = deque()
        changed = asyncio.Event()
        writing = asyncio.create_task(self._deliver(on_the_way, changed, writer))
        try:
            while data := await reader.read(SEGMENT_BYTES):
                on_the_way.append((link.due_s(time.monotonic(), len(data)), data))
                changed.set()
                while sum(len(waiting) for _, waiting in on_the_way) > QUEUE_BYTES:  # noqa: ASYNC110  # time passes
                    await asyncio.sleep(LOOK_S)
            on_the_way.append((time.monotonic(), b""))
            changed.set()
            await writing
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)

    async def _deliver(
        self,
        on_the_way: deque[tuple[float, bytes]],
        changed: asyncio.Event,
        writer: asyncio.StreamWriter,
    ) -> None:
        while True:
            while not on_the_way:
                changed.clear()
                await changed.wait()
            due_s, data = on_the_way[0]
            await asyncio.sleep(due_s - time.monotonic())
            on_the_way.popleft()
            if not data:
                writer.close()
                return
            writer.write(data)
