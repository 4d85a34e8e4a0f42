"""What is heard: looks at the tracks, which are written by threads that tell nobody."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.engine.events import EngineEvent, Progress, SentenceHeard
from app.engine.state import Stage
from app.engine.utterance import Utterance
from app.playback.track import Track

LOOK_S = 0.02
PROGRESS_EVERY = 5
"""Progress is told with every fifth look: ten times a second."""


class Hearing:
    """Turns what the tracks say into stages and numbers; ``finish`` is called once the last was heard."""

    def __init__(
        self,
        active: Sequence[Utterance],
        clock: Callable[[], float],
        tell: Callable[[EngineEvent], None],
        finish: Callable[[Utterance], None],
        underflows: Callable[[], int],
    ) -> None:
        # underflows counts, over all utterances, how often the device was served too late.
        self._active = active
        self._clock = clock
        self._tell = tell
        self._finish = finish
        self._underflows = underflows
        self._looks = 0

    def look(self) -> None:
        """Look at every active utterance once."""
        self._looks += 1
        for utterance in tuple(self._active):
            self._look_at(utterance)
            if self._looks % PROGRESS_EVERY == 0 and not utterance.is_done:
                self._tell(Progress(utterance.number, utterance.stage, utterance.meter.report()))

    def _look_at(self, utterance: Utterance) -> None:
        self.measure(utterance)
        if utterance.job is None:
            return
        track, now_s = utterance.job.track, self._clock()
        if track.finished_dac_s is not None and track.finished_dac_s <= now_s and utterance.outcome:
            self._finish(utterance)
        elif track.first_dac_s is None or track.first_dac_s > now_s:
            return
        elif utterance.decoded:
            utterance.advance(Stage.DRAINING)
        else:
            utterance.meter.more_is_to_come(track.buffered_s)
            utterance.advance(Stage.STALLED if track.is_dry else Stage.PLAYING)

    def measure(self, utterance: Utterance) -> None:
        """Take the numbers of the utterance's track, and tell which of its sentences have begun."""
        if utterance.job is None:
            return
        track = utterance.job.track
        if utterance.follows is not None and utterance.follows.job is not None:
            utterance.meter.follows(utterance.follows.job.track.finished_dac_s)
        utterance.meter.device_was_late(self._underflows())
        utterance.meter.sound_was_heard(
            track.first_read_s, track.first_dac_s, track.buffered_s, track.underruns, track.gap_s
        )
        self._tell_sentences(utterance, track)

    def _tell_sentences(self, utterance: Utterance, track: Track) -> None:
        now_s = self._clock()
        if track.first_dac_s is None or track.first_dac_s > now_s:
            return
        heard = track.heard_samples(now_s)
        for sentence in utterance.sentences[utterance.sentences_heard :]:
            if sentence.starts_samples and sentence.starts_samples >= heard:
                return
            utterance.sentences_heard += 1
            group = utterance.place.order.group
            self._tell(SentenceHeard(utterance.number, sentence.text, sentence.starts_samples, group))
