"""Did each session get exactly its own frames? Pure: frames in, a judgement out.

A frame is compared as bytes: the 16 codes of a codec frame, or 80 ms of samples of a server that decodes. A
server that gives the same frames for the same text and seed, alone, has to give them in company as well.
What differs is told apart, because it has different causes:

- frames that are another session's and nobody else's: the server mixed them up;
- frames that are lost, added or changed in between, after which the session's own go on: no talker does that,
  because what it says next depends on every frame before;
- frames that leave the solo run for good: on a GPU the same text and seed may take another turn in a batch of
  another size. That is no cross-talk, but neither is it proof of none.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from decoder.errors import PacketError
from decoder.spec import CodecSpec
from decoder.wire.packets import unpack

Frames = tuple[bytes, ...]
"""One utterance, frame by frame, each as the bytes that it is compared by."""

_BACK_FRAMES = 3
"""So many of the session's own frames in their order, not all alike, and its own speech goes on."""
_DIGEST_BYTES = 16


class Verdict(Enum):
    """What became of a session's frames."""

    OWN = "exactly its frames"
    FOREIGN = "frames of another session"
    DISTURBED = "frames lost, added or changed"
    DIVERGED = "left its solo run for good"


@dataclass(frozen=True)
class Judgement:
    """How an utterance compares with the solo run of its text and seed."""

    verdict: Verdict
    first_wrong_frame: int | None = None
    foreign_frames: int = 0
    """Frames that are one other session's and nobody else's."""
    others: tuple[int, ...] = ()
    """Whose they are, the one with most of them first."""


OWN = Judgement(Verdict.OWN)


class References:
    """The solo runs of all sessions, by their index."""

    def __init__(self, runs: Mapping[int, Frames]) -> None:
        self._runs = dict(runs)
        self._owners: dict[bytes, set[int]] = defaultdict(set)
        for index, frames in self._runs.items():
            for frame in frames:
                self._owners[frame].add(index)

    def __contains__(self, index: int) -> bool:
        return index in self._runs

    def __len__(self) -> int:
        return len(self._runs)

    def run(self, index: int) -> Frames:
        """Return the solo run of a session."""
        return self._runs[index]

    def is_distinct(self, index: int) -> bool:
        """Whether a session has frames that no other has: else nobody could tell if another got them."""
        return any(self._owners[frame] == {index} for frame in self._runs[index])

    def sole_owner(self, frame: bytes) -> int | None:
        """Return whose frame this is, if it is only one session's."""
        owners = self._owners.get(frame, set())
        return next(iter(owners)) if len(owners) == 1 else None


def judge(index: int, heard: Frames, references: References, *, is_complete: bool = True) -> Judgement:
    """Compare what session ``index`` heard with its solo run.

    What was not spoken to its end, for a reason that is known, may lack frames at its end.
    """
    own = references.run(index)
    if heard == own or (not is_complete and heard == own[: len(heard)]):
        return OWN
    paired = zip(heard, own, strict=False)
    first = next((at for at, (is_, was) in enumerate(paired) if is_ != was), min(len(heard), len(own)))
    counts: dict[int, int] = defaultdict(int)
    for frame in heard:
        owner = references.sole_owner(frame)
        if owner is not None and owner != index:
            counts[owner] += 1
    if counts:
        others = tuple(sorted(counts, key=lambda other: -counts[other]))
        return Judgement(Verdict.FOREIGN, first, sum(counts.values()), others)
    is_cut_or_longer = first in (len(heard), len(own))
    goes_on = is_cut_or_longer or _comes_back(heard[first:], own)
    return Judgement(Verdict.DISTURBED if goes_on else Verdict.DIVERGED, first)


def _comes_back(heard: Frames, own: Frames) -> bool:
    """Whether somewhere in ``heard`` a few frames of ``own`` follow each other as they do there."""

    def runs(frames: Frames) -> Iterable[Frames]:
        return (frames[at : at + _BACK_FRAMES] for at in range(len(frames) - _BACK_FRAMES + 1))

    known = {run for run in runs(own) if len(set(run)) > 1}
    return any(run in known for run in runs(heard))


def codec_frames(messages: Sequence[bytes], spec: CodecSpec) -> Frames:
    """Return the frames of binary messages in the order in which they came, whatever their numbers.

    A message that is no packet stands for itself.
    """
    frames: list[bytes] = []
    for message in messages:
        try:
            frames += [row.tobytes() for row in unpack(message, spec.codebooks).codes]
        except PacketError:
            frames.append(_digest(message))
    return tuple(frames)


def pcm_frames(messages: Sequence[bytes], rate_hz: int, frame_s: float) -> Frames:
    """Cut 16-bit samples to pieces of ``frame_s``; the last one may be shorter."""
    data = b"".join(messages)
    piece_bytes = 2 * max(1, round(rate_hz * frame_s))
    return tuple(_digest(data[at : at + piece_bytes]) for at in range(0, len(data), piece_bytes))


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()


def words_of_another(units: Sequence[str], own: str, texts: Mapping[str, int]) -> int | None:
    """Return the session whose text the server says it speaks, if it is another's.

    ``units`` are what the server says; many say nothing. ``texts`` has the index of each session's text.
    """
    said = _squeezed("".join(units))
    if not said or said == _squeezed(own):
        return None
    return next((index for text, index in texts.items() if _squeezed(text) == said and text != own), None)


def _squeezed(text: str) -> str:
    return "".join(text.split()).casefold()
