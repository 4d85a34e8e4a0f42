"""Items of a list that have a second, smaller line."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QIcon, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.gui.style import tokens
from app.gui.style.theme import theme

WHERE = Qt.ItemDataRole.UserRole
"""The role of the second line."""


class TwoLines(QStyledItemDelegate):
    """Paints an icon, a name, and where it is beneath it."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Paint what the style paints of an item, and two lines instead of its text."""
        self.initStyleOption(option, index)
        name, option.text = option.text, ""
        symbol, option.icon = index.data(Qt.ItemDataRole.DecorationRole), QIcon()
        widget = option.widget
        widget.style().drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, widget)
        inner = option.rect.adjusted(tokens.M, tokens.S, -tokens.M, -tokens.S)
        side = theme().scaled(tokens.ICON)
        symbol.paint(painter, QRect(inner.left(), inner.top(), side, inner.height()))
        lines = inner.adjusted(side + tokens.M, 0, 0, 0)
        colours = theme().colours
        at = lines.top()
        for text, step, colour in (
            (name, tokens.BODY, colours.text),
            (str(index.data(WHERE)), tokens.CAPTION, colours.text_muted),
        ):
            font = theme().font(step)
            metrics = QFontMetrics(font)
            painter.setFont(font)
            painter.setPen(QColor(colour))
            shown = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, lines.width())
            painter.drawText(lines.left(), at + metrics.ascent(), shown)
            at += metrics.height()

    def sizeHint(self, _option: QStyleOptionViewItem, _index: QModelIndex | QPersistentModelIndex) -> QSize:
        """Return room for both lines."""
        heights = (QFontMetrics(theme().font(step)).height() for step in (tokens.BODY, tokens.CAPTION))
        return QSize(0, sum(heights) + 2 * tokens.S)
