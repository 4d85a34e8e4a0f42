"""What has begun gives way to what is more urgent: it ends at once, ends after its sentence, or goes back."""

from __future__ import annotations

from collections.abc import Callable

from app.engine.agenda import Agenda, Place
from app.engine.arrivals import Arrivals
from app.engine.events import EngineEvent, GroupEnded, StageChanged
from app.engine.order import Interrupt
from app.engine.state import Stage
from app.engine.utterance import Utterance
from app.metrics.meter import Meter
from app.playback.decode_worker import DecodeWorker
from app.playback.pcm_source import PcmSource

INTERRUPTED = "interrupted"


class GivingWay:
    """Ends or puts back utterances; ``active`` as in the engine, which tells their ends by ``finish``."""

    def __init__(
        self,
        active: list[Utterance],
        agenda: Agenda[Utterance],
        arrivals: Arrivals,
        worker: DecodeWorker,
        source: PcmSource,
        finish: Callable[[Utterance], None],
        cancel: Callable[[], None],
        tell: Callable[[EngineEvent], None],
    ) -> None:
        # cancel has the server told, in a moment, that the utterance in flight is not wanted any more.
        self._active = active
        self._agenda = agenda
        self._arrivals = arrivals
        self._worker = worker
        self._source = source
        self._finish = finish
        self._cancel = cancel
        self._tell = tell

    def note_floor(self) -> None:
        """Take note of which utterance is heard."""
        for utterance in self._active:
            if utterance.is_heard:
                self._agenda.heard(utterance.place)

    def make_way(self, place: Place) -> None:
        """Do to what has begun what the order of a text at ``place``, which waits now, does to it."""
        self.note_floor()
        if (group := self._agenda.ends_floor(place)) is not None:
            if place.order.interrupt is Interrupt.NOW:
                self.end(group, INTERRUPTED)
            else:
                self.end_after_sentence(group, INTERRUPTED)
        for utterance in tuple(self._active):
            if self._can_go_back(utterance) and self._agenda.goes_before(place, utterance.place):
                self._put_back(utterance)

    def end(self, group: str, reason: str) -> bool:
        """End all of ``group`` at once, with a fade if it is heard; false if there is nothing of it."""
        ended = self._end_these([u for u in self._active if u.place.group == group], group, reason)
        self._tell(GroupEnded(group, reason))
        return ended

    def end_after_sentence(self, group: str, reason: str) -> bool:
        """End what is heard of ``group`` where its next sentence begins, all else at once; as :meth:`end`."""
        begun = [u for u in self._active if u.place.group == group]
        heard = [u for u in begun if u.is_heard][-1:]
        ended = self._end_these([u for u in begun if not u.is_heard], group, reason)
        for utterance in heard:
            utterance.ends_after_sentence = reason
            self.sentence_is_known(utterance)
        self._tell(GroupEnded(group, reason))
        return ended or bool(heard)

    def expire(self, now_s: float) -> None:
        """End what has not begun to be heard in time."""
        self.note_floor()
        late = [u for u in self._active if not u.is_heard and self._agenda.is_expired(u.place, now_s)]
        self._let_go(late)
        expired = [*late, *self._agenda.expire(now_s)]
        for utterance in expired:
            utterance.expire()
        for utterance in expired:
            self._finish(utterance)

    def sentence_is_known(self, utterance: Utterance) -> None:
        """End ``utterance`` where its next sentence begins, if it shall end and that is known now."""
        track = None if utterance.job is None else utterance.job.track
        if track is None or not utterance.ends_after_sentence or track.cut_at_samples is not None:
            return
        read_samples = track.sound.read_samples
        starts = [s.starts_samples for s in utterance.sentences if s.starts_samples >= read_samples]
        if not starts:
            return
        track.cut_at_samples = starts[0]
        utterance.stop(utterance.ends_after_sentence)
        utterance.decoded = True
        self._let_go([utterance], is_silent=False)
        utterance.received.set()

    # -- inside -----------------------------------------------------------------------------------------

    def _end_these(self, begun: list[Utterance], group: str, reason: str) -> bool:
        """End ``begun``, and all that waits of ``group``."""
        self._let_go(begun)
        # Taken first: a listener that is told of an end may ask for the next text.
        ended = [*begun, *self._agenda.end(group)]
        for utterance in ended:
            utterance.stop(reason)
        for utterance in ended:
            self._finish(utterance)
        return bool(ended)

    def _can_go_back(self, utterance: Utterance) -> bool:
        """Whether nobody can tell that it was begun: nothing of it was heard or written down."""
        has_written = bool(utterance.sinks) and utterance.stage not in (Stage.CONNECTING, Stage.WAITING)
        return not utterance.is_heard and not has_written and not utterance.is_done

    def _put_back(self, utterance: Utterance) -> None:
        self._let_go([utterance])
        self._active.remove(utterance)
        anew = utterance.withdraw(Meter(utterance.requested_s, self._source.rate_hz))
        self._agenda.put(anew)
        anew.tell(StageChanged(anew.number, anew.text, anew.stage, anew.place.order.group))

    def _let_go(self, utterances: list[Utterance], *, is_silent: bool = True) -> None:
        """Have nothing more received and decoded, and nothing more heard unless that goes on to a cut."""
        jobs = [u.job for u in utterances if u.job is not None]
        for job in jobs:
            self._worker.cancel(job)
        if is_silent:
            self._source.drop([job.track for job in jobs])
        # Each of them, not only the first that is received.
        received = [self._arrivals.end(utterance) for utterance in utterances]
        if any(received):
            self._cancel()
