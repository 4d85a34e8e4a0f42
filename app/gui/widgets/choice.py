"""A combo box for forms that scroll."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QStandardItemModel, QWheelEvent
from PySide6.QtWidgets import QComboBox, QSizePolicy, QWidget


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
