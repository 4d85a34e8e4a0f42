"""Texts that belong together, with all their sound kept, so that any of it can be heard again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.playback.decoder import Pcm
from app.playback.speech_job import PcmSink


class KeptSound(Protocol):
    """The sound of a reading so far; the decode thread may still be adding to it, the event loop reads."""

    @property
    def samples(self) -> int:
        """How many samples are kept."""
        ...

    def read(self, start: int, stop: int) -> NDArray[np.int16]:
        """Return the samples ``[start, stop)``, or as many of them as there are."""
        ...


@dataclass(eq=False)
class Part:
    """The sound of one utterance of a reading; a sink that notes where it begins."""

    sound: KeptSound
    sink: PcmSink
    _starts: int | None = None

    @property
    def starts_samples(self) -> int:
        """Where it begins in the reading's sound: utterances are decoded one after the other."""
        return self.sound.samples if self._starts is None else self._starts

    def write(self, pcm: Pcm) -> None:
        """Take the next samples (decode thread)."""
        if self._starts is None:
            self._starts = self.sound.samples
        self.sink.write(pcm)


@dataclass(eq=False)
class Reading:
    """What a person asked to hear in one go; made new for each."""

    number: int
    sound: KeptSound
    sink: PcmSink | None = None
    """Puts samples into ``sound``; ``None`` if no more will come."""

    def new_part(self) -> Part | None:
        """Return the sink of the reading's next utterance, if its sound is kept."""
        return None if self.sink is None else Part(self.sound, self.sink)
