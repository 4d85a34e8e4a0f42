"""What a desk is doing, put together from what it knows, what its host knows, and what the engine says."""

from __future__ import annotations

from collections.abc import Collection

from app.desk.status import Speaking, Status, Waiting
from app.desk.taken import Taken
from app.engine.engine import Engine
from app.engine.host import Host
from app.metrics.report import Report


def status(
    host: Host, requests: Collection[Taken], now_s: float, *, is_paused: bool, last: Report | None
) -> Status:
    """Return the status; ``requests`` are those that are not over, oldest first."""
    link, decoder, output = host.link, host.decoder, host.output
    heard = [taken for taken in requests if taken.has_started]
    return Status(
        link=link.state,
        link_detail=link.detail,
        mode=link.mode,
        decoder_ready=decoder.ready,
        decoder_detail=decoder.detail,
        decoder_rtf=decoder.rtf,
        output=output.info.name if output.info else None,
        output_detail=output.detail,
        audible=output.info is not None and output.info.audible,
        paused=is_paused,
        speaking=_speaking(heard[-1], host.engine) if heard else None,
        queue=tuple(_waiting(taken, now_s) for taken in _queue(requests, host.engine)),
        last=last,
    )


def _speaking(taken: Taken, engine: Engine | None) -> Speaking:
    heard_s = taken.played_s + (engine.heard_s(taken.group) if engine is not None else 0.0)
    return Speaking(taken.id, taken.request.source, taken.text, taken.sentence, heard_s)


def _queue(requests: Collection[Taken], engine: Engine | None) -> list[Taken]:
    """Return what waits, in the order in which it would be heard; what the engine does not know is last."""
    waiting = {taken.group: taken for taken in requests if not taken.has_started}
    groups = dict.fromkeys(u.place.group for u in engine.upcoming()) if engine is not None else {}
    known = [waiting.pop(group) for group in groups if group in waiting]
    return [*known, *sorted(waiting.values(), key=lambda taken: -taken.request.priority)]


def _waiting(taken: Taken, now_s: float) -> Waiting:
    request = taken.request
    return Waiting(taken.id, request.source, taken.text, request.priority, now_s - taken.taken_s)
