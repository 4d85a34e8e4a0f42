"""A request whose text arrives in pieces, as from a language model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from app.desk.checking import too_long
from app.desk.taken import Part, Taken
from app.desk.ticket import Ticket
from app.errors import TextTooLong
from app.text import MAX_TEXT_CHARS, ArrivingText, is_speakable

CERTAIN_S = 0.5
"""A sentence that has ended is taken for whole if nothing follows for so long."""


class Pieces:
    """Made by the desk; ends by itself when its request does, however that comes about.

    What is heard ends with a sentence and goes on when there is another whole one: never in mid-sentence.
    """

    def __init__(
        self, taken: Taken, give: Callable[[], None], abort: Callable[[], None], clock: Callable[[], float]
    ) -> None:
        # give has the desk look at what waits in taken.unsent, and at whether that is all.
        self._taken = taken
        self._give = give
        self._abort = abort
        self._clock = clock
        self._arriving = ArrivingText()
        self._unspeakable = ""
        """What cannot be spoken by itself, and goes with what comes next."""
        self._timer: asyncio.TimerHandle | None = None
        self._chars = 0

    @property
    def ticket(self) -> Ticket:
        """The request's id and its end."""
        return self._taken.ticket

    def write(self, text: str) -> None:
        """Add ``text``, cut anywhere; each sentence goes on its way as soon as it is certain to be one.

        After :meth:`close` or the request's end this does nothing: whoever wants to know awaits
        ``ticket.done``.

        Raises:
            TextTooLong: the pieces together are; this one was not taken.

        """
        if self._taken.is_over or not self._taken.is_open:
            return
        if self._chars + len(text) > MAX_TEXT_CHARS:
            raise TextTooLong(too_long(self._chars + len(text)))
        self._chars += len(text)
        self._taken.text += text
        self._cancel_timer()
        self._add(self._arriving.write(text))
        if self._arriving.may_be_whole:
            self._timer = asyncio.get_running_loop().call_later(CERTAIN_S, self._on_pause)
        self._give()

    def close(self) -> None:
        """Say that all has been written: what is left over is spoken, too. Repeatable."""
        if self._taken.is_over or not self._taken.is_open:
            return
        self._cancel_timer()
        self._add(self._arriving.take_rest())
        self._taken.is_open = False
        self._give()

    def abort(self) -> None:
        """End the request at once, as interrupted with ``aborted``. Repeatable."""
        self._cancel_timer()
        self._abort()

    def forget(self) -> None:
        """Let go of what has arrived: the request is over."""
        self._cancel_timer()

    # -- inside -----------------------------------------------------------------------------------------

    def _on_pause(self) -> None:
        self._timer = None
        self._add(self._arriving.take_rest())
        self._give()

    def _add(self, sentences: list[str]) -> None:
        for sentence in sentences:
            text = f"{self._unspeakable} {sentence}".strip()
            if is_speakable(text):
                self._taken.unsent.append(Part(text, self._clock()))
                self._unspeakable = ""
            else:
                self._unspeakable = text

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
