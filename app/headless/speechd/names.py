"""Characters, keys and sounds as words: a talker that gets a lone dot or dash has nothing to say."""

from __future__ import annotations

import unicodedata

from app.text import is_speakable

_NAMES = {
    " ": "space",
    "\n": "new line",
    "\t": "tab",
    "\r": "return",
    ".": "dot",
    "-": "dash",
    "_": "underscore",
    "/": "slash",
    "\\": "backslash",
    "'": "apostrophe",
    '"': "quote",
    "(": "left paren",
    ")": "right paren",
    "<": "less than",
    ">": "greater than",
    "*": "star",
    "#": "number sign",
    "@": "at",
    "&": "and",
    "|": "bar",
    "~": "tilde",
    "^": "caret",
    "`": "backtick",
}
_WORDS = {"kp": "keypad", "ctrl": "control", "del": "delete", "ins": "insert", "esc": "escape"}


def of_character(text: str) -> str:
    """Return how a character is called; what is longer, or has a sound of its own, stays as it is."""
    if len(text) == 1 and text in _NAMES:
        return _NAMES[text]
    character = text.strip()
    if len(character) != 1 or is_speakable(character):
        return character
    return _NAMES.get(character) or unicodedata.name(character, "character").lower()


def of_key(text: str) -> str:
    """Return how a key such as ``control_alt_Delete`` or ``KP_5`` is called."""
    if text.strip() in ("", "_"):
        return of_character(text)
    parts = [part for part in text.strip().split("_") if part]
    return " ".join(_WORDS.get(part.lower(), of_character(part)) for part in parts)


def of_sound(text: str) -> str:
    """Return the name of a sound, such as ``new-line``: there are no sounds here, so it is said."""
    return " ".join(text.replace("-", " ").replace("_", " ").split())


def spelt(text: str) -> str:
    """Return ``text`` character by character."""
    return ", ".join(of_character(character) for character in text if not character.isspace())
