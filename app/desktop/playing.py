"""One reading in the player: what the engine told of it so far, and what that amounts to."""

from __future__ import annotations

from app.desktop.heard_text import HeardText, heard_at
from app.desktop.history import Entry
from app.desktop.latency import Numbers, numbers_of
from app.desktop.player_state import Phase, PlayerState, Sentence
from app.desktop.recording import Recording, StoredSound
from app.engine.engine import Engine
from app.engine.events import Heard, Progress, SentenceDecoded, StageChanged, UtteranceDone
from app.engine.reading import Reading
from app.engine.state import Stage
from app.metrics.report import Report
from decoder.wire.events import Outcome

_PHASES = {
    Stage.QUEUED: Phase.CONNECTING,
    Stage.CONNECTING: Phase.CONNECTING,
    Stage.WAITING: Phase.WAITING,
    Stage.BUFFERING: Phase.BUFFERING,
    Stage.PLAYING: Phase.PLAYING,
    Stage.STALLED: Phase.STALLED,
    Stage.DRAINING: Phase.PLAYING,
}
_WORST_FIRST = (
    Outcome.FAILED,
    Outcome.INCOMPLETE,
    Outcome.CUT_OFF,
    Outcome.CANCELLED,
    Outcome.EMPTY,
    Outcome.COMPLETE,
)


class Playing:
    """Made new for every text and every replay."""

    def __init__(
        self,
        number: int,
        text: str,
        sound: Recording | StoredSound,
        engine: Engine,
        *,
        heard_text: HeardText | None = None,
        sentences: tuple[Sentence, ...] = (),
    ) -> None:
        # A new text has a heard_text, one of the history its sentences.
        self.sound = sound
        self.is_paused = False
        self._number = number
        self._text = text
        self._engine = engine
        self.reading: Reading = engine.new_reading(sound, sound if isinstance(sound, Recording) else None)
        self._heard_text = heard_text
        self._known_sentences = sentences
        self._stages: dict[int, Stage] = {}
        """Of the utterances by their numbers, in the order in which they are heard."""
        self._reports: dict[int, Report] = {}
        self._known_numbers: Numbers | None = None
        """Of the reports as they are; ``None`` once there are newer ones."""
        self._ends: list[UtteranceDone] = []
        self._heard_samples = 0
        self._is_replaying = False

    # -- what happens -----------------------------------------------------------------------------------

    def is_of(self, engine: Engine) -> bool:
        """Whether ``engine`` is the one it plays on."""
        return self._engine is engine

    def move_to(self, engine: Engine) -> None:
        """Play on ``engine`` from now on: the one before is gone, and all that came of it is recorded."""
        self._engine = engine
        self.reading = engine.new_reading(self.sound)

    @property
    def place(self) -> tuple[int, bool]:
        """How far it was heard, in samples, and whether that is a replay."""
        return self._heard_samples, self._is_replaying

    @place.setter
    def place(self, place: tuple[int, bool]) -> None:
        self._heard_samples, self._is_replaying = place

    def stops(self) -> None:
        """Note that nothing more of it is heard."""
        self._is_replaying = False

    def engine_is_gone(self) -> None:
        """Note that what was replayed is heard no more; the ends of its utterances are told."""
        self._is_replaying = self.is_paused = False

    def stage_changed(self, event: StageChanged) -> None:
        """Note the stage of one of its utterances; that it is done comes with its end."""
        if event.stage is Stage.DONE:
            return
        if event.stage is Stage.QUEUED or event.utterance in self._stages:
            self._stages[event.utterance] = event.stage

    def measured(self, event: Progress | UtteranceDone) -> None:
        """Note the numbers of one of its utterances, and its end."""
        if event.utterance not in self._stages:
            return
        self._reports[event.utterance] = event.report
        self._known_numbers = None
        if isinstance(event, UtteranceDone):
            self._stages[event.utterance] = Stage.DONE
            self._ends.append(event)
            if len(self._ends) == len(self._stages):
                self._finish()

    def sentence_decoded(self, event: SentenceDecoded) -> None:
        """Note where a sentence begins."""
        if event.reading == self.reading.number and self._heard_text is not None:
            piece = list(self._stages).index(event.utterance)
            self._heard_text.place(piece, event.text, event.starts_samples / self.sound.rate_hz)

    def heard(self, event: Heard) -> None:
        """Note how far it was heard."""
        if event.reading != self.reading.number:
            return
        self._heard_samples = event.samples
        if event.is_over:
            self._is_replaying = False

    # -- what that amounts to ---------------------------------------------------------------------------

    def state(self, decoder_is_prepared: bool) -> PlayerState:
        """Return what there is to show; while the decoder is prepared, a text may wait for that."""
        rate_hz, phase = self.sound.rate_hz, self._phase(decoder_is_prepared)
        heard_s, sentences = self._heard_samples / rate_hz, self._sentences()
        end = self._end() if phase is Phase.IDLE else None
        return PlayerState(
            phase=phase,
            reading=self._number,
            recording=self.sound.id,
            text=self._text,
            heard_s=heard_s,
            decoded_s=self.sound.samples / rate_hz,
            is_whole=self._is_whole(),
            sentences=sentences,
            sentence=heard_at(sentences, heard_s) if self._has_begun(phase) else None,
            numbers=self._numbers(),
            outcome=None if end is None else end.outcome,
            reason="" if end is None else end.reason,
        )

    def _phase(self, decoder_is_prepared: bool) -> Phase:
        stage = self._live_stage()
        if stage is None and not self._is_replaying:
            return Phase.IDLE
        if self.is_paused:
            return Phase.PAUSED
        if stage is None or self._is_replaying:
            return Phase.PLAYING
        phase = _PHASES[stage]
        if self._ends and self._heard_samples and phase in (Phase.CONNECTING, Phase.WAITING, Phase.BUFFERING):
            return Phase.STALLED  # between two utterances
        if phase is Phase.CONNECTING and decoder_is_prepared:
            return Phase.PREPARING
        return phase

    def _live_stage(self) -> Stage | None:
        """Return the stage of the utterance that is heard, or will be next."""
        return next((stage for stage in self._stages.values() if stage is not Stage.DONE), None)

    def _is_whole(self) -> bool:
        *before, last = self._stages.values() or (Stage.DONE,)
        return last in (Stage.DRAINING, Stage.DONE) and all(stage is Stage.DONE for stage in before)

    def _has_begun(self, phase: Phase) -> bool:
        return phase in (Phase.PLAYING, Phase.PAUSED, Phase.STALLED)

    def _numbers(self) -> Numbers | None:
        if self._known_numbers is None:
            self._known_numbers = numbers_of([self._reports[n] for n in self._stages if n in self._reports])
        return self._known_numbers

    def _sentences(self) -> tuple[Sentence, ...]:
        return self._known_sentences if self._heard_text is None else self._heard_text.sentences

    def _end(self) -> UtteranceDone | None:
        """Return the end that tells most of how the reading went."""
        return min(self._ends, key=lambda end: _WORST_FIRST.index(end.outcome), default=None)

    def _finish(self) -> None:
        end = self._end()
        assert end is not None, "there is one end at least"
        if end.outcome in (Outcome.COMPLETE, Outcome.CUT_OFF, Outcome.INCOMPLETE):
            self._heard_samples = self.sound.samples
        if isinstance(self.sound, Recording):
            numbers = self._numbers()
            ttfa_s = None if numbers is None else numbers.ttfa_s
            self.sound.finish(ttfa_s, end.outcome, self._sentences())


def of_history(number: int, entry: Entry, sound: StoredSound, engine: Engine) -> Playing:
    """Make the replay of a reading that is over."""
    return Playing(number, entry.text, sound, engine, sentences=entry.sentences)
