"""The server: whether it can be reached, who decodes, which voices it has, and how soon it answers a text."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from app.config import Config, Profile, VoiceConfig
from app.desktop.connection_check import ANSWER_S, check_connection
from app.engine.build import session_config
from app.errors import ConfigError, NearfieldError, Refused, Unreachable
from app.headless.doctor.decoding import spec_of
from app.headless.doctor.finding import Fact, Finding, Verdict
from app.session.address import ServerAddress, server_address
from app.session.events import BytesArrived, SessionEvent
from app.session.session import Session
from app.session.voices import VoiceList, VoiceServer, normal
from app.within import within
from decoder.spec import CodecSpec
from decoder.wire.events import (
    FramesArrived,
    LinkUseless,
    Mode,
    ModeKnown,
    PcmArrived,
    ServerSaid,
    UtteranceEnded,
)

SERVER = "server"
SPEECH = "speech"
SERVER_LIMIT_S = 60.0
"""Connecting may take 10 s, an answer 3 s, the voices 20 s."""
FIRST_FRAME_S = 60.0
"""A server that has just started may load its model first."""
SPEECH_LIMIT_S = FIRST_FRAME_S + 30.0
PHRASE = "One, two, three."
_SLOW_S = 1.0
"""A first frame later than this is heard as a pause."""
_SHOWN_VOICES = 6


def check_server(config: Config) -> Finding:
    """Connect, ask who decodes, list the voices, and leave again; not a word is spoken."""
    return asyncio.run(_check_server(config))


def mode_of(finding: Finding) -> Mode | None:
    """Say who decodes, as `check_server` found it; ``None`` if the server was not reached."""
    mode = finding.facts.get("mode")
    return Mode(mode) if isinstance(mode, str) else None


async def _check_server(config: Config) -> Finding:
    server = config.server
    profile = Profile("server", server.url, server.ca_file, server.allow_insecure_key)
    try:
        found = await check_connection(profile, server.api_key, ANSWER_S)
    except (Unreachable, Refused, ConfigError) as error:
        match error:
            case Unreachable():
                step = "start the server, check server.url and the network between"
            case Refused():
                step = "check server.url and NEARFIELD_API_KEY"
            case _:
                step = "mend that value"
        facts: dict[str, Fact] = {"url": server.url}
        return Finding(SERVER, Verdict.PROBLEM, str(error), step, facts)
    facts = {"url": server.url, "mode": found.mode.value, "connect_s": round(found.took_s, 4)}
    finding = Finding(SERVER, Verdict.OK, _reached(found.mode, found.took_s), facts=facts)
    return await _with_voices(finding, _address(config), config.voice)


def _reached(mode: Mode, took_s: float) -> str:
    who = {
        Mode.CODEC: "it streams codec tokens",
        Mode.PCM: "it decodes itself and streams PCM",
        Mode.UNKNOWN: "who decodes only shows with a text (--speak)",
    }[mode]
    return f"reached in {took_s * 1000:.0f} ms; {who}"


async def _with_voices(finding: Finding, address: ServerAddress, voice: VoiceConfig) -> Finding:
    try:
        voices = await VoiceServer(address).list()
    except NearfieldError as error:
        text = f"{finding.summary}; its voices cannot be listed ({error})"
        return replace(finding, summary=text, facts={**finding.facts, "voices": str(error)})
    known = [*voices.speakers, *(uploaded.name for uploaded in voices.uploaded)]
    finding = replace(
        finding,
        summary=f"{finding.summary}; {_counted(known)}",
        facts={**finding.facts, "voices": known},
    )
    if is_missing(voice, voices):
        return replace(
            finding,
            verdict=Verdict.PROBLEM,
            summary=f"{finding.summary}; {voice.name} is none of them",
            advice="set voice.name to one of them",
        )
    return finding


def is_missing(voice: VoiceConfig, voices: VoiceList) -> bool:
    """Whether the voice that is asked for is one that the server does not have."""
    has_named = (
        normal(voice.name) and voice.task in ("", "CustomVoice") and (voices.speakers or voices.uploaded)
    )
    return bool(has_named and not voices.is_speaker(voice.name) and not voices.is_uploaded(voice.name))


def _counted(known: list[str]) -> str:
    if not known:
        return "no voices are listed"
    more = f" and {len(known) - _SHOWN_VOICES} more" if len(known) > _SHOWN_VOICES else ""
    return f"voices: {', '.join(known[:_SHOWN_VOICES])}{more}"


def _address(config: Config) -> ServerAddress:
    server = config.server
    return server_address(
        server.url, server.api_key, server.ca_file, server.allow_insecure_key, server.connect_timeout_s
    )


@dataclass
class _Hearing:
    """What comes of one text, with the instants."""

    clock: Callable[[], float]
    over: asyncio.Event = field(default_factory=asyncio.Event)
    mode: Mode = Mode.UNKNOWN
    first_s: float | None = None
    audio_s: float = 0.0
    wire_bytes: int = 0
    reason: str = ""

    def take(self, event: SessionEvent) -> None:
        match event:
            case ModeKnown():
                self.mode = event.mode
            case FramesArrived():
                self._sound(len(event.codes) * CodecSpec().frame_s)
            case PcmArrived():
                self._sound(len(event.pcm) / event.rate_hz)
            case BytesArrived():
                self.wire_bytes += event.count
            case ServerSaid():
                self.reason = event.message
            case UtteranceEnded() | LinkUseless():
                self.reason = event.reason or self.reason
                self.over.set()

    def _sound(self, length_s: float) -> None:
        if self.first_s is None:
            self.first_s = self.clock()
        self.audio_s += length_s


def check_speech(config: Config) -> Finding:
    """Have a few words spoken that nobody hears, and take the time to their first frame."""
    return asyncio.run(_check_speech(config))


async def _check_speech(config: Config) -> Finding:
    clock = time.perf_counter
    hearing = _Hearing(clock)
    session = Session(_address(config), spec_of(config.decoder), hearing.take)
    try:
        await session.ensure_ready(session_config(config))
        sent_s = clock()
        session.speak(PHRASE)
        with contextlib.suppress(asyncio.TimeoutError):
            await within(FIRST_FRAME_S, hearing.over.wait())
        took_s = clock() - sent_s
    except NearfieldError as error:
        return Finding(SPEECH, Verdict.PROBLEM, str(error), "see what the server's own log says")
    finally:
        await session.aclose()
    if hearing.first_s is None:
        reason = hearing.reason or f"nothing came in {FIRST_FRAME_S:.0f} s"
        text = f"“{PHRASE}” brought no sound: {reason}"
        return Finding(SPEECH, Verdict.PROBLEM, text, "see what the server's own log says")
    first_s = hearing.first_s - sent_s
    facts: dict[str, Fact] = {
        "text": PHRASE,
        "mode": hearing.mode.value,
        "first_frame_s": round(first_s, 4),
        "audio_s": round(hearing.audio_s, 3),
        "took_s": round(took_s, 3),
        "wire_bytes": hearing.wire_bytes,
    }
    text = (
        f"first frame after {first_s * 1000:.0f} ms, "
        f"{hearing.audio_s:.2f} s of sound in {took_s:.2f} s, {hearing.mode.value}"
    )
    if took_s > hearing.audio_s + first_s + _SLOW_S:
        return Finding(
            SPEECH, Verdict.PROBLEM, f"slower than real time: {text}", "give the server a faster GPU", facts
        )
    if first_s > _SLOW_S:
        return Finding(
            SPEECH, Verdict.WARNING, f"slow to begin: {text}", "is the server busy, or far away?", facts
        )
    return Finding(SPEECH, Verdict.OK, text, facts=facts)
