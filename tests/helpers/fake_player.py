"""A player without sound: it notes what was asked of it, and shows what a test sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.desktop.player_state import Phase, PlayerState


class FakePlayer:
    """Unrealistic in that nothing goes on by itself: ``show`` says what has happened."""

    def __init__(self) -> None:
        self.state = PlayerState()
        self.asked: list[tuple[Any, ...]] = []
        """Every intent with its arguments, in order."""
        self.sound: NDArray[np.float32] = np.zeros(0, np.float32)
        self._listeners: list[Callable[[PlayerState], None]] = []

    def show(self, **changes: Any) -> None:
        """Change fields of the state and tell everybody."""
        self.state = replace(self.state, **changes)
        for listener in tuple(self._listeners):
            listener(self.state)

    def subscribe(self, listener: Callable[[PlayerState], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def peaks(self) -> NDArray[np.float32]:
        return self.sound

    def speak(self, text: str) -> bool:
        self.asked.append(("speak", text))
        if not text.strip():
            return False
        self.show(phase=Phase.CONNECTING, reading=(self.state.reading or 0) + 1, text=text)
        return True

    def stop(self) -> None:
        self.asked.append(("stop",))
        self.show(phase=Phase.IDLE)

    def pause(self) -> None:
        self.asked.append(("pause",))
        self.show(phase=Phase.PAUSED)

    def resume(self) -> None:
        self.asked.append(("resume",))
        self.show(phase=Phase.PLAYING)

    def seek(self, at_s: float) -> None:
        self.asked.append(("seek", at_s))

    def seek_sentence(self, index: int) -> None:
        self.asked.append(("seek_sentence", index))

    def replay(self, entry_id: str) -> None:
        self.asked.append(("replay", entry_id))
