"""The kinds of controls that the settings are made of, each bound to one key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QEvent, QSignalBlocker, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QCheckBox, QDoubleSpinBox, QLabel, QLineEdit, QSizePolicy, QSlider, QWidget

from app.desktop.settings import Settings
from app.gui.settings.rows import Bound
from app.gui.style import tokens
from app.gui.style.roles import set_role
from app.gui.widgets.choice import Choice
from app.gui.widgets.lines import Lines


class OneOf(Bound):
    """One of a few values."""

    def __init__(self, settings: Settings, key: str, parent: QWidget | None = None) -> None:
        self.choice = Choice()
        super().__init__(settings, key, self.choice, parent)
        self.choice.currentIndexChanged.connect(self._on_choice)
        self._value: Any = None

    def offer(self, values: Sequence[tuple[Any, str]]) -> None:
        """Offer ``values`` with their names; one that is set but not among them is shown as it is."""
        with QSignalBlocker(self.choice):
            self.choice.clear()
            for value, text in values:
                self.choice.addItem(text, value)
            self._select()

    def show_value(self, value: Any) -> None:
        """Show ``value``."""
        self._value = value
        self._select()

    def _select(self) -> None:
        at = self.choice.findData(self._value)
        if at < 0 and self._value is not None:
            self.choice.addItem(str(self._value), self._value)
            at = self.choice.count() - 1
        self.choice.setCurrentIndex(at)

    def _on_choice(self, at: int) -> None:
        if at >= 0 and not self.commit(self.choice.itemData(at)):
            with QSignalBlocker(self.choice):
                self._select()


class Toggle(Bound):
    """Yes or no."""

    def __init__(self, settings: Settings, key: str, parent: QWidget | None = None) -> None:
        self.box = QCheckBox()
        super().__init__(settings, key, self.box, parent)
        self.box.toggled.connect(self.commit)

    def show_value(self, value: Any) -> None:
        """Show ``value``."""
        self.box.setChecked(value)


class Number(Bound):
    """A number; what is typed counts when it is whole, a step at once."""

    def __init__(
        self,
        settings: Settings,
        key: str,
        between: tuple[float, float],
        step: float,
        scale: float = 1.0,
        parent: QWidget | None = None,
    ) -> None:
        """``between``, ``step`` and what is shown are ``scale`` times what is in the settings."""
        self.spin = _Spin()
        super().__init__(settings, key, self.spin, parent)
        self._scale = scale
        self._is_whole = False
        self.spin.setDecimals(0)
        self.spin.setRange(*between)
        self.spin.setSingleStep(step)
        self.spin.valueChanged.connect(self._on_value)
        self.beside.addStretch(1)

    def show_value(self, value: Any) -> None:
        """Show ``value``."""
        self._is_whole = isinstance(value, int)
        self.spin.setValue(value * self._scale)

    def _on_value(self, shown: float) -> None:
        value = round(shown / self._scale, 6)
        self.commit(int(value) if self._is_whole else value)


class Text(Bound):
    """A line of text; counts when it is left, or with Return."""

    def __init__(self, settings: Settings, key: str, parent: QWidget | None = None) -> None:
        self.edit = QLineEdit()
        super().__init__(settings, key, self.edit, parent)
        self._shown = ""
        self.edit.editingFinished.connect(self._on_finished)

    def show_value(self, value: Any) -> None:
        """Show ``value``; what is being typed stays."""
        text = "" if value is None else str(value)
        if text != self._shown or not self.edit.hasFocus():
            self._shown = text
            self.edit.setText(text)

    def value_of(self, text: str) -> Any:
        """Return what ``text`` stands for."""
        return text.strip()

    def _on_finished(self) -> None:
        if self.edit.text() != self._shown and self.commit(self.value_of(self.edit.text())):
            self._shown = self.edit.text()


class OptionalNumber(Text):
    """A whole number, or nothing."""

    def value_of(self, text: str) -> Any:
        """Return what ``text`` stands for; the settings say what is wrong with it."""
        return text.strip() or None


class Paragraph(Bound):
    """A few lines of text; counts when it is left."""

    def __init__(self, settings: Settings, key: str, lines: int, parent: QWidget | None = None) -> None:
        self.lines = Lines(lines)
        super().__init__(settings, key, self.lines, parent)
        self._shown = ""
        self.lines.left.connect(self._on_left)

    def show_value(self, value: Any) -> None:
        """Show ``value``; what is being typed stays."""
        if value != self._shown or not self.lines.hasFocus():
            self._shown = value
            self.lines.show_text(value)

    def _on_left(self) -> None:
        if self.lines.toPlainText() != self._shown and self.commit(self.lines.toPlainText()):
            self._shown = self.lines.toPlainText()


class Level(Bound):
    """A share of all, 0 to 1, as a slider; counts when it is let go."""

    def __init__(self, settings: Settings, key: str, parent: QWidget | None = None) -> None:
        self.slider = _Slider(Qt.Orientation.Horizontal)
        super().__init__(settings, key, self.slider, parent)
        self.slider.setRange(0, 100)
        self.slider.setPageStep(10)
        self.slider.setTracking(False)
        self.slider.setMinimumHeight(tokens.CONTROL)
        self.percent = QLabel()
        set_role(self.percent, "number")
        self.percent.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.percent.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self.beside.addWidget(self.percent)
        self.slider.valueChanged.connect(lambda at: self.commit(at / 100))
        self.slider.sliderMoved.connect(self._show_percent)
        self._show_percent(0)

    def show_value(self, value: Any) -> None:
        """Show ``value``, unless somebody is dragging it."""
        if not self.slider.isSliderDown():
            self.slider.setValue(round(value * 100))
            self._show_percent(round(value * 100))

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language."""
        if event.type() == QEvent.Type.LanguageChange:
            self._show_percent(self.slider.sliderPosition())
        super().changeEvent(event)

    def _show_percent(self, at: int) -> None:
        widest, text = (self.tr("{0} %").format(number) for number in (100, at))
        self.percent.setMinimumWidth(self.percent.fontMetrics().horizontalAdvance(widest))
        self.percent.setText(text)


class _Spin(QDoubleSpinBox):
    """Leaves the wheel to the page unless it has the focus."""

    def __init__(self) -> None:
        super().__init__()
        self.setKeyboardTracking(False)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setGroupSeparatorShown(True)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to the page."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class _Slider(QSlider):
    """Leaves the wheel to the page unless it has the focus."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to the page."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()
