"""The player: texts become readings that are heard, held, stopped, sought in, and heard again.

It holds at most one reading, new or old, and says at any moment what of it is heard.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from app.desktop.heard_text import HeardText
from app.desktop.history import History
from app.desktop.listeners import Listeners
from app.desktop.player_state import Phase, PlayerState
from app.desktop.playing import Playing, of_history
from app.desktop.recording import Recording
from app.desktop.voices import fall_back
from app.engine.events import (
    DecoderState,
    Heard,
    Notice,
    PauseChanged,
    Progress,
    SentenceDecoded,
    Severity,
    StageChanged,
    UtteranceDone,
)
from app.engine.host import EngineReplaced, Host, HostEvent
from app.errors import NearfieldError, RecordingError
from app.session.voices import VoiceList
from app.text import MAX_TEXT_CHARS, clean, utterances
from decoder.wire.messages import SessionConfig

NOTHING_TO_SAY = "There is nothing to say in this text."
STOPPED_BY_SETTINGS = "The settings were changed: what was spoken is stopped."


class Player:
    """Made once; what it shows goes to the listeners as values."""

    def __init__(self, host: Host, history: History) -> None:
        self._host = host
        self._history = history
        self._listeners: Listeners[[PlayerState]] = Listeners("the player")
        self._playing: Playing | None = None
        self._count = 0
        self._waits: str | None = None
        """A text for an engine that is being made."""
        self._is_stopping = False
        self._voices: VoiceList | None = None
        self._told_lacking = ""
        self._state = PlayerState()
        host.subscribe(self._on_event)

    @property
    def state(self) -> PlayerState:
        """What is heard now."""
        return self._state

    def subscribe(self, listener: Callable[[PlayerState], None]) -> None:
        """Have ``listener`` called with every new state."""
        self._listeners.add(listener)

    def peaks(self) -> NDArray[np.float32]:
        """Return the reading's loudest sample in each 20 ms so far, 0..1."""
        return np.zeros(0, np.float32) if self._playing is None else self._playing.sound.peaks()

    def offer(self, voices: VoiceList | None) -> None:
        """Take what the server has to speak with; ``None`` while that is not known."""
        self._voices = voices

    # -- intents ----------------------------------------------------------------------------------------

    def speak(self, text: str) -> bool:
        """Speak ``text`` now, in the place of what is spoken; false if there is nothing to say in it."""
        if len(text) > MAX_TEXT_CHARS:
            self._tell(Severity.WARNING, "The text is cut after {0} characters.", f"{MAX_TEXT_CHARS:,}")
            text = text[:MAX_TEXT_CHARS]
        pieces = utterances(clean(text))
        if not pieces:
            self._tell(Severity.INFO, NOTHING_TO_SAY)
            return False
        self.stop()
        engine = self._host.engine
        if engine is None and self._host.decoder.is_broken:
            self._host.notify(Severity.ERROR, self._host.decoder.detail)
            return False
        if engine is None:
            self._waits = text
            self._show(PlayerState(Phase.PREPARING, text=text))
            return True
        try:
            how = self._how()
        except NearfieldError as error:
            self._host.notify(Severity.ERROR, str(error))
            return False
        sound = self._begin_recording(text)
        if sound is None:
            return False
        self._count += 1
        playing = Playing(self._count, text, sound, engine, heard_text=HeardText(text, pieces))
        self._playing = playing
        for piece in pieces:
            engine.speak(piece, how=how, reading=playing.reading)
        self._refresh()
        return True

    def stop(self) -> None:
        """Be silent at once."""
        self._waits = None
        playing, engine = self._playing, self._host.engine
        if playing is None or not self._state.is_speaking:
            self._refresh()
            return
        playing.stops()
        if engine is not None:
            # The ends of hundreds of utterances that waited are one change to who looks.
            self._is_stopping = True
            try:
                engine.stop()
            finally:
                self._is_stopping = False
        self._refresh()

    def pause(self) -> None:
        """Hold the sound where it is."""
        if self._state.is_speaking and self._host.engine is not None:
            self._host.engine.pause()

    def resume(self) -> None:
        """Go on where the sound was held."""
        if self._host.engine is not None:
            self._host.engine.resume()

    def seek(self, at_s: float) -> None:
        """Have the reading heard from ``at_s`` on, also when it is over, as far as it is decoded."""
        playing, engine = self._playing, self._host.engine
        if playing is None or engine is None or not playing.sound.samples:
            return
        if not playing.is_of(engine):
            playing.move_to(engine)
        to_samples, before = round(at_s * playing.sound.rate_hz), playing.place
        playing.place = to_samples, True  # a replay, unless the engine tells at once that it is none
        try:
            engine.seek(playing.reading, to_samples)
        except RecordingError as error:
            playing.place = before
            self._host.notify(Severity.ERROR, str(error))
        self._refresh()

    def seek_sentence(self, index: int) -> None:
        """Have the sentence ``index`` of the state's sentences heard, and what follows it."""
        sentences = self._state.sentences
        if 0 <= index < len(sentences):
            self.seek(sentences[index].starts_s)

    def replay(self, entry_id: str) -> None:
        """Hear a reading of the history again."""
        engine = self._host.engine
        entry = self._history.find(entry_id)
        if entry is None:
            return
        if engine is None:
            if self._host.decoder.is_broken:
                self._host.notify(Severity.WARNING, self._host.decoder.detail)
            else:
                self._tell(Severity.INFO, "Still preparing: try again in a moment.")
            return
        try:
            sound = self._history.open(entry_id)
        except RecordingError as error:
            self._host.notify(Severity.ERROR, str(error))
            return
        self.stop()
        self._count += 1
        self._playing = of_history(self._count, entry, sound, engine)
        self.seek(0.0)

    # -- inside -----------------------------------------------------------------------------------------

    def _tell(self, severity: Severity, template: str, *values: object) -> None:
        self._host.tell(Notice.of(severity, template, *values))

    def _begin_recording(self, text: str) -> Recording | None:
        """Return what keeps the sound; where no history can be kept, it is kept for now only."""
        voice = self._host.voice.name
        try:
            return self._history.begin(text, voice)
        except RecordingError as error:
            self._host.notify(Severity.WARNING, str(error))
        try:
            return self._history.begin(text, voice, kept=False)
        except RecordingError as error:
            self._host.notify(Severity.ERROR, str(error))
        return None

    def _how(self) -> SessionConfig:
        """Return how to speak now.

        Raises:
            ConfigError: the voice that was chosen cannot be spoken.

        """
        voice, lacks = fall_back(self._host.voice, None if self._host.is_demo else self._voices)
        if lacks and lacks != self._told_lacking:
            text = "The server has no voice {0}: its default voice speaks instead."
            self._tell(Severity.WARNING, text, lacks)
        self._told_lacking = lacks
        return self._host.how(voice)

    def _on_event(self, event: HostEvent) -> None:
        playing = self._playing
        match event:
            case EngineReplaced(None):
                if self._state.is_speaking and self._waits is None:
                    self._tell(Severity.INFO, STOPPED_BY_SETTINGS)
                if playing is not None:
                    playing.engine_is_gone()
                if self._host.decoder.is_broken:
                    self._waits = None  # why there is no engine was told
            case EngineReplaced():
                if self._waits is not None:
                    self.speak(self._waits)
                    return
            case StageChanged() if playing is not None:
                playing.stage_changed(event)
            case Progress() | UtteranceDone() if playing is not None:
                playing.measured(event)
            case SentenceDecoded() if playing is not None:
                playing.sentence_decoded(event)
            case Heard() if playing is not None:
                playing.heard(event)
            case PauseChanged() if playing is not None:
                playing.is_paused = event.is_paused
            case DecoderState():
                pass
            case _:
                return
        self._refresh()

    def _refresh(self) -> None:
        if self._waits is not None or self._is_stopping:
            return
        playing = self._playing
        decoder = self._host.decoder
        is_prepared = not decoder.ready and not decoder.is_broken
        self._show(PlayerState() if playing is None else playing.state(is_prepared))

    def _show(self, state: PlayerState) -> None:
        if state == self._state:
            return
        self._state = state
        self._listeners.tell(state)
