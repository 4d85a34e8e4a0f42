"""Where the text is written that is read aloud, and where it is shown which sentence is heard."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QPoint, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QContextMenuEvent,
    QKeyEvent,
    QMouseEvent,
    QTextBlockFormat,
    QTextCursor,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QTextEdit, QWidget

from app.desktop import documents
from app.desktop.documents import Document, cut_to_limit, pasted
from app.desktop.player_state import PlayerState
from app.engine.events import Severity
from app.errors import DocumentError, NotText, TooLong
from app.gui.style import tokens
from app.gui.style.theme import theme
from app.gui.widgets.following import Following
from app.gui.widgets.sentence_marks import SentenceMarks, plain
from app.text import MAX_TEXT_CHARS

WRITES_S = 6.0
"""Who has written in so many seconds clicks to write there, not to hear it."""
LINE_PERCENT = 140
READING = 1.15
"""Size of the text: it is read more than what is around it."""


class Editor(QTextEdit):
    """A plain text of up to 100,000 characters, with the sentence that is heard marked in it.

    A click places the caret, as everywhere. While something is read aloud, and nobody has written in the last
    seconds, it also has the clicked sentence heard; Ctrl+click and "Hear from here" in the context menu
    always do. The marks move with the text when it is edited.

    Signals:
        text_changed: it did, by whatever means.
        sentence_chosen: the index of a sentence of the reading, to be heard from there on.
        document_opened: the name of the file whose text is shown now.
        notice: a `Severity` and something that a person should know.

    """

    text_changed = Signal()
    sentence_chosen = Signal(int)
    document_opened = Signal(str)
    notice = Signal(Severity, str)

    def __init__(self, parent: QWidget | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(parent)
        self._pressed_at: QPoint | None = None
        self._clock = clock
        self._wrote_s = float("-inf")
        self._following = Following(self, clock)
        self._marks = SentenceMarks(self, self._following)
        self.setAcceptRichText(False)
        self.setTabChangesFocus(True)
        self._space_lines()
        self.viewport().setMouseTracking(True)
        self.textChanged.connect(self._on_text_change)
        theme().changed.connect(self._on_theme_change)
        self._on_theme_change()
        self._retranslate()

    # -- the text ---------------------------------------------------------------------------------------

    def text(self) -> str:
        """Return the text, lines divided by a line feed."""
        return plain(self.document().toRawText())

    def selected_text(self) -> str:
        """Return what is selected of it, likewise."""
        return plain(self.textCursor().selectedText())

    def set_text(self, text: str) -> None:
        """Put ``text`` in the place of what is there; can be undone."""
        cursor = self.textCursor()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)
        cursor.movePosition(QTextCursor.MoveOperation.Start)
        self.setTextCursor(cursor)
        self.ensureCursorVisible()

    def clear(self) -> None:
        """Remove all of it; can be undone."""
        self.set_text("")

    def open_document(self, path: Path) -> bool:
        """Show the text of a text or Markdown file; what goes wrong, and what is left out, is told."""
        try:
            document = documents.read_document(path)
        except DocumentError as error:
            self.notice.emit(Severity.ERROR, self._in_words(error, path))
            return False
        self.set_text(document.text)
        self.document_opened.emit(document.name)
        self._tell_about(document)
        return True

    # -- the sentences ----------------------------------------------------------------------------------

    def show_state(self, state: PlayerState) -> None:
        """Mark the sentence that is heard, if the text that is read is in here."""
        self._marks.show_state(state)

    def set_sentences(self, spans: Sequence[tuple[int, int]]) -> None:
        """Take ``spans`` of the text as it is now, in code points, for its sentences."""
        self._marks.set_sentences(spans)

    def highlight(self, index: int | None) -> None:
        """Mark a sentence, and bring it into view unless somebody is busy elsewhere in the text."""
        self._marks.highlight(index)

    def sentence_at(self, point: QPoint) -> int | None:
        """Return the index of the sentence at ``point`` of the viewport."""
        return self._marks.at(point)

    # -- what a person does -----------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Place the caret, or with Ctrl choose a sentence."""
        self._pressed_at = None
        if event.button() is Qt.MouseButton.LeftButton:
            point = event.position().toPoint()
            if event.modifiers() == Qt.KeyboardModifier.ControlModifier:
                if (index := self.sentence_at(point)) is not None:
                    self.sentence_chosen.emit(index)
                    event.accept()
                    return
            elif event.modifiers() == Qt.KeyboardModifier.NoModifier:
                self._pressed_at = point
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Have the sentence heard that was clicked, if something is read aloud and nobody is writing."""
        super().mouseReleaseEvent(event)
        pressed_at, self._pressed_at = self._pressed_at, None
        if event.button() is not Qt.MouseButton.LeftButton:
            return
        point = event.position().toPoint()
        index = self.sentence_at(point) if pressed_at is not None and self._may_choose() else None
        is_click = (
            pressed_at is not None
            and (point - pressed_at).manhattanLength() < QApplication.startDragDistance()
            and not self.textCursor().hasSelection()
        )
        if index is not None and is_click:
            self.sentence_chosen.emit(index)
        else:
            self._following.touched()

    def _on_text_change(self) -> None:
        self._wrote_s = self._clock()
        self.text_changed.emit()

    def _may_choose(self) -> bool:
        return self._marks.is_speaking and self._clock() - self._wrote_s >= WRITES_S

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Select a word: that is no second click on a sentence."""
        self._pressed_at = None
        super().mouseDoubleClickEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show with the pointer that Ctrl+click would choose a sentence."""
        super().mouseMoveEvent(event)
        chooses = (
            event.modifiers() == Qt.KeyboardModifier.ControlModifier
            and not event.buttons()
            and self.sentence_at(event.position().toPoint()) is not None
        )
        shape = Qt.CursorShape.PointingHandCursor if chooses else Qt.CursorShape.IBeamCursor
        if self.viewport().cursor().shape() is not shape:
            self.viewport().setCursor(shape)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll, and stay there for a while."""
        self._following.touched()
        super().wheelEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Write or move, and do not scroll away from there for a while."""
        if event.key() not in _MODIFIERS:
            self._following.touched()
        super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Show the usual menu, with "Hear from here" on top."""
        by_keyboard = event.reason() is QContextMenuEvent.Reason.Keyboard
        point = self.cursorRect().center() if by_keyboard else event.pos()
        menu = self.createStandardContextMenu(point)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        index = self.sentence_at(point)
        first = menu.actions()[0]
        hear = QAction(self.tr("Hear from here"), menu)
        hear.setEnabled(index is not None)
        if index is not None:
            hear.triggered.connect(lambda: self.sentence_chosen.emit(index))
        menu.insertAction(first, hear)
        menu.insertSeparator(first)
        # Not exec: nothing may wait for a menu while something is read aloud.
        menu.popup(self.viewport().mapToGlobal(point))

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """Whether ``source`` is text or files."""
        return source.hasText() or bool(_files(source))

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Insert pasted or dropped text after cleaning it; open a file."""
        if files := _files(source):
            self.open_document(files[0])
            if len(files) > 1:
                self.notice.emit(Severity.INFO, self.tr("Only the first of the files was opened."))
            return
        # Nobody waits until the clipboard's megabytes beyond the limit are clean.
        text = pasted(source.text()[: 2 * MAX_TEXT_CHARS])
        cursor = self.textCursor()
        others = self.document().characterCount() - 1 - len(cursor.selectedText())
        kept = cut_to_limit(text, max(0, MAX_TEXT_CHARS - others))
        cursor.insertText(kept)
        self.ensureCursorVisible()
        if len(kept) < len(text):
            self.notice.emit(Severity.WARNING, self._cut_in_words())

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.LanguageChange:
            self._retranslate()

    # -- look -------------------------------------------------------------------------------------------

    def _space_lines(self) -> None:
        """Give lines room, as a text to be read has; blocks that are inserted take it from the first."""
        spacing = QTextBlockFormat()
        spacing.setLineHeight(LINE_PERCENT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        QTextCursor(self.document()).mergeBlockFormat(spacing)
        self.document().setDocumentMargin(tokens.S)
        self.document().clearUndoRedoStacks()

    def _on_theme_change(self) -> None:
        font = self.font()
        font.setPointSizeF(theme().points(READING))
        self.document().setDefaultFont(font)

    # -- words ------------------------------------------------------------------------------------------

    def _retranslate(self) -> None:
        self.setAccessibleName(self.tr("Text to be read aloud"))
        self.setPlaceholderText(
            self.tr("Write or paste a text here, or drop a text file, then press Ctrl+Enter to hear it.")
        )

    def _cut_in_words(self) -> str:
        limit = self.locale().toString(MAX_TEXT_CHARS)
        return self.tr("The text is longer than {0} characters: the rest was left out.").format(limit)

    def _tell_about(self, document: Document) -> None:
        if document.cut:
            self.notice.emit(Severity.WARNING, self._cut_in_words())
        if document.guessed_encoding:
            text = self.tr(
                "{0} does not say how it is encoded; it was read as {1}. Look whether it is right."
            )
            self.notice.emit(Severity.WARNING, text.format(document.name, document.guessed_encoding))
        if document.code_blocks:
            self.notice.emit(Severity.INFO, self.tr("Blocks of code were left out."))

    def _in_words(self, error: DocumentError, path: Path) -> str:
        match error:
            case NotText():
                return self.tr("{0} is no text file, or in an unknown encoding; save it as UTF-8.").format(
                    path.name
                )
            case TooLong():
                text = self.tr("{0} is too long: at most {1} characters are read aloud at once.")
                return text.format(path.name, self.locale().toString(MAX_TEXT_CHARS))
        return self.tr("{0} cannot be opened: {1}").format(path.name, str(error.__cause__ or error))


_MODIFIERS = (Qt.Key.Key_Control, Qt.Key.Key_Shift, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr)


def _files(source: QMimeData) -> list[Path]:
    """Return the local files in ``source``."""
    return [Path(url.toLocalFile()) for url in source.urls() if url.isLocalFile()]
