"""What the desk tells and knows, as plain values for JSON."""

from __future__ import annotations

from typing import Any

from app.desk.events import (
    DeskEvent,
    Failed,
    Finished,
    Interrupted,
    Queued,
    SentenceAudible,
    Started,
)
from app.desk.status import Status
from app.engine.events import Progress

NAMES = ("queued", "started", "sentence", "finished", "interrupted", "failed")
"""The kinds of events, as readers of ``/events`` know them."""


SHOWN_CHARS = 500
"""Of a text, in events and in the status."""


def event_of(event: DeskEvent) -> tuple[str, dict[str, Any]] | None:
    """Return an event's name and body; ``None`` for one that is not told here."""
    who = {"id": event.id, "source": event.source}
    match event:
        case Queued():
            return "queued", {**who, "text": _shown(event.text), "priority": event.priority}
        case Started():
            return "started", who
        case SentenceAudible():
            return "sentence", {**who, "text": _shown(event.text), "index": event.index}
        case Finished():
            return "finished", {**who, "played_ms": _ms(event.played_s), "report": event.report.to_dict()}
        case Interrupted():
            return "interrupted", {**who, "played_ms": _ms(event.played_s), "why": event.why}
        case Failed():
            return "failed", {**who, "played_ms": _ms(event.played_s), "reason": event.reason}
        case _:
            return None


def status_of(status: Status, progress: Progress | None) -> dict[str, Any]:
    """Return the status; ``progress`` is the newest of the utterance that is in flight."""
    speaking = status.speaking
    return {
        "healthy": status.is_healthy,
        "link": {"state": status.link.value, "detail": status.link_detail, "mode": status.mode.value},
        "decoder": {
            "ready": status.decoder_ready,
            "detail": status.decoder_detail,
            "rtf": status.decoder_rtf,
        },
        "output": {"name": status.output, "detail": status.output_detail, "audible": status.audible},
        "paused": status.paused,
        "speaking": None
        if speaking is None
        else {
            "id": speaking.id,
            "source": speaking.source,
            "text": _shown(speaking.text),
            "sentence": _shown(speaking.sentence),
            "heard_ms": _ms(speaking.heard_s),
        },
        "queue": [
            {
                "id": waiting.id,
                "source": waiting.source,
                "text": _shown(waiting.text),
                "priority": waiting.priority,
                "age_s": round(waiting.age_s, 3),
            }
            for waiting in status.queue
        ],
        "now": None
        if progress is None
        else {"stage": progress.stage.value, "report": progress.report.to_dict()},
        "last": None if status.last is None else status.last.to_dict(),
    }


def _shown(text: str) -> str:
    """Return as much of a text as tells which one it is: a hundred whole books would not be read."""
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1]}…"


def _ms(seconds: float) -> int:
    return round(1000 * seconds)
