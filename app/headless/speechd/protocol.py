"""What speech-dispatcher and its modules say to each other, without I/O: lines in, commands and lines out.

A command is a line; some are followed by a block of lines that ends with a line of one dot, and lines of the
block that begin with a dot have one more. Every command but STOP and PAUSE is answered; events are told
whenever they happen. The first three digits of a line say what it is; a dash after them, that more follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

MAX_BLOCK_CHARS = 2**20
"""More than any text that is read aloud in one go; what is longer is refused as a whole."""


class Kind(Enum):
    """What is to be spoken."""

    TEXT = "SPEAK"
    CHARACTER = "CHAR"
    KEY = "KEY"
    SOUND_ICON = "SOUND_ICON"


@dataclass(frozen=True)
class Init:
    """The first of all: get ready."""


@dataclass(frozen=True)
class Audio:
    """How the sound shall be put out; ``audio_output_method`` is ``server`` if speech-dispatcher would."""

    settings: Mapping[str, str]


@dataclass(frozen=True)
class LogLevel:
    """How much to log, 1 to 5."""

    settings: Mapping[str, str]


@dataclass(frozen=True)
class Settings:
    """How the next text shall be spoken; ``NULL`` stands for nothing."""

    values: Mapping[str, str]


@dataclass(frozen=True)
class ListVoices:
    """Say what voices there are."""


@dataclass(frozen=True)
class Speak:
    """Speak a text (with marks in it, as SSML), the name of a character or key, or a sound's."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class Stop:
    """Be silent now; told as stopped if something was spoken."""


@dataclass(frozen=True)
class Pause:
    """Be silent now; told as paused. The rest is sent again later, from the newest mark on."""


@dataclass(frozen=True)
class Debug:
    """Log more, or not, to a file."""

    is_on: bool
    path: str


@dataclass(frozen=True)
class Quit:
    """End."""


Command = Init | Audio | LogLevel | Settings | ListVoices | Speak | Stop | Pause | Debug | Quit

_PLAIN: dict[str, Command] = {
    "INIT": Init(),
    "LIST VOICES": ListVoices(),
    "STOP": Stop(),
    "PAUSE": Pause(),
    "QUIT": Quit(),
}
_RECEIVING = {
    "AUDIO": "207 OK RECEIVING AUDIO SETTINGS",
    "LOGLEVEL": "207 OK RECEIVING LOGLEVEL SETTINGS",
    "SET": "207 OK RECEIVING SETTINGS",
    **{kind.value: "202 OK RECEIVING MESSAGE" for kind in Kind},
}

INITIALISED = ("299-ready", "299 OK LOADED SUCCESSFULLY")
AUDIO_TAKEN = "203 OK AUDIO INITIALIZED"
LOG_LEVEL_TAKEN = "203 OK LOGLEVEL SET"
SETTINGS_TAKEN = "203 OK SETTINGS RECEIVED"
SPEAKING = "200 OK SPEAKING"
CANNOT_SPEAK = "301 ERROR CANT SPEAK"
BAD_SYNTAX = "302 ERROR BAD SYNTAX"
BAD_VALUE = "303 ERROR INVALID PARAMETER OR VALUE"
NO_VOICES = "304 CANT LIST VOICES"
UNKNOWN = "300 ERR UNKNOWN COMMAND"
QUITTING = "210 OK QUIT"
BEGIN = "701 BEGIN"
END = "702 END"
STOPPED = "703 STOP"
PAUSED = "704 PAUSE"


@dataclass
class Conversation:
    """The module's side; made once."""

    _block: str | None = None
    """Which command's block is being received."""
    _lines: list[str] = field(default_factory=list)
    _chars: int = 0

    def receive(self, line: str) -> tuple[Command | None, str | None]:
        """Take a line without its end; what is to be done, and what to answer at once."""
        if self._block is not None:
            return self._receive_in_block(self._block, line)
        word = line.strip()
        if word in _PLAIN:
            return _PLAIN[word], None
        if word in _RECEIVING:
            self._block = word
            return None, _RECEIVING[word]
        if word.split(" ", 1)[0] == "DEBUG":
            return _debug(word)
        return None, UNKNOWN

    def _receive_in_block(self, command: str, line: str) -> tuple[Command | None, str | None]:
        if line != ".":
            self._chars += len(line) + 1
            if self._chars <= MAX_BLOCK_CHARS:
                self._lines.append(line[1:] if line.startswith(".") else line)
            return None, None
        lines, is_whole = self._lines, self._chars <= MAX_BLOCK_CHARS
        self._block, self._lines, self._chars = None, [], 0
        if command in (kind.value for kind in Kind):
            return (Speak(Kind(command), "\n".join(lines)), None) if is_whole else (None, CANNOT_SPEAK)
        if not is_whole or any("=" not in line for line in lines if line.strip()):
            return None, BAD_SYNTAX
        values = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
        match command:
            case "AUDIO":
                return Audio(values), None
            case "LOGLEVEL":
                return LogLevel(values), None
            case _:
                return Settings(values), None


def _debug(line: str) -> tuple[Command | None, str | None]:
    words = line.split(maxsplit=2)
    if words[1:] == ["OFF"]:
        return Debug(False, ""), None
    if len(words) == 3 and words[1] == "ON":
        return Debug(True, words[2].strip()), None
    return None, BAD_SYNTAX


def cannot_start(reason: str) -> tuple[str, str]:
    """Answer INIT with why nothing can be spoken."""
    return f"399-{_one_line(reason)}", "399 ERR CANT INIT MODULE"


def voice_list(voices: Iterable[tuple[str, str, str]]) -> tuple[str, ...]:
    """Answer LIST VOICES with the name, the language's tag and the variant of each."""
    entries = tuple("200-" + "\t".join(_one_line(part) or "none" for part in voice) for voice in voices)
    return (*entries, "200 OK VOICE LIST SENT") if entries else (NO_VOICES,)


def mark_reached(name: str) -> tuple[str, str]:
    """Tell that a mark of the text was reached."""
    return f"700-{_one_line(name)}", "700 INDEX MARK"


def debugging(is_on: bool) -> str:
    """Answer DEBUG."""
    return f"200 OK DEBUGGING {'ON' if is_on else 'OFF'}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
