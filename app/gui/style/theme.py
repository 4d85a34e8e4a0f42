"""The look of the whole application: colours, text size, motion."""

from __future__ import annotations

import logging
from typing import Literal

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPalette
from PySide6.QtWidgets import QApplication

from app.gui.style.marks import Marks
from app.gui.style.roles import tabular
from app.gui.style.sheet import style_sheet
from app.gui.style.tokens import DARK, LIGHT, Colours

log = logging.getLogger("nearfield.gui")

Choice = Literal["system", "light", "dark"]


class Theme(QObject):
    """What the window looks like now.

    Attributes:
        colours: the palette in use; what paints by itself reads it in ``paintEvent``.
        text_scale: how much larger text is than the desktop would have it.
        reduced_motion: whether things should appear in place rather than move there.

    Signals:
        changed: any of them did.

    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._colours = LIGHT
        self._choice: Choice = "system"
        self._base_points: float | None = None
        self._follows_system = False
        self._marks = Marks()
        self.text_scale = 1.0
        self.reduced_motion = False

    @property
    def colours(self) -> Colours:
        """The palette in use."""
        return self._colours

    @property
    def choice(self) -> Choice:
        """What was asked for; the palette of ``system`` is the desktop's."""
        return self._choice

    def apply(
        self,
        app: QApplication,
        theme: Choice = "system",
        text_scale: float = 1.0,
        reduced_motion: bool = False,
    ) -> None:
        """Give ``app`` this look, now and, if ``theme`` is ``system``, whenever the desktop changes.

        A desktop that asks for less motion gets it, whatever ``reduced_motion`` says.
        """
        if self._base_points is None:
            # Fusion looks the same everywhere and takes all of its colours from the palette.
            app.setStyle("Fusion")
            self._base_points = _points(app.font())
        if not self._follows_system:
            self._follows_system = True
            app.styleHints().colorSchemeChanged.connect(self._on_desktop_change)
        self._choice = theme
        self.text_scale = text_scale
        self.reduced_motion = reduced_motion or _desktop_reduces_motion(app)
        # Title bars and native dialogs are drawn by the desktop: it is told too.
        scheme = {"light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark}.get(
            theme, Qt.ColorScheme.Unknown
        )
        app.styleHints().setColorScheme(scheme)
        self._dress(app)

    def points(self, step: float) -> float:
        """Return the point size of a ``step`` of the type scale (``tokens.CAPTION`` and so on)."""
        base = self._base_points
        if base is None:
            base = _points(QApplication.font())
        return base * self.text_scale * step

    def font(self, step: float, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
        """Return a font for what paints text itself; its figures are all as wide as each other."""
        font = tabular(QApplication.font())
        font.setPointSizeF(self.points(step))
        font.setWeight(weight)
        return font

    def scaled(self, pixels: float) -> int:
        """Return a length that grows with the text."""
        return round(pixels * self.text_scale)

    def _on_desktop_change(self) -> None:
        app = QApplication.instance()
        if self._choice == "system" and isinstance(app, QApplication):
            self._dress(app)

    def _dress(self, app: QApplication) -> None:
        self._colours = self._wanted(app)
        font = app.font()
        font.setPointSizeF(self.points(1.0))
        app.setFont(font)
        app.setPalette(palette_of(self._colours))
        app.setStyleSheet(
            style_sheet(self._colours, self.points, self.scaled, self._marks.drawn(self._colours))
        )
        self.changed.emit()

    def _wanted(self, app: QApplication) -> Colours:
        match self._choice:
            case "light":
                return LIGHT
            case "dark":
                return DARK
        return DARK if app.styleHints().colorScheme() is Qt.ColorScheme.Dark else LIGHT


_theme: Theme | None = None


def theme() -> Theme:
    """Return the application's one theme, made when it is first asked for."""
    global _theme
    if _theme is None:
        _theme = Theme()
    return _theme


def palette_of(colours: Colours) -> QPalette:
    """Return ``colours`` as what Qt's own widgets and dialogs ask for."""
    role = QPalette.ColorRole
    palette = QPalette()
    for each, value in {
        role.Window: colours.window,
        role.WindowText: colours.text,
        role.Base: colours.surface,
        role.AlternateBase: colours.window,
        role.Text: colours.text,
        role.PlaceholderText: colours.text_muted,
        role.Button: colours.surface,
        role.ButtonText: colours.text,
        role.BrightText: colours.danger,
        role.ToolTipBase: colours.raised,
        role.ToolTipText: colours.text,
        role.Highlight: colours.selection,
        role.HighlightedText: colours.selection_text,
        role.Accent: colours.accent,
        role.Link: colours.accent,
        role.LinkVisited: colours.accent,
        role.Light: colours.raised,
        role.Midlight: colours.hover,
        role.Mid: colours.border,
        role.Dark: colours.border_strong,
        role.Shadow: colours.border_strong,
    }.items():
        palette.setColor(each, QColor(value))
    for each in (role.WindowText, role.Text, role.ButtonText, role.HighlightedText):
        palette.setColor(QPalette.ColorGroup.Disabled, each, QColor(colours.text_disabled))
    palette.setColor(QPalette.ColorGroup.Disabled, role.Highlight, QColor(colours.track))
    return palette


def _desktop_reduces_motion(app: QApplication) -> bool:
    # Qt tells since 6.12; with an older one, only the setting does.
    style = app.styleHints()  # held: PySide ends what was got from it with its wrapper
    hints = getattr(style, "accessibility", lambda: None)()
    preference = getattr(hints, "motionPreference", None)
    return preference is not None and preference().name == "ReducedMotion"


def _points(font: QFont) -> float:
    if font.pointSizeF() > 0:
        return font.pointSizeF()
    # A desktop that gives its font in pixels: Qt counts 96 of them to an inch where it is not told better.
    return font.pixelSize() * 72.0 / 96.0
