"""Keeps what is heard in view, without taking the text out of the hands of who reads or writes elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QAbstractAnimation, QEasingCurve, QObject, QPropertyAnimation
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QTextEdit

from app.gui.style.theme import theme

LEFT_ALONE_S = 6.0
"""How long a person who scrolled, wrote or moved the caret is left alone."""
MOVE_MS = 240
_AHEAD = 0.3
"""Where a new place comes to lie: so far below the top of the view, as a part of its height."""
_COMFORT = 0.85
"""As long as it ends above this part of the view, nothing is scrolled."""


class Following(QObject):
    """Scrolls ``editor`` to what is heard; at once where motion is to be reduced."""

    def __init__(self, editor: QTextEdit, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(editor)
        self._editor = editor
        self._clock = clock
        self._touched_s = float("-inf")
        self._motion = QPropertyAnimation(editor.verticalScrollBar(), b"value", self)
        self._motion.setDuration(MOVE_MS)
        self._motion.setEasingCurve(QEasingCurve.Type.OutCubic)
        editor.verticalScrollBar().actionTriggered.connect(self.touched)

    @property
    def is_left_alone(self) -> bool:
        """Whether a person did something in the text a moment ago."""
        return self._clock() - self._touched_s < LEFT_ALONE_S

    def touched(self) -> None:
        """Note that a person does something in the text now."""
        self._touched_s = self._clock()
        self._motion.stop()

    def show(self, start: int, end: int) -> None:
        """Bring the text from ``start`` to ``end`` (UTF-16) into view, unless somebody is busy elsewhere."""
        if self.is_left_alone or self._is_comfortable(start, end):
            return
        bar = self._editor.verticalScrollBar()
        top = bar.value() + self._editor.cursorRect(self._cursor(start)).top()
        goal = round(top - _AHEAD * self._editor.viewport().height())
        goal = max(bar.minimum(), min(goal, bar.maximum()))
        self._motion.stop()
        if theme().reduced_motion or not self._editor.isVisible():
            bar.setValue(goal)
        elif goal != bar.value():
            self._motion.setStartValue(bar.value())
            self._motion.setEndValue(goal)
            self._motion.start(QAbstractAnimation.DeletionPolicy.KeepWhenStopped)

    def _is_comfortable(self, start: int, end: int) -> bool:
        """Whether it is in view, with room below for what comes next; of a long text, its beginning."""
        height = self._editor.viewport().height()
        first = self._editor.cursorRect(self._cursor(start))
        last = self._editor.cursorRect(self._cursor(end))
        if first.top() < 0 or first.bottom() > height:
            return False
        bar = self._editor.verticalScrollBar()
        room = height if bar.value() == bar.maximum() else height * _COMFORT
        return last.bottom() <= room or first.top() <= height * _AHEAD

    def _cursor(self, position: int) -> QTextCursor:
        cursor = QTextCursor(self._editor.document())
        cursor.setPosition(position)
        return cursor
