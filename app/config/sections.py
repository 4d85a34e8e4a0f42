"""The sections of the configuration: frozen and typed; what a value may be is said with its type."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import msgspec

DEMO = "Demo"
"""The profile that is always there: the embedded server."""

Seconds = Annotated[float, msgspec.Meta(ge=0.0, le=3600.0)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Port = Annotated[int, msgspec.Meta(ge=0, le=65_535)]
Line = Annotated[str, msgspec.Meta(min_length=1, max_length=400)]


@dataclass(frozen=True)
class ServerConfig:
    """Where the talker is."""

    url: str = "ws://127.0.0.1:8001"
    """Address of the speech stream; the path may be left out."""
    api_key: str = field(default="", repr=False)
    """Bearer key; better in ``NEARFIELD_API_KEY`` than in a file that others can read."""
    ca_file: str = ""
    """PEM file of a private certificate authority."""
    allow_insecure_key: bool = False
    """Send the key over plain ``ws://`` to another machine."""
    connect_timeout_s: Annotated[float, msgspec.Meta(ge=0.5, le=3600.0)] = 10.0
    """How long one try to connect may take."""
    patience_s: Seconds = 0.0
    """How long an utterance waits for a server that cannot be reached before it is dropped."""
    packet_frames: Annotated[int, msgspec.Meta(ge=0, le=25)] = 0
    """Frames a packet, asked of the server: on a slow link 4 need half the bytes of 1; 0 asks for nothing."""


@dataclass(frozen=True)
class VoiceConfig:
    """How it is spoken; empty means the server's default."""

    name: str = ""
    """Speaker, such as ``vivian``; names are compared in lower case."""
    language: str = ""
    """``Auto``, ``English``, ``Chinese``, …"""
    task: str = ""
    """``CustomVoice``, ``VoiceDesign`` or ``Base``."""
    instructions: str = ""
    """Style in words; required for ``VoiceDesign``."""
    seed: int | None = None
    """For a repeatable reading, where the server supports it."""
    ref_audio: str = ""
    """The voice to clone, for ``Base``: a WAV file, or an address that the server can read."""
    ref_text: str = ""
    """What is said in ``ref_audio``."""
    x_vector_only: bool = False
    """Clone the timbre alone, without ``ref_text``."""


@dataclass(frozen=True)
class DecoderConfig:
    """What turns codec tokens into sound."""

    checkpoint: str = "Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice"
    """A folder with ``speech_tokenizer/``, that folder itself, or a repository id (``nearfield fetch``)."""
    device: Annotated[str, msgspec.Meta(pattern=r"^(cpu|cuda(:\d+)?)$")] = "cpu"
    """``cpu``, ``cuda`` or ``cuda:N``."""
    threads: Count = 0
    """Threads of the decoder; 0 takes the CPUs this process may use."""
    precision: Annotated[str, msgspec.Meta(pattern="^(exact|auto|fast)$")] = "exact"
    """``exact`` is float32; ``auto`` takes what a short measurement finds faster and close enough; ``fast``
    is reduced wherever the machine has instructions for it."""


@dataclass(frozen=True)
class AudioConfig:
    """Where the sound goes."""

    device: str = ""
    """Host API and name, as ``nearfield devices`` prints them; empty for the system's default."""
    latency_s: Annotated[float, msgspec.Meta(ge=0.0, le=2.0)] = 0.1
    """Asked of the device; below 0.1 some sound servers crackle."""
    start_buffer_s: Annotated[float, msgspec.Meta(ge=0.0, le=10.0)] = 0.16
    """Sound to have before it starts; grows by itself on links that pause."""
    lead_in_s: Annotated[float, msgspec.Meta(ge=0.0, le=5.0)] = 0.0
    """Silence that wakes a sleeping USB, HDMI or Bluetooth sink; never recorded."""
    volume: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 1.0
    """Of what is heard; recordings keep their full level."""


@dataclass(frozen=True)
class AppearanceConfig:
    """How the window looks."""

    theme: Annotated[str, msgspec.Meta(pattern="^(system|light|dark)$")] = "system"
    """``system`` follows the desktop."""
    text_scale: Annotated[float, msgspec.Meta(ge=0.75, le=2.0)] = 1.0
    """Size of all text, relative to the desktop's."""
    language: Annotated[str, msgspec.Meta(pattern="^(system|en|zh_CN)$")] = "system"
    """Language of the window; ``system`` follows the desktop."""
    reduced_motion: bool = False
    """Nothing moves that need not."""


@dataclass(frozen=True)
class WindowConfig:
    """What the window keeps, and what closing it does."""

    on_close: Annotated[str, msgspec.Meta(pattern="^(ask|tray|quit)$")] = "ask"
    """``tray`` stays ready in the tray, ``quit`` ends the program, ``ask`` asks once."""
    keep_history: bool = True
    """Keep what was spoken, to be heard again."""
    history_mb: Annotated[int, msgspec.Meta(ge=10, le=100_000)] = 500
    """Megabytes that the history may take; the oldest goes first."""
    check_for_updates: bool = False
    """Ask the package index once a day whether there is a newer version, and tell."""


@dataclass(frozen=True)
class Profile:
    """A server that the window can be switched to; its key is kept elsewhere, by this name."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=60)]
    url: Line
    ca_file: str = ""
    """As ``server.ca_file``."""
    allow_insecure_key: bool = False
    """As ``server.allow_insecure_key``."""


@dataclass(frozen=True)
class ProfilesConfig:
    """The servers that the window knows. Commands in a terminal use ``server`` and nothing of this."""

    current: str = ""
    """Name of the one that the window uses; empty, like ``Demo``, is the embedded server."""
    saved: tuple[Profile, ...] = ()
    """All but the embedded one, in the order in which they are shown."""

    def __post_init__(self) -> None:
        names = [DEMO.casefold(), *(profile.name.casefold() for profile in self.saved)]
        for profile in self.saved:
            if names.count(profile.name.casefold()) > 1:
                raise ValueError(f"the profile name {profile.name!r} is taken")
        if self.current and self.current not in (DEMO, *(profile.name for profile in self.saved)):
            known = ", ".join((DEMO, *(profile.name for profile in self.saved)))
            raise ValueError(f"there is no profile {self.current!r}; known are {known}")


@dataclass(frozen=True)
class KioskConfig:
    """Who may have something spoken when there is no window (``--no-gui``), and how much."""

    sources: tuple[Annotated[str, msgspec.Meta(pattern="^(stdin|http|wyoming|folder|pipe)$")], ...] = (
        "stdin",
    )
    """Where texts come from, any of ``stdin``, ``http``, ``wyoming``, ``folder`` and ``pipe``."""
    http_host: Line = "127.0.0.1"
    """Address to listen at; any but this machine's own needs ``http_token``."""
    http_port: Port = 8181
    """0 takes one that is free."""
    http_token: str = field(default="", repr=False)
    """What callers must send; in ``NEARFIELD_KIOSK_HTTP_TOKEN`` or a file that only its owner can read."""
    allowed_origins: tuple[Line, ...] = ()
    """Web pages from these origins (``https://host``) may use the API; none may unless it is listed."""
    speech_chars: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 4096
    """How long the input of ``/v1/audio/speech`` may be, in characters."""
    speech_parallel: Annotated[int, msgspec.Meta(ge=1, le=16)] = 2
    """How many of its answers are made side by side; each has a connection to the server of its own."""
    speech_waiting: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 8
    """How many more of its requests may wait."""
    wyoming_host: Line = "127.0.0.1"
    wyoming_port: Port = 10200
    """0 takes one that is free."""
    wyoming_allow_network: bool = False
    """Listen where others reach it: the protocol knows no password, so everybody there may speak."""
    zeroconf: bool = False
    """Tell the local network about the Wyoming server, so that Home Assistant finds it."""
    watch_folder: str = ""
    """Files that are dropped here are read once, then moved to ``done``; for the source ``folder``."""
    pipe: str = ""
    """A named pipe whose lines are spoken, made if it is absent; for the source ``pipe``."""
    queue_limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 100
    """How many requests may wait."""
    request_bytes: Annotated[int, msgspec.Meta(ge=1024, le=64 * 2**20)] = 512 * 2**10
    """How large a request may be."""
    rate_per_minute: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 300
    """How many requests a caller may make in a minute; 0 is without limit."""
    grace_s: Annotated[float, msgspec.Meta(ge=0.0, le=600.0)] = 2.5
    """How long the sentence that is heard may go on after SIGTERM; all else takes up to 2.5 s more."""

    def __post_init__(self) -> None:
        for source, key, value in (
            ("folder", "watch_folder", self.watch_folder),
            ("pipe", "pipe", self.pipe),
        ):
            if source in self.sources and not value:
                raise ValueError(f"the source {source} needs kiosk.{key}")


@dataclass(frozen=True)
class Config:
    """All of it."""

    server: ServerConfig = field(default_factory=ServerConfig)
    voice: VoiceConfig = field(default_factory=VoiceConfig)
    decoder: DecoderConfig = field(default_factory=DecoderConfig)
    audio: AudioConfig = field(default_factory=AudioConfig)
    appearance: AppearanceConfig = field(default_factory=AppearanceConfig)
    window: WindowConfig = field(default_factory=WindowConfig)
    profiles: ProfilesConfig = field(default_factory=ProfilesConfig)
    kiosk: KioskConfig = field(default_factory=KioskConfig)
