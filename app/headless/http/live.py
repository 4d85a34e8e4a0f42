"""The newest numbers of what is in flight, for whoever looks at the status."""

from __future__ import annotations

from app.engine.events import Progress, UtteranceDone
from app.engine.host import EngineReplaced


class Live:
    """Listens to the engine and keeps one value."""

    def __init__(self) -> None:
        self._newest: dict[int, Progress] = {}

    @property
    def progress(self) -> Progress | None:
        """The oldest utterance's in flight, which is the one that is heard."""
        return self._newest[min(self._newest)] if self._newest else None

    def observe(self, event: object) -> None:
        """Take an event of the engine."""
        match event:
            case Progress():
                self._newest[event.utterance] = event
            case EngineReplaced():
                self._newest.clear()  # another engine counts its utterances anew
            case UtteranceDone():
                self._newest.pop(event.utterance, None)
