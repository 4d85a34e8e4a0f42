"""The choice of a voice: which fields a task shows, what is wrong with them, what there is to save."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields, replace
from enum import Enum, auto

from app.config import VoiceConfig
from app.engine.reference import SampleError, Unfit, reference_uri
from app.engine.voicing import DEFAULT_TASK, TAKES, spoken
from app.session.address import ServerAddress
from app.session.voices import NewVoice, VoiceList, VoiceServer, normal
from decoder.wire.messages import SessionConfig
from decoder.wire.rules import MAX_INSTRUCTIONS_CHARS, config_fault


@dataclass(frozen=True)
class VoiceServices:
    """What a window asks a server about voices; each raises what ``VoiceServer`` does."""

    list: Callable[[], Awaitable[VoiceList]]
    upload: Callable[[NewVoice, Callable[[float], None]], Awaitable[None]]
    delete: Callable[[str], Awaitable[None]]


def services_of(address: ServerAddress) -> VoiceServices:
    """Return the services of the server at ``address``; nothing is opened before one is called."""
    server = VoiceServer(address)
    return VoiceServices(server.list, server.upload, server.delete)


class FaultKind(Enum):
    """What is wrong with a field."""

    INSTRUCTIONS_MISSING = auto()
    INSTRUCTIONS_TOO_LONG = auto()
    VOICE_MISSING = auto()
    VOICE_GONE = auto()
    """The server has no such uploaded voice."""
    RECORDING_MISSING = auto()
    RECORDING_UNFIT = auto()
    TEXT_MISSING = auto()
    CONSENT_MISSING = auto()
    OTHER = auto()
    """``text`` says it all."""


@dataclass(frozen=True)
class Fault:
    """Why a choice cannot be spoken yet."""

    field: str
    """A field of ``VoiceConfig``, or ``consent``; empty for the choice as a whole."""
    kind: FaultKind
    text: str = ""
    """In English, where it is known only in words."""
    unfit: Unfit | None = None


@dataclass(frozen=True)
class VoiceForm:
    """What is shown."""

    voice: VoiceConfig
    """The values; a field that is not shown keeps its own for the next task."""
    shows: frozenset[str]
    """Fields of ``VoiceConfig``, and ``source`` (of a clone) and ``consent``."""
    from_recording: bool
    """A clone is made of a recording, not of an uploaded voice."""
    consents: bool
    lacks: str
    """The chosen voice, if the server does not have it and its default speaks instead."""
    faults: tuple[Fault, ...]

    def fault(self, field: str) -> Fault | None:
        """Return what is wrong with ``field``."""
        return next((fault for fault in self.faults if fault.field == field), None)


def fall_back(voice: VoiceConfig, voices: VoiceList | None) -> tuple[VoiceConfig, str]:
    """Return what to ask this server for, and the name of the chosen voice if it does not have it.

    A speaker that is missing gives way to the server's default. A clone has no default to give way to: it
    stays as it is, and the form says that it has gone. Nothing is known of a server without a list.
    """
    name = spoken(voice).name
    if voices is None or not name or voices.is_uploaded(name):
        return voice, ""
    if voice.task == "Base":
        return voice, name
    return (voice, "") if voices.is_speaker(name) else (replace(voice, name=""), name)


class VoiceChoice:
    """A choice in the making: from what is saved, through what is typed, to what can be saved."""

    def __init__(self, voice: VoiceConfig | None = None) -> None:
        self._saved = self._draft = voice or VoiceConfig()
        self._voices: VoiceList | None = None
        self._checked: tuple[str, Fault | None] = ("", None)
        self._start_over(self._saved)

    @property
    def voices(self) -> VoiceList | None:
        """What the server has; ``None`` while that is not known."""
        return self._voices

    def show(self, voice: VoiceConfig) -> None:
        """Take what is saved now; what is being typed survives what did not change it."""
        if voice != self._saved:
            self._start_over(voice)

    def offer(self, voices: VoiceList | None) -> None:
        """Take what the server has."""
        self._voices = voices

    def pick_voice(self, name: str) -> None:
        """Choose a voice of any kind; the task follows, for a cloned voice is not spoken as a speaker is."""
        self._draft = replace(self._draft, name=normal(name))
        if self._voices is None or not name:
            return
        if self._task == "CustomVoice" and self._voices.is_uploaded(name):
            self._draft = replace(self._draft, task="Base")
            self._from_recording = False
        elif self._task == "Base" and self._voices.is_speaker(name):
            self._draft = replace(self._draft, task="CustomVoice")

    def clone_of_recording(self, from_recording: bool) -> None:
        """Choose what a clone is made of."""
        self._from_recording = from_recording

    def consent(self, consents: bool) -> None:
        """State, or take back, that the speaker of the recording has agreed."""
        self._consents = consents

    def pick_recording(self, ref_audio: str) -> None:
        """Choose a recording, which is read again; consent is for one recording, not for the next."""
        self._checked = ("", None)
        if ref_audio != self._draft.ref_audio:
            self._draft = replace(self._draft, ref_audio=ref_audio)
            self._consents = False

    def edit(self, **values: object) -> None:
        """Change fields of ``VoiceConfig``."""
        self._draft = replace(self._draft, **values)  # type: ignore[arg-type]  # the caller names them

    @property
    def form(self) -> VoiceForm:
        """What to show."""
        shows = set(TAKES.get(self._task, TAKES[DEFAULT_TASK]))
        if self._task == "Base":
            shows |= {"source", "consent"}
            shows -= (
                {"name"} if self._from_recording else {"ref_audio", "ref_text", "x_vector_only", "consent"}
            )
            if self._draft.x_vector_only:
                shows -= {"ref_text"}
        lacks = fall_back(self._values(), self._voices)[1] if "name" in shows else ""
        return VoiceForm(
            replace(self._draft, task=self._task),
            frozenset(shows),
            self._from_recording,
            self._consents,
            "" if self._task == "Base" else lacks,
            tuple(self._faults(gone=bool(lacks) and self._task == "Base")),
        )

    def changes(self) -> dict[str, object]:
        """Return what there is to save, by key of the configuration; nothing while something is wrong."""
        if self.form.faults:
            return {}
        values = self._values()
        return {
            f"voice.{f.name}": getattr(values, f.name)
            for f in fields(VoiceConfig)
            if getattr(values, f.name) != getattr(self._saved, f.name)
        }

    def take_changes(self) -> dict[str, object]:
        """Return :meth:`changes`, which from now on count as saved."""
        changes = self.changes()
        if changes:
            self._saved = self._values()
        return changes

    def _start_over(self, voice: VoiceConfig) -> None:
        self._saved = self._draft = voice
        self._from_recording = bool(voice.ref_audio.strip())
        self._consents = self._from_recording  # it was stated when the recording was chosen

    @property
    def _task(self) -> str:
        return self._draft.task.strip() or DEFAULT_TASK

    def _values(self) -> VoiceConfig:
        """Return what would be saved; a recording is saved only for the clone it is used for."""
        values = self._draft
        if self._task == "Base" and not self._from_recording:
            values = replace(values, ref_audio="")
        return values

    def _faults(self, gone: bool) -> list[Fault]:
        faults: list[Fault] = []
        voice = spoken(replace(self._values(), task=self._task))
        if self._task == "VoiceDesign" and not voice.instructions:
            faults.append(Fault("instructions", FaultKind.INSTRUCTIONS_MISSING))
        if len(voice.instructions) > MAX_INSTRUCTIONS_CHARS:
            faults.append(Fault("instructions", FaultKind.INSTRUCTIONS_TOO_LONG))
        if self._task == "Base":
            faults += self._clone_faults(voice, gone)
        # The rules have the last word: what they say, and nothing above does, is shown as it is.
        if not faults and (fault := config_fault(_message(voice))):
            field = "language" if fault.startswith("language") else ""
            faults.append(Fault(field, FaultKind.OTHER, fault))
        return faults

    def _clone_faults(self, voice: VoiceConfig, gone: bool) -> list[Fault]:
        if not self._from_recording:
            if not voice.name:
                return [Fault("name", FaultKind.VOICE_MISSING)]
            return [Fault("name", FaultKind.VOICE_GONE)] if gone else []
        if not voice.ref_audio:
            return [Fault("ref_audio", FaultKind.RECORDING_MISSING)]
        faults = [fault] if (fault := self._recording_fault(voice.ref_audio)) else []
        if not voice.x_vector_only and not voice.ref_text:
            faults.append(Fault("ref_text", FaultKind.TEXT_MISSING))
        if not self._consents:
            faults.append(Fault("consent", FaultKind.CONSENT_MISSING))
        return faults

    def _recording_fault(self, ref_audio: str) -> Fault | None:
        """Read the recording once for each choice of one, not once for each key that is pressed."""
        if self._checked[0] != ref_audio:
            try:
                reference_uri(ref_audio)
            except SampleError as error:
                fault = Fault("ref_audio", FaultKind.RECORDING_UNFIT, str(error), error.why)
                self._checked = (ref_audio, fault)
            else:
                self._checked = (ref_audio, None)
        return self._checked[1]


def _message(voice: VoiceConfig) -> SessionConfig:
    """Return what the rules look at; the recording itself is none of their business."""
    return SessionConfig(
        voice=voice.name or None,
        language=voice.language or None,
        task_type=voice.task,
        instructions=voice.instructions or None,
        seed=voice.seed,
        ref_audio="data:," if voice.ref_audio else None,
        ref_text=voice.ref_text or None,
        x_vector_only_mode=voice.x_vector_only or None,
    )
