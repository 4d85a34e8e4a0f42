from __future__ import annotations

import pytest

from app.headless.speechd import names
from app.text import is_speakable


@pytest.mark.parametrize(
    ("character", "name"),
    [("a", "a"), ("Ä", "Ä"), ("7", "7"), (" ", "space"), (".", "dot"), ("…", "horizontal ellipsis"),
     ("字", "字"), ("€", "euro sign"), ("\n", "new line"), ("\x01", "character"), ("ab", "ab"), ("", "")],
)  # fmt: skip
def test_characters(character: str, name: str) -> None:
    """What has a sound stays; all else has a name."""
    assert names.of_character(character) == name


@pytest.mark.parametrize(
    ("key", "name"),
    [("a", "a"), ("shift_a", "shift a"), ("control_alt_Delete", "control alt Delete"), ("KP_5", "keypad 5"),
     ("space", "space"), ("_", "underscore"), ("shift_.", "shift dot"), ("Esc", "escape")],
)  # fmt: skip
def test_keys(key: str, name: str) -> None:
    """Underscores join the parts of a key."""
    assert names.of_key(key) == name


def test_sounds_and_spelling() -> None:
    """A sound is said by its name, a word letter by letter."""
    assert names.of_sound("new-line") == "new line"
    assert names.spelt("a b.") == "a, b, dot"


def test_every_ascii_character_can_be_said() -> None:
    """A talker that gets none of it says nothing, and a blind person wonders."""
    assert all(is_speakable(names.of_character(chr(code))) for code in range(32, 127))
