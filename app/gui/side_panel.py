"""Places for panels around the text, which scroll where there is too little room."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from app.gui.style import tokens
from app.gui.style.theme import theme

WIDTH = 320


class SidePanel(QScrollArea):
    """A column of panels, one below the other: shows those whose action is checked, and itself with them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown_by: list[QAction] = []
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # What is inside has the focus; the frame around it would be one stop more for nothing.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._inside = QWidget()
        self._column = QVBoxLayout(self._inside)
        self._column.setContentsMargins(0, 0, tokens.S, 0)
        self._column.setSpacing(tokens.M)
        self._column.addStretch()
        self.setWidget(self._inside)

    def add(self, panel: QWidget, shown_by: QAction, *, fills: bool = False) -> None:
        """Put ``panel`` below the others; it is shown while ``shown_by`` is checked.

        One that ``fills`` takes all the height that the others leave.
        """
        self._shown_by.append(shown_by)
        self._column.insertWidget(self._column.count() - 1, panel, 100 if fills else 0)
        panel.setVisible(shown_by.isChecked())
        shown_by.toggled.connect(panel.setVisible)
        shown_by.toggled.connect(self._on_toggle)
        self._on_toggle()

    def sizeHint(self) -> QSize:
        """Be as wide as its panels want to be."""
        return QSize(max(theme().scaled(WIDTH), self._inside.minimumSizeHint().width() + tokens.M), 400)

    def minimumSizeHint(self) -> QSize:
        """Never be so narrow that something of a panel is hidden."""
        return QSize(self._inside.minimumSizeHint().width() + tokens.M, 0)

    def _on_toggle(self) -> None:
        self.setVisible(any(action.isChecked() for action in self._shown_by))


class LowPanel(QScrollArea):
    """A row below the text for one panel, which scrolls rather than take the text's room."""

    LEAST = 80
    SHARE = 0.36
    """Of the window's height, at most."""

    def __init__(self, panel: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        # The panel lays itself out anew in any width; as it lies now, it must not ask for one.
        panel.setMinimumWidth(1)
        self._panel = panel
        self.setViewportMargins(0, 0, tokens.S, 0)
        self.setWidget(panel)

    def sizeHint(self) -> QSize:
        """Be as high as the panel wants to be in this width, but leave most of the window to the text."""
        most = max(self.LEAST, int(self.SHARE * self.window().height()))
        return QSize(WIDTH, min(self._panel.sizeHint().height(), most))

    def minimumSizeHint(self) -> QSize:
        """Scroll, rather than push the text away."""
        return QSize(0, min(self.LEAST, self.sizeHint().height()))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the panel when it comes to want another height."""
        if event.type() is QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)
