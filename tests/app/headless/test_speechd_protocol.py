from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.headless.speechd import protocol
from app.headless.speechd.protocol import (
    Audio,
    Command,
    Conversation,
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


def talk(*lines: str) -> tuple[list[Command], list[str]]:
    """Commands that came of lines, and the answers given at once."""
    conversation = Conversation()
    heard = [conversation.receive(line) for line in lines]
    return [c for c, _ in heard if c is not None], [a for _, a in heard if a is not None]


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("INIT", Init()),
        ("LIST VOICES", ListVoices()),
        ("STOP", Stop()),
        ("PAUSE", Pause()),
        ("QUIT", Quit()),
        ("DEBUG ON /tmp/a file.log ", Debug(True, "/tmp/a file.log")),
        ("DEBUG OFF ", Debug(False, "")),
    ],
)
def test_commands_of_one_line(line: str, command: Command) -> None:
    """Each is a command at once, and answered by whoever carries it out."""
    assert talk(line) == ([command], [])


def test_a_text_is_the_lines_up_to_the_dot() -> None:
    """The server's dots in front of dots are taken away, and only those."""
    commands, answers = talk("SPEAK", "<speak>one", "..two", "", ".</speak>", ".")
    assert commands == [Speak(Kind.TEXT, "<speak>one\n.two\n\n</speak>")]
    assert answers == ["202 OK RECEIVING MESSAGE"]


@pytest.mark.parametrize("kind", Kind)
def test_everything_that_can_be_spoken(kind: Kind) -> None:
    """A text, a character, a key and a sound are received alike."""
    assert talk(kind.value, "a", ".") == ([Speak(kind, "a")], ["202 OK RECEIVING MESSAGE"])


def test_settings_are_pairs() -> None:
    """A value may have an equals sign in it."""
    commands, answers = talk(
        "SET", "rate=0", "synthesis_voice=a=b", ".", "AUDIO", "x=1", ".", "LOGLEVEL", "."
    )
    assert commands == [Settings({"rate": "0", "synthesis_voice": "a=b"}), Audio({"x": "1"}), LogLevel({})]
    assert answers == [
        "207 OK RECEIVING SETTINGS",
        "207 OK RECEIVING AUDIO SETTINGS",
        "207 OK RECEIVING LOGLEVEL SETTINGS",
    ]


def test_what_cannot_be_understood_is_refused_and_the_next_is_understood() -> None:
    """A line without an equals sign, an unknown command, a switch with no position."""
    commands, answers = talk("SET", "nonsense", ".", "SING", "DEBUG", "DEBUG ON", "DEBUG MAYBE", "STOP")
    assert commands == [Stop()]
    assert answers == [
        "207 OK RECEIVING SETTINGS",
        protocol.BAD_SYNTAX,
        protocol.UNKNOWN,
        *[protocol.BAD_SYNTAX] * 3,
    ]


def test_a_text_without_end_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused as a whole, and what follows is understood."""
    monkeypatch.setattr(protocol, "MAX_BLOCK_CHARS", 100)
    conversation = Conversation()
    conversation.receive("SPEAK")
    for _ in range(1000):
        assert conversation.receive("x" * 20) == (None, None)
    assert sum(map(len, conversation._lines)) <= 100
    assert conversation.receive(".") == (None, protocol.CANNOT_SPEAK)
    assert conversation.receive("SPEAK")[1] == "202 OK RECEIVING MESSAGE"
    conversation.receive("x" * 99)
    assert conversation.receive(".")[0] == Speak(Kind.TEXT, "x" * 99)


def test_answers_have_one_line_each_whatever_is_in_them() -> None:
    """A name with a line break or tab in it breaks nothing."""
    assert protocol.mark_reached("a\nb") == ("700-a b", "700 INDEX MARK")
    assert protocol.cannot_start("x\ny") == ("399-x y", "399 ERR CANT INIT MODULE")
    assert protocol.voice_list([("v\t1", "en", "")]) == ("200-v 1\ten\tnone", "200 OK VOICE LIST SENT")
    assert protocol.voice_list([]) == (protocol.NO_VOICES,)


@given(st.lists(st.text(st.characters(exclude_characters="\n\r", codec="utf-8"))))
def test_any_text_comes_through(lines: list[str]) -> None:
    """Sent as speech-dispatcher does, with dots in front of dots."""
    escaped = [f".{line}" if line.startswith(".") else line for line in lines]
    commands, _ = talk("SPEAK", *escaped, ".")
    assert commands == [Speak(Kind.TEXT, "\n".join(lines))]
