"""From the player and the engine to the window: their values as Qt signals, at the pace of an eye."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from app.desktop.link_view import LinkStory
from app.desktop.player_state import PlayerState
from app.engine.events import DecoderState, LinkStatus, Notice, OutputChanged
from app.gui.widgets.throttle import Throttle

STATE_S = 1 / 30
NUMBERS_S = 1 / 10


class ShownPlayer(Protocol):
    """What the window wants of the player."""

    @property
    def state(self) -> PlayerState:
        """What it does now."""

    def subscribe(self, listener: Callable[[PlayerState], None]) -> object:
        """Have ``listener`` called with every change."""

    def peaks(self) -> NDArray[np.float32]:
        """Loudness of the reading so far, 0 to 1, for each 20 ms."""

    def speak(self, text: str) -> bool:
        """Speak ``text`` in place of what is spoken; false if there is nothing to say in it."""

    def stop(self) -> None:
        """Be silent at once."""

    def pause(self) -> None:
        """Hold the sound where it is."""

    def resume(self) -> None:
        """Go on where it was held."""

    def seek(self, at_s: float) -> None:
        """Go on from there."""

    def seek_sentence(self, index: int) -> None:
        """Go on from the beginning of a sentence."""

    def replay(self, entry_id: str) -> None:
        """Play what is in the history."""


class Bridge(QObject):
    """Turns what the player and the engine tell into signals; made once, in the thread of both.

    Signals:
        state_changed: a :class:`PlayerState`; at once when a phase or a reading begins, else as often as
            one sees it (30 a second).
        measured: a :class:`PlayerState` and its peaks, ten times a second at most, for what shows numbers or
            draws the sound.
        noticed: a :class:`Notice`.
        link_changed: a :class:`LinkView`.
        decoder_changed: a :class:`DecoderState`.
        output_changed: an :class:`OutputChanged`.

    """

    state_changed = Signal(object)
    measured = Signal(object, object)
    noticed = Signal(object)
    link_changed = Signal(object)
    decoder_changed = Signal(object)
    output_changed = Signal(object)

    def __init__(
        self,
        player: ShownPlayer,
        server_title: Callable[[], str],
        parent: QObject | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(parent)
        self._player = player
        self._server_title = server_title
        self._clock = clock
        self._story = LinkStory(server_title())
        self._told = player.state
        self._states = Throttle(STATE_S, self)
        self._states.due.connect(self._tell_state)
        self._numbers = Throttle(NUMBERS_S, self)
        self._numbers.due.connect(self._tell_numbers)
        player.subscribe(self._on_state)

    def on_event(self, event: object) -> None:
        """Take an event of the engine; those of single utterances go past: the player tells of them."""
        match event:
            case Notice():
                self.noticed.emit(event)
            case DecoderState():
                self.decoder_changed.emit(event)
                self._tell_link(event)
            case LinkStatus():
                self._tell_link(event)
            case OutputChanged():
                self.output_changed.emit(event)

    def tell_link(self) -> None:
        """Tell of the link as it is; for when another server is in use."""
        self._tell_link(None)

    def _tell_link(self, event: LinkStatus | DecoderState | None) -> None:
        title = self._server_title()
        if title != self._story.title:
            self._story = LinkStory(title, decoder=self._story.decoder)
        if event is not None:
            self._story = self._story.told(event, self._clock())
        self.link_changed.emit(self._story.view())

    def _on_state(self, state: PlayerState) -> None:
        if state.phase is self._told.phase and state.reading == self._told.reading:
            self._states.want()
            self._numbers.want()
        else:
            self._tell_state()
            self._tell_numbers()

    def _tell_state(self) -> None:
        self._told = self._player.state
        self.state_changed.emit(self._told)

    def _tell_numbers(self) -> None:
        self.measured.emit(self._player.state, self._player.peaks())
