"""A text on its way into sound: whole, or arriving in pieces while its beginning is spoken."""

from __future__ import annotations

import asyncio

from app.errors import TextTooLong
from app.text import MAX_TEXT_CHARS, ArrivingText, clean, utterances


class Text:
    """Made for each; written and read in the event loop."""

    def __init__(self, *, is_whole: bool) -> None:
        """``is_whole`` says that all of it is written at once, and so cut as other texts are."""
        self.is_whole = is_whole
        self._arriving = ArrivingText()
        self._whole = ""
        self._sentences: list[str] = []
        """Those that have arrived and were not taken."""
        self._chars = 0
        self._is_over = False
        self._changed = asyncio.Event()

    def write(self, text: str) -> None:
        """Add ``text``, cut anywhere; raises TextTooLong if that is too much of it."""
        self._chars += len(text)
        if self._chars > MAX_TEXT_CHARS:
            raise TextTooLong(f"the text is longer than {MAX_TEXT_CHARS} characters: send it in parts")
        if self.is_whole:
            self._whole += text
            return
        self._sentences += self._arriving.write(text)
        self._changed.set()

    def close(self) -> None:
        """Say that nothing follows; repeatable."""
        if not self._is_over:
            self._is_over = True
            self._sentences += self._arriving.take_rest()
            self._changed.set()

    async def next(self) -> list[str]:
        """Return what can be spoken now, waiting for it; empty once all of it was taken."""
        while not self._is_over or self._sentences or self._whole:
            sentences, self._sentences = self._sentences, []
            whole, self._whole = self._whole, ""
            # A sentence of nothing but marks joins the ones beside it, or is left out.
            if pieces := utterances(clean(whole if self.is_whole else " ".join(sentences))):
                return pieces
            if not self._is_over:
                self._changed.clear()
                await self._changed.wait()
        return []
