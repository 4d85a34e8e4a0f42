"""Every path of the API, what it takes and what it answers: both served and described from here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from aiohttp import web

from app.headless.http.asking import JSON_FIELDS, QUERY_FIELDS
from app.headless.http.control import STOP_FIELDS, Control
from app.headless.http.encoders import Format
from app.headless.http.fields import Field
from app.headless.http.looks import Looks
from app.headless.http.page import FILES, Page
from app.headless.http.speak import Speak
from app.headless.http.speech import Speech, speech_fields

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Route:
    """One path and method."""

    method: str
    path: str
    handler: Handler
    about: str
    answers: tuple[tuple[int, str], ...]
    """Status and meaning, apart from what any request may be answered with."""
    content_type: str = "application/json"
    query: tuple[Field, ...] = ()
    body: tuple[Field, ...] | None = None
    """Of a JSON body."""
    takes_text: bool = False
    """Whether the body may be the text alone."""
    is_open: bool = False
    """Whether no token is needed."""
    is_counted: bool = False
    """Whether it counts for what a caller may ask in a minute."""


def api_routes(
    speak: Speak,
    control: Control,
    looks: Looks,
    speech: Speech,
    formats: Mapping[str, Format],
    speech_chars: int,
) -> tuple[Route, ...]:
    """Return the routes of the API; that of its own description is added by whoever serves it."""
    return (
        Route(
            "POST", "/speak", speak.post, "Speak a text: JSON, or the text alone with fields in the query.",
            ((202, "It was taken: its id."), (409, "It ended while its text came.")),
            query=QUERY_FIELDS, body=JSON_FIELDS, takes_text=True, is_counted=True,
        ),
        Route(
            "GET", "/speak/stream", speak.socket,
            "WebSocket: a text in pieces, {\"text\": …} and at last {\"end\": true}; the first may have the "
            "fields of POST /speak. The request's events come back, with their name as \"event\".",
            ((101, "The WebSocket."), (426, "It was asked for without one.")), is_counted=True,
        ),
        Route(
            "POST", "/stop", control.stop, "End one request, or all of them, the waiting ones too.",
            ((200, "Whether there was something."), (404, "There is no such request.")),
            query=STOP_FIELDS, body=STOP_FIELDS,
        ),
        Route("POST", "/pause", control.pause, "Hold the sound.", ((200, "It is held."),), body=()),
        Route("POST", "/resume", control.resume, "Go on.", ((200, "It goes on."),), body=()),
        Route("GET", "/status", looks.status, "All that is known at this instant.", ((200, "The status."),)),
        Route(
            "GET", "/voices", looks.voices, "The server's voices.",
            ((200, "Their names."), (502, "The server refused."), (503, "It cannot be reached.")),
        ),
        Route(
            "GET", "/events", looks.events,
            "Server-sent events: queued, started, sentence; finished, interrupted and failed with "
            "played_ms. A reader who comes back with Last-Event-ID is told what was missed.",
            ((200, "The events, without end."),), content_type="text/event-stream",
        ),
        Route(
            "GET", "/healthz", looks.healthz, "Whether a text would be heard now.",
            ((200, "It would."), (503, "It would not: reasons.")), is_open=True,
        ),
        Route(
            "GET", "/readyz", looks.readyz, "Whether the program has started and takes texts, heard or not.",
            ((200, "It has."), (503, "It has not: reasons.")), is_open=True,
        ),
        Route(
            "GET", "/metrics", looks.metrics, "Numbers for Prometheus.", ((200, "The numbers."),),
            content_type="text/plain",
        ),
        Route(
            "POST", "/v1/audio/speech", speech.handle,
            "As OpenAI's: the sound as a file, streamed while it is made, not played here.",
            (
                (200, "The sound."),
                (502, "The server did not speak it."),
                (503, "The server cannot be reached, or the decoder is not there."),
            ),
            content_type="audio/*", body=speech_fields(formats, speech_chars), is_counted=True,
        ),
    )  # fmt: skip


def page_routes(page: Page) -> tuple[Route, ...]:
    """Return the routes of the page's files."""
    return tuple(
        Route(
            "GET", path, page.file, "The page." if path == "/" else "A part of the page.",
            ((200, "The file."),), content_type=kind, is_open=True,
        )
        for path, (_, kind) in FILES.items()
    )  # fmt: skip
