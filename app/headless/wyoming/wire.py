"""Events of the Wyoming protocol, read with a bound on their size: the library's own reader has none."""

from __future__ import annotations

import asyncio
import json

from wyoming.event import Event, async_write_event

from app.within import within

WRITE_S = 60.0
"""How long a reader may take nothing."""


class BadEvent(Exception):
    """What came is no event, or larger than is taken; nothing can be read after it."""


async def read_event(reader: asyncio.StreamReader, limit_bytes: int) -> Event | None:
    """Return the next event, or ``None`` at the end.

    Args:
        reader: made with a limit of ``limit_bytes``, which bounds the first line.
        limit_bytes: of what follows that line.

    Raises:
        BadEvent: it cannot be read.

    """
    try:
        line = await reader.readline()
    except ValueError:
        raise BadEvent(f"an event's first line is longer than {limit_bytes} bytes") from None
    if not line.endswith(b"\n"):
        return None
    header = _json(line)
    event_type = header.get("type")
    if not isinstance(event_type, str):
        raise BadEvent("an event without a type")
    data = header.get("data") or {}
    if not isinstance(data, dict):
        raise BadEvent("an event whose data is no object")
    data_bytes, payload_bytes = _length(header, "data_length"), _length(header, "payload_length")
    if data_bytes + payload_bytes > limit_bytes:
        raise BadEvent(f"an event of {data_bytes + payload_bytes} bytes is larger than {limit_bytes}")
    try:
        more = _json(await reader.readexactly(data_bytes)) if data_bytes else {}
        payload = await reader.readexactly(payload_bytes) if payload_bytes else None
    except asyncio.IncompleteReadError:
        return None
    return Event(event_type, {**data, **more}, payload)


async def write_event(event: Event, writer: asyncio.StreamWriter) -> None:
    """Send an event; waits while the other side takes nothing.

    Raises:
        ConnectionError: the other side has gone, or has taken nothing for `WRITE_S`.

    """
    try:
        await within(WRITE_S, async_write_event(event, writer))
    except asyncio.TimeoutError:
        raise ConnectionResetError("nothing of the answer was taken") from None


def _json(data: bytes) -> dict[str, object]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise BadEvent("an event that is no JSON") from None
    if not isinstance(value, dict):
        raise BadEvent("an event that is no object")
    return value


def _length(header: dict[str, object], name: str) -> int:
    value = header.get(name) or 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadEvent(f"an event whose {name} is no length")
    return value
