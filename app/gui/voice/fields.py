"""What the fields of a voice are made of."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QPalette, QStandardItemModel, QWheelEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.gui.style import tokens
from app.gui.style.roles import set_role
from app.gui.style.theme import theme


class Remark(QLabel):
    """A small line beneath something, in one of the theme's inks; takes no room while it is empty."""

    def __init__(self, ink: str = "danger", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._ink = ink
        self.setWordWrap(True)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setVisible(False)
        theme().changed.connect(self._draw)
        self._draw()

    def show_text(self, text: str, ink: str = "") -> None:
        """Show ``text``; empty: nothing."""
        if ink and ink != self._ink:
            self._ink = ink
            self._draw()
        self.setText(text)
        self.setVisible(bool(text))

    def _draw(self) -> None:
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.WindowText, QColor(getattr(theme().colours, self._ink)))
        self.setPalette(palette)
        self.setFont(theme().font(tokens.CAPTION))


class Field(QWidget):
    """A control with its name above it and, if something is wrong, a remark below."""

    def __init__(self, control: QWidget, with_note: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.control = control
        self.label = QLabel()
        self.label.setBuddy(control)
        set_role(self.label, "caption")
        self.note = QLabel()
        set_role(self.note, "caption")
        self.note.setVisible(with_note)
        self.remark = Remark()
        head = QHBoxLayout()
        head.addWidget(self.label)
        head.addStretch(1)
        head.addWidget(self.note)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(tokens.XS)
        column.addLayout(head)
        column.addWidget(control)
        column.addWidget(self.remark)

    def name(self, text: str, accessible: str = "") -> None:
        """Call the control ``text``, in which ``&`` marks the key that leads to it."""
        self.label.setText(text)
        spoken = accessible or text.replace("&", "")
        if self.control.accessibleName() != spoken:  # each call would be announced
            self.control.setAccessibleName(spoken)

    def remark_on(self, text: str, ink: str = "danger") -> None:
        """Say what is wrong, which a screen reader reads with the control; empty: nothing."""
        self.remark.show_text(text, ink)
        if self.control.accessibleDescription() != text:
            self.control.setAccessibleDescription(text)


class Choice(QComboBox):
    """A combo box that scrolls with what it lies in: the wheel changes it only while it has the focus."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(10)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to the page."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def add_heading(self, text: str) -> None:
        """Add a line that cannot be chosen."""
        self.addItem(text)
        model = self.model()
        assert isinstance(model, QStandardItemModel)
        model.item(self.count() - 1).setEnabled(False)

    def show_data(self, data: object) -> bool:
        """Show the item that stands for ``data``, and return whether there is one."""
        at = self.findData(data)
        self.setCurrentIndex(at)
        return at >= 0


class Lines(QPlainTextEdit):
    """A few lines of text; the tabulator leaves it, and everything pasted is plain.

    Signals:
        left: the focus has gone elsewhere.

    """

    left = Signal()

    def __init__(self, lines: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lines = lines
        self.setTabChangesFocus(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self._fit)
        self._fit()

    def show_text(self, text: str) -> None:
        """Show ``text``; the cursor stays where it is if that is what is there."""
        if self.toPlainText() != text:
            self.setPlainText(text)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Tell that it was left."""
        super().focusOutEvent(event)
        self.left.emit()

    def _fit(self) -> None:
        line = self.fontMetrics().lineSpacing()
        margins = 2 * (tokens.S + self.frameWidth()) + 2 * round(self.document().documentMargin())
        self.setFixedHeight(self._lines * line + margins)
