"""Hearing a reading from another place: what was heard before is put in front of what is still to come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.engine.events import EngineEvent, Heard
from app.engine.reading import Reading
from app.engine.utterance import Utterance
from app.playback.pcm_source import PcmSource
from app.playback.stored_sound import StoredSound
from app.playback.track import Replay, Track


@dataclass(frozen=True)
class _Replaying:
    reading: Reading
    track: Replay
    from_samples: int


class Seeking:
    """Knows what is replayed and where a reading is heard; ``active`` as in the engine."""

    def __init__(
        self,
        active: Sequence[Utterance],
        source: PcmSource,
        clock: Callable[[], float],
        tell: Callable[[EngineEvent], None],
    ) -> None:
        self._active = active
        self._source = source
        self._clock = clock
        self._tell = tell
        self._replaying: _Replaying | None = None

    @property
    def is_replaying(self) -> bool:
        """Whether something is heard again."""
        return self._replaying is not None

    def seek(self, reading: Reading, to_samples: int) -> None:
        """Have ``reading`` heard from ``to_samples`` of its sound on; what is not there cannot be reached.

        Every active utterance is of this reading. What of it is still to come follows without a seam.
        That it is heard from there is told at once, and so is that nothing is replayed for it.

        Raises:
            RecordingError: its sound cannot be read; what was heard goes on.

        """
        to = max(0, min(to_samples, reading.sound.samples))
        live = self._live_tracks()
        front: list[Track] = []
        if not live or to < _position(*live[0]):
            replay = self._replay(reading, to, live)
            self._replaying = _Replaying(reading, replay, to)
            front = [replay]
        else:
            self._replaying = None
            for part_starts, track in live:
                track.skip_to_samples = max(track.skip_to_samples, to - part_starts)
        self._source.rearrange([*front, *(track for _, track in live)])
        self._tell(Heard(reading.number, to, is_over=self._replaying is None))

    def forget(self) -> None:
        """Nothing is replayed any more."""
        self._replaying = None

    def look(self) -> None:
        """Tell how far the reading was heard."""
        now_s = self._clock()
        replaying = self._replaying
        if replaying is not None:
            finished_s = replaying.track.finished_dac_s
            is_over = finished_s is not None and finished_s <= now_s
            if not is_over:
                at = replaying.from_samples + replaying.track.heard_samples(now_s)
                self._tell(Heard(replaying.reading.number, at))
                return
            self._replaying = None
            at = replaying.from_samples + replaying.track.sound.read_samples
            self._tell(Heard(replaying.reading.number, at, is_over=True))
        for utterance in self._active:
            track = None if utterance.job is None else utterance.job.track
            if utterance.part is None or utterance.reading is None or track is None:
                continue
            if track.first_dac_s is None or track.first_dac_s > now_s:
                return
            if track.finished_dac_s is None or track.finished_dac_s > now_s:
                at = utterance.part.starts_samples + track.heard_samples(now_s)
                self._tell(Heard(utterance.reading.number, at))
                return

    def _live_tracks(self) -> list[tuple[int, Track]]:
        """Return the tracks that are not over, oldest first, with where each begins in the reading."""
        return [
            (u.part.starts_samples, u.job.track)
            for u in self._active
            if u.job is not None and u.part is not None and u.job.track.finished_dac_s is None
        ]

    def _replay(self, reading: Reading, start: int, live: Sequence[tuple[int, Track]]) -> Replay:
        samples = reading.sound.read(start, reading.sound.samples)
        if not live:
            return Replay(self._source.rate_hz, StoredSound(samples))
        # Asked in the callback: while the old sound fades away, a little more of the live track is read.
        part_starts, track = live[0]
        stored = StoredSound(samples, lambda: part_starts + track.sound.read_samples - start)
        return Replay(self._source.rate_hz, stored)


def _position(part_starts: int, track: Track) -> int:
    """Return how far the live sound was read."""
    return part_starts + track.sound.read_samples
