"""Between speech-dispatcher and the desk: one text at a time, its end told, silence at once when asked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from app.config import Config
from app.desk.desk import Desk
from app.desk.events import DeskEvent, Failed, Finished, Interrupted, SentenceAudible, Started
from app.desk.request import Request
from app.errors import NothingToSay, RequestError
from app.headless import languages
from app.headless.speechd import names, protocol
from app.headless.speechd.marks import Marks, Pace
from app.headless.speechd.protocol import (
    Audio,
    Command,
    Debug,
    Init,
    Kind,
    ListVoices,
    LogLevel,
    Pause,
    Quit,
    Settings,
    Speak,
    Stop,
)
from app.headless.speechd.ssml import Script, read
from app.headless.voices import asked_for

log = logging.getLogger("nearfield.speechd")

SOURCE = "speech-dispatcher"
TTL_S = 30.0
"""A decoder that is still being loaded is waited for so long; what is older nobody wants to hear."""
LOOK_S = 0.05
"""How often it is looked whether a mark was reached."""
_NOT_HERE = {
    "rate": "the pace of speech cannot be changed",
    "pitch": "the pitch of the voice cannot be changed",
    "pitch_range": "the pitch range of the voice cannot be changed",
}
"""What speech-dispatcher may ask for and the talker cannot do; 0 is the voice as it is."""


@dataclass(eq=False)
class _Spoken:
    """The text that is being spoken."""

    id: str
    marks: Marks
    has_begun: bool = False
    is_paused: bool = False
    """Whether it was ended by a pause: the rest comes again."""
    looking: asyncio.Task[None] | None = None


class Module:
    """Made once for a conversation; everything in the event loop."""

    def __init__(
        self,
        desk: Desk,
        config: Config,
        is_demo: bool,
        write: Callable[[Sequence[str]], None],
        voices: Callable[[], Awaitable[Sequence[str]]],
        empty_output: Callable[[], None],
        log_to: Callable[[Debug], bool],
    ) -> None:
        """Speak as configured.

        Args:
            desk: speaks.
            config: as the desk was given it, which the volume that is asked for is put into.
            is_demo: as the desk was given it.
            write: sends lines to speech-dispatcher.
            voices: returns the names of the voices that there are, soon; never raises.
            empty_output: has what the sound device holds thrown away.
            log_to: writes the log to a file, or no longer; returns whether that works.

        """
        self._desk = desk
        self._config = config
        self._is_demo = is_demo
        self._out = write
        self._held_back: list[str] | None = None
        """What may not be told before the answer to a text."""
        self._voices = voices
        self._empty_output = empty_output
        self._log_to = log_to
        self._pace = Pace()
        self._spoken: _Spoken | None = None
        self._count = 0
        self._voice: str | None = None
        self._language: str | None = None
        self._spells = False
        self._volume = config.audio.volume
        self._told_missing: set[str] = set()
        self._unsubscribe = desk.subscribe(self._on_event)

    async def handle(self, command: Command) -> bool:
        """Do what is asked and answer it; False once the conversation is over."""
        match command:
            case Init():
                self._write(protocol.INITIALISED)
            case Audio():
                # The sound goes out here: handing it over would make a stop wait for what was handed over.
                is_ours = command.settings.get("audio_output_method") != "server"
                self._write([protocol.AUDIO_TAKEN if is_ours else protocol.BAD_VALUE])
            case LogLevel():
                self._write([protocol.LOG_LEVEL_TAKEN])
            case Settings():
                await self._set(command)
                self._write([protocol.SETTINGS_TAKEN])
            case ListVoices():
                voices = [(name, tag, "") for name in await self._voices() for tag in languages.NAMES]
                self._write(protocol.voice_list(voices))
            case Speak():
                self._speak(command)
            case Stop():
                self._end_spoken(is_paused=False)
            case Pause():
                self._end_spoken(is_paused=True)
            case Debug():
                works = self._log_to(command)
                self._write([protocol.debugging(command.is_on) if works else protocol.BAD_VALUE])
            case Quit():
                self._end_spoken(is_paused=False)
                self._write([protocol.QUITTING])
                return False
        return True

    async def aclose(self) -> None:
        """Be silent and follow nothing any more."""
        self._end_spoken(is_paused=False)
        self._unsubscribe()

    # -- settings ---------------------------------------------------------------------------------------

    async def _set(self, command: Settings) -> None:
        values = {key: "" if value == "NULL" else value for key, value in command.values.items()}
        if "synthesis_voice" in values:
            self._voice = values["synthesis_voice"] or None
        if "language" in values:
            self._language = languages.name_of(values["language"])
        self._spells = values.get("spelling_mode", "on" if self._spells else "off") == "on"
        for key, reason in _NOT_HERE.items():
            if values.get(key, "0") != "0" and key not in self._told_missing:
                self._told_missing.add(key)
                log.warning("%s=%s was asked for: %s with this talker", key, values[key], reason)
        if "volume" in values:
            await self._set_volume(values["volume"])

    async def _set_volume(self, text: str) -> None:
        try:
            asked = max(-100, min(100, int(text)))
        except ValueError:
            log.warning("volume %r is no number from -100 to 100", text)
            return
        volume = self._config.audio.volume * (asked + 100) / 200
        if volume != self._volume:
            self._volume = volume
            audio = replace(self._config.audio, volume=volume)
            await self._desk.apply(replace(self._config, audio=audio), self._is_demo)

    # -- speaking ---------------------------------------------------------------------------------------

    def _speak(self, command: Speak) -> None:
        if self._spoken is not None:
            log.error("a text came before the one before was over")
            self._write([protocol.CANNOT_SPEAK])
            return
        script = self._script(command)
        self._count += 1
        spoken = self._spoken = _Spoken(f"spd-{self._count}", Marks(script, self._pace))
        pinned = self._config.voice.language
        request = Request(
            text=script.text,
            id=spoken.id,
            voice=asked_for(self._voice) or None,
            language=None if pinned else self._language,
            ttl_s=TTL_S,
            source=SOURCE,
        )
        self._held_back = []
        answer = protocol.SPEAKING
        try:
            self._desk.speak(request)
        except NothingToSay:
            self._begin(spoken)
            self._tell_marks(spoken.marks.ended(0.0))
            self._over(spoken, protocol.END)
        except RequestError as error:
            log.error("%s", error)
            self._spoken, self._held_back, answer = None, [], protocol.CANNOT_SPEAK
        lines, self._held_back = [answer, *self._held_back], None
        self._write(lines)
        if self._spoken is not None and spoken.marks.are_left:
            spoken.looking = asyncio.create_task(self._look(spoken))

    def _script(self, command: Speak) -> Script:
        match command.kind:
            case Kind.CHARACTER:
                return Script(names.of_character(" " if command.text == "space" else command.text))
            case Kind.KEY:
                return Script(names.of_key(command.text))
            case Kind.SOUND_ICON:
                return Script(names.of_sound(command.text))
            case Kind.TEXT:
                script = read(command.text)
                return Script(names.spelt(script.text)) if self._spells else script

    def _end_spoken(self, *, is_paused: bool) -> None:
        if self._spoken is not None:
            spoken = self._spoken
            spoken.is_paused = is_paused
            self._desk.stop(spoken.id)
            if spoken.has_begun:
                # Who types on waits for silence: the latency of the device is too long for that.
                self._empty_output()

    def _on_event(self, event: DeskEvent) -> None:
        spoken = self._spoken
        if spoken is None or event.id != spoken.id:
            return
        match event:
            case Started():
                self._begin(spoken)
            case SentenceAudible():
                self._begin(spoken)
                self._tell_marks(spoken.marks.sentence_begins(event.text, self._heard_s(spoken)))
            case Finished():
                self._begin(spoken)
                self._tell_marks(spoken.marks.ended(event.played_s))
                self._over(spoken, protocol.END)
            case Interrupted():
                self._over(spoken, protocol.PAUSED if spoken.is_paused else protocol.STOPPED)
            case Failed():
                log.error("a text was not spoken: %s", event.reason)
                self._over(spoken, protocol.STOPPED)

    def _begin(self, spoken: _Spoken) -> None:
        if not spoken.has_begun:
            spoken.has_begun = True
            self._write([protocol.BEGIN])

    def _over(self, spoken: _Spoken, line: str) -> None:
        self._spoken = None
        if spoken.looking is not None:
            spoken.looking.cancel()
        self._write([line])

    async def _look(self, spoken: _Spoken) -> None:
        while spoken.marks.are_left:
            await asyncio.sleep(LOOK_S)
            if spoken.has_begun:
                self._tell_marks(spoken.marks.heard(self._heard_s(spoken)))

    def _heard_s(self, spoken: _Spoken) -> float:
        speaking = self._desk.status().speaking
        return speaking.heard_s if speaking is not None and speaking.id == spoken.id else 0.0

    def _tell_marks(self, marks: Sequence[str]) -> None:
        for mark in marks:
            self._write(protocol.mark_reached(mark))

    def _write(self, lines: Sequence[str]) -> None:
        if self._held_back is None:
            self._out(lines)
        else:
            self._held_back += lines
