"""Text before it is sent: cleaned once, checked for something to say, cut where sentences end.

Policy for emoji: they are sent as they are, sequences whole, since talkers differ in what they make of
them; a text of nothing but emoji, punctuation or invisible characters has nothing to say and is not sent.
"""

from __future__ import annotations

import re
import unicodedata

MAX_TEXT_CHARS = 100_000
"""More than two hours of speech; longer input is cut there, and that is said."""
UTTERANCE_CHARS = 400
"""About half a minute: well inside a talker's token limit, and a bounded wait for a slow server."""

_LINE_BREAKS = re.compile("\r\n|[\r\v\f\u0085\u2028\u2029]")
# Direction marks and isolates order glyphs on a screen and mean nothing to a talker; ZWNJ and ZWJ do.
_UNSPOKEN = dict.fromkeys(
    [0xFEFF, 0x00AD, 0x200B, 0x200E, 0x200F, 0x061C, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
)
_ABBREVIATIONS = {
    "mr", "mrs", "ms", "dr", "prof", "st", "sr", "jr", "vs", "etc", "e.g", "i.e", "fig", "vol", "approx",
    "inc", "ltd", "co", "dept", "gen", "col", "sgt", "capt", "rev", "hon", "jan", "feb", "mar", "apr", "jun",
    "jul", "aug", "sep", "sept", "oct", "nov", "dec", "a.m", "p.m", "u.s", "u.k", "z.b", "bzw", "ca",
}  # fmt: skip
_LONGEST_WORD_CHARS = 16
"""More than any abbreviation has; no more is looked at, so that 100,000 initials take no minute."""
_CLOSERS = re.escape("\"'”’»)]}」』】）》")
_END = re.compile(
    # A run of marks is tried from its first only: otherwise a long run costs the square of its length.
    rf"(?<![.!?…])[.!?…]+(?:[\u00a0\u202f]?»|[{_CLOSERS}])*(?=\s)|[。！？｡]+[{_CLOSERS}]*|\n+"
)


def clean(text: str) -> str:
    """Normalise ``text`` and drop the white space around it."""
    return normalised(text).strip()


def normalised(text: str) -> str:
    """Unify line breaks; drop what cannot be spoken or sent: surrogates, controls, direction marks."""
    text = _LINE_BREAKS.sub("\n", text).translate(_UNSPOKEN)
    return "".join(c for c in text if c in "\n\t" or not _is_unsendable(c))


def _is_unsendable(character: str) -> bool:
    # Not all of category Cn: what is unassigned to this Python may be next year's emoji.
    if unicodedata.category(character) in ("Cc", "Cs"):
        return True
    return ord(character) & 0xFFFE == 0xFFFE or "\ufdd0" <= character <= "\ufdef"


def is_speakable(text: str) -> bool:
    """Whether there is a letter or a number in ``text``."""
    return any(unicodedata.category(c)[0] in "LN" for c in text)


def utterances(text: str, limit_chars: int = UTTERANCE_CHARS) -> list[str]:
    """Cut cleaned ``text`` into utterances of whole sentences, of up to ``limit_chars`` where that can be.

    Every character but white space at the cuts is kept, and no piece is without something to say.
    """
    pieces: list[str] = []
    for sentence in _sentences(text):
        for part in _at_most(sentence, limit_chars):
            if pieces and (len(pieces[-1]) + 1 + len(part) <= limit_chars or not is_speakable(part)):
                pieces[-1] = f"{pieces[-1]} {part}"
            else:
                pieces.append(part)
    if len(pieces) > 1 and not is_speakable(pieces[0]):
        pieces[:2] = [f"{pieces[0]} {pieces[1]}"]
    return pieces if pieces and is_speakable(pieces[0]) else []


def _sentences(text: str) -> list[str]:
    found, start = [], 0
    for match in _END.finditer(text):
        word_from = max(start, match.start() - _LONGEST_WORD_CHARS)
        if match[0].startswith(".") and _is_abbreviation(text[word_from : match.start()]):
            continue
        found.append(text[start : match.end()].strip())
        start = match.end()
    found.append(text[start:].strip())
    return [s for s in found if s]


def _is_abbreviation(before_dot: str) -> bool:
    """Whether the text before a dot ends in "Dr" or an initial, which end no sentence."""
    word = re.split(r"\s", before_dot)[-1].lstrip("(\"'“‘[").lower()
    return word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha())


def _at_most(sentence: str, limit_chars: int) -> list[str]:
    """Cut an overlong sentence at white space, or anywhere between whole characters if there is none."""
    parts = []
    while len(sentence) > limit_chars:
        cut = sentence.rfind(" ", 1, limit_chars + 1)
        if cut < 0:
            cut = _whole_character(sentence, limit_chars)
        parts.append(sentence[:cut].strip())
        sentence = sentence[cut:].strip()
    parts.append(sentence)
    return [p for p in parts if p]


def _whole_character(text: str, limit: int) -> int:
    """Move a cut back so that it splits no combining sequence, emoji family or flag."""
    cut = limit
    while cut and (_continues(text[cut]) or text[cut - 1] in _JOINERS or _splits_flag(text, cut)):
        cut -= 1
    return cut or limit  # one character as long as an utterance is nonsense, and cut like it


_JOINERS = "\u200d\u200c"


def _continues(character: str) -> bool:
    """Whether ``character`` belongs to the one before: marks, joiners, skin tones, the tags of flags."""
    return (
        character in _JOINERS
        or unicodedata.category(character).startswith("M")
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
    )


def _splits_flag(text: str, cut: int) -> bool:
    """Whether ``cut`` is between the two letters of a flag: an odd number of them is in front of it."""
    if not _is_flag_letter(text[cut]):
        return False
    first = cut
    while first and _is_flag_letter(text[first - 1]):
        first -= 1
    return (cut - first) % 2 == 1


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
