"""The sentences of a reading in the text on the screen: which is heard, and which is where."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QPoint
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QTextEdit

from app.desktop.moving_spans import MovingSpans
from app.desktop.player_state import PlayerState
from app.desktop.text_map import Utf16Map
from app.gui.style.theme import theme
from app.gui.widgets.following import Following


class SentenceMarks(QObject):
    """Marks the heard sentence in ``editor`` and keeps it in view; all marks move with the text."""

    def __init__(self, editor: QTextEdit, following: Following) -> None:
        super().__init__(editor)
        self._editor = editor
        self._following = following
        self._state = PlayerState()
        self._spans = MovingSpans()
        self._shown: int | None = None
        """The sentence that is marked."""
        self._base: int | None = None
        """Where the text that is read begins in the editor's, in code points; ``None`` if it is not there."""
        self._offsets = Utf16Map("")
        editor.document().contentsChange.connect(self._on_edit)
        editor.textChanged.connect(self._on_text_change)
        theme().changed.connect(self._mark)

    @property
    def is_speaking(self) -> bool:
        """Whether something is read aloud."""
        return self._state.is_speaking

    def show_state(self, state: PlayerState) -> None:
        """Mark the sentence that is heard, if the text that is read is in the editor."""
        before, self._state = self._state, state
        # Until there is an engine, a text that waits has no number yet.
        is_another = state.text != before.text or (
            state.reading != before.reading and before.reading is not None
        )
        known = () if is_another else before.sentences
        if is_another or state.sentences[: len(known)] != known:
            self._find(state.text)
            known = ()
        self._add([(s.start, s.end) for s in state.sentences[len(known) :]])
        self.highlight(state.sentence if state.is_speaking else None)

    def set_sentences(self, spans: Sequence[tuple[int, int]]) -> None:
        """Take ``spans`` of the editor's text as it is now, in code points, for its sentences."""
        self._find(plain(self._editor.document().toRawText()))
        self._add(spans)

    def highlight(self, index: int | None) -> None:
        """Mark a sentence, and bring it into view unless somebody is busy elsewhere in the text."""
        if index is not None and index >= len(self._spans):
            index = None
        if index == self._shown:
            return
        self._shown = index
        self._mark()
        span = None if index is None else self._spans.now(index)
        if span is not None:
            self._following.show(*span)

    def at(self, point: QPoint) -> int | None:
        """Return the index of the sentence at ``point`` of the viewport."""
        cursor = self._editor.cursorForPosition(point)
        index = self._spans.at(cursor.position())
        # On the right half of the last character the position is that after the sentence.
        if index is None and not cursor.atBlockStart():
            index = self._spans.at(cursor.position() - 1)
        return index

    # -- inside -----------------------------------------------------------------------------------------

    def _find(self, text: str) -> None:
        """Look for where ``text`` is in the editor's; forget the sentences of another one."""
        self._spans = MovingSpans()
        self._shown = None
        own = plain(self._editor.document().toRawText())
        self._offsets = Utf16Map(own)
        cursor = self._editor.textCursor()
        if not text:
            self._base = None
        elif text == plain(cursor.selectedText()):
            self._base = self._offsets.code_point(cursor.selectionStart())
        else:
            found = own.find(text)
            self._base = found if found >= 0 else None
        self._mark()

    def _add(self, spans: Sequence[tuple[int, int]]) -> None:
        if self._base is not None:
            base, utf16 = self._base, self._offsets.utf16
            self._spans.add((utf16(base + start), utf16(base + end)) for start, end in spans)

    def _mark(self) -> None:
        span = None if self._shown is None else self._spans.now(self._shown)
        if span is None:
            self._editor.setExtraSelections([])
            return
        colours = theme().colours
        look = QTextCharFormat()
        look.setBackground(QColor(colours.accent_soft))
        look.setForeground(QColor(colours.text))
        cursor = QTextCursor(self._editor.document())
        cursor.setPosition(span[0])
        cursor.setPosition(span[1], QTextCursor.MoveMode.KeepAnchor)
        selection = QTextEdit.ExtraSelection()
        selection.cursor = cursor
        selection.format = look
        self._editor.setExtraSelections([selection])

    def _on_edit(self, position: int, removed: int, added: int) -> None:
        if self._base is not None:
            self._spans.edited(position, removed, added)

    def _on_text_change(self) -> None:
        # Qt moves the mark by itself, but takes what is typed at its end for a part of it.
        if self._shown is not None:
            self._mark()


def plain(raw: str) -> str:
    """Return Qt's text with line feeds; ``toPlainText`` would take away spaces that do not break, too."""
    return raw.replace("\u2029", "\n").replace("\u2028", "\n")
