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
# Controls but tab and line feed, surrogates, and what Unicode says is no character. Not all of category Cn:
# what is unassigned to this Python may be next year's emoji.
_UNSENDABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
    + "]"
)
_ABBREVIATIONS = {
    "mr", "mrs", "ms", "dr", "prof", "st", "sr", "jr", "vs", "etc", "e.g", "i.e", "fig", "vol", "approx",
    "inc", "ltd", "co", "dept", "gen", "col", "sgt", "capt", "rev", "hon", "jan", "feb", "mar", "apr", "jun",
    "jul", "aug", "sep", "sept", "oct", "nov", "dec", "a.m", "p.m", "u.s", "u.k", "z.b", "bzw", "ca",
}  # fmt: skip
_LONGEST_WORD_CHARS = 16
"""More than any abbreviation has; no more is looked at, so that 100,000 initials take no minute."""
_CLOSING = "\"'”’»)]}」』】）》"
_CLOSERS = re.escape(_CLOSING)
_THIN = "\u00a0\u202f"
_LAST_MARKS = f".!?…。！？｡{_CLOSING}{_THIN}"
"""What may grow into another end, or a longer one, when more text follows."""
_END = re.compile(
    # A run of marks is tried from its first only: otherwise a long run costs the square of its length.
    rf"(?<![.!?…])[.!?…]+(?:[{_THIN}]?»|[{_CLOSERS}])*(?=\s)|[。！？｡]+[{_CLOSERS}]*|\n+"
)


def clean(text: str) -> str:
    """Normalise ``text`` and drop the white space around it."""
    return normalised(text).strip()


def normalised(text: str) -> str:
    """Unify line breaks; drop what cannot be spoken or sent: surrogates, controls, direction marks."""
    return _UNSENDABLE.sub("", _LINE_BREAKS.sub("\n", text).translate(_UNSPOKEN))


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


class ArrivingText:
    """Text that arrives in pieces, cut anywhere: hands out sentences as soon as nothing can change them.

    However it was cut, what is handed out in all is the same, and what `utterances` puts together of the
    whole text: sentences, overlong ones in parts of up to ``limit_chars``.
    """

    def __init__(self, limit_chars: int = UTTERANCE_CHARS) -> None:
        self._limit_chars = limit_chars
        self._sentence = ""
        """The sentence that is arriving, from its first character on."""
        self._handed_out = 0
        """How many characters of it went out in parts."""
        self._seen = 0
        """So many of its characters are known not to end it."""

    @property
    def rest(self) -> str:
        """What has arrived and was not handed out."""
        return self._sentence[self._handed_out :].strip()

    @property
    def may_be_whole(self) -> bool:
        """Whether what has arrived would be whole sentences if nothing more came."""
        text = self._sentence.rstrip()
        ends = [m.end() for m in _END.finditer(f"{text} ", self._seen) if not _is_no_end(text, 0, m)]
        return bool(text) and len(text) in ends

    def write(self, text: str) -> list[str]:
        """Take more, and return what is certain now."""
        text = normalised(text)
        self._sentence += text if self._sentence else text.lstrip()
        parts: list[str] = []
        if not text.strip(_LAST_MARKS):  # more of a run of marks: looked at once something else follows
            return self._overlong_parts()
        while (end := self._certain_end()) is not None:
            parts += self._parts_before(end)
            self._begin(self._sentence[end:])
        return parts + self._overlong_parts()

    def take_rest(self) -> list[str]:
        """Return what is left as if the text were over; more may arrive all the same."""
        sentences, parts = _sentences(self._sentence), []
        if sentences:
            # Only of the first can parts have gone out; it begins with the first character.
            parts = self._parts_before(len(sentences[0]))
            parts += [p for s in sentences[1:] for p in _at_most(s, self._limit_chars)]
        self._begin("")
        return parts

    def _begin(self, sentence: str) -> None:
        self._sentence, self._handed_out, self._seen = sentence.lstrip(), 0, 0

    def _certain_end(self) -> int | None:
        """Return where the sentence ends, if no character that follows could change that."""
        text = self._sentence
        for match in _END.finditer(text, self._seen):
            if _is_no_end(text, 0, match):
                continue
            following = text[match.end() : match.end() + 2]
            # A closing mark may follow, after a French space too.
            if match[0].startswith("\n") or len(following) == 2 or (following and following not in _THIN):
                return match.end()
        self._seen = max(self._seen, len(text.rstrip(_LAST_MARKS)))
        return None

    def _parts_before(self, end: int) -> list[str]:
        return _at_most(self._sentence[self._handed_out : end].strip(), self._limit_chars)

    def _overlong_parts(self) -> list[str]:
        parts = []
        while len(rest := self.rest) > self._limit_chars:
            cut = _first_cut(rest, self._limit_chars)
            parts.append(rest[:cut].strip())
            self._handed_out = self._sentence.index(rest[:cut], self._handed_out) + cut
        return [p for p in parts if p]


def _sentences(text: str) -> list[str]:
    found, start = [], 0
    for match in _END.finditer(text):
        if _is_no_end(text, start, match):
            continue
        found.append(text[start : match.end()].strip())
        start = match.end()
    found.append(text[start:].strip())
    return [s for s in found if s]


def _is_no_end(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether the marks that were found in the sentence from ``start`` on are those of an abbreviation."""
    word_from = max(start, match.start() - _LONGEST_WORD_CHARS)
    return match[0].startswith(".") and _is_abbreviation(text[word_from : match.start()])


def _is_abbreviation(before_dot: str) -> bool:
    """Whether the text before a dot ends in "Dr" or an initial, which end no sentence."""
    word = re.split(r"\s", before_dot)[-1].lstrip("(\"'“‘[").lower()
    return word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha())


def _at_most(sentence: str, limit_chars: int) -> list[str]:
    """Cut an overlong sentence at white space, or anywhere between whole characters if there is none."""
    parts = []
    while len(sentence) > limit_chars:
        cut = _first_cut(sentence, limit_chars)
        parts.append(sentence[:cut].strip())
        sentence = sentence[cut:].strip()
    parts.append(sentence)
    return [p for p in parts if p]


def _first_cut(sentence: str, limit_chars: int) -> int:
    cut = sentence.rfind(" ", 1, limit_chars + 1)
    return _whole_character(sentence, limit_chars) if cut < 0 else cut


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
