"""Texts that no two sessions share, the same in every run."""

from __future__ import annotations

import random

DEFAULT_WORDS = 6
"""Of a text: about three seconds of slow speech."""

_NAMES = (
    "Amber", "Birch", "Cedar", "Clover", "Copper", "Coral", "Ember", "Fern", "Flint", "Garnet", "Hazel",
    "Heather", "Indigo", "Ivory", "Jasper", "Juniper", "Laurel", "Linden", "Maple", "Marble", "Olive", "Onyx",
    "Opal", "Pepper", "Rowan", "Ruby", "Saffron", "Silver", "Thistle", "Umber", "Violet", "Willow",
)  # fmt: skip
_PLACES = (
    "Bay", "Bridge", "Canyon", "Castle", "Cove", "Creek", "Desert", "Falls", "Forest", "Garden", "Grove",
    "Harbour", "Hill", "Island", "Lake", "Manor", "Market", "Meadow", "Mill", "Mountain", "Orchard", "Palace",
    "Point", "River", "Road", "Shore", "Square", "Station", "Tower", "Valley", "Village", "Wood",
)  # fmt: skip
_WORDS = (
    "and", "answers", "before", "bells", "between", "bright", "carries", "clouds", "cold", "early", "every",
    "follows", "gathers", "gently", "lanterns", "late", "leaves", "letters", "light", "long", "morning",
    "music", "never", "night", "old", "opens", "over", "paper", "quiet", "rain", "remembers", "returns",
    "seven", "shadows", "sings", "slowly", "snow", "songs", "stones", "summer", "three", "turns", "under",
    "waits", "warm", "water", "while", "wind", "winter", "with", "without", "yellow",
)  # fmt: skip

MAX_TEXTS = len(_NAMES) * len(_PLACES)


def own_text(index: int, words: int = DEFAULT_WORDS) -> str:
    """Return the text of a session: the first two words, and so the text, belong to its ``index`` alone.

    Raises:
        ValueError: ``index`` is outside ``0..MAX_TEXTS-1``, or ``words`` is below 2.

    """
    if not 0 <= index < MAX_TEXTS:
        raise ValueError(f"there are texts for {MAX_TEXTS} sessions")
    if words < 2:
        raise ValueError(f"a text has at least 2 words, not {words}")
    place, name = divmod(index, len(_NAMES))
    rng = random.Random(index)
    rest = [rng.choice(_WORDS) for _ in range(words - 2)]
    return " ".join([_NAMES[name], _PLACES[place], *rest]) + "."
