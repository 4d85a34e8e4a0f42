"""How an entry of the history looks: two lines of its text, and what is known of it below."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPen, QTextLayout, QTextOption
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.desktop.history import Entry
from app.gui.history.model import ENTRY, HEARD, utc_now
from app.gui.history.words import age, facts
from app.gui.style import tokens
from app.gui.style.icons import icon
from app.gui.style.theme import theme

LINES = 2
_PAD = tokens.S
_GAP = tokens.XS


class EntryDelegate(QStyledItemDelegate):
    """Paints entries, all as high as each other."""

    def __init__(
        self, parent: QObject | None = None, clock: Callable[[], datetime.datetime] = utc_now
    ) -> None:
        super().__init__(parent)
        self._clock = clock
        self._playing = icon("play", "accent")

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        """Return a height that holds two lines and one."""
        text = QFontMetrics(theme().font(tokens.BODY)).lineSpacing()
        caption = QFontMetrics(theme().font(tokens.CAPTION)).lineSpacing()
        return QSize(0, LINES * text + _GAP + caption + 2 * _PAD)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Paint one."""
        entry: Entry = index.data(ENTRY)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_ground(painter, option)
        inside: QRect = option.rect.adjusted(_PAD + _GAP, 0, -_PAD - _GAP, 0)
        body, caption = theme().font(tokens.BODY), theme().font(tokens.CAPTION)
        layout = self._layout(entry, inside.width(), option)
        caption_height = QFontMetrics(caption).lineSpacing()
        height = layout.boundingRect().height() + _GAP + caption_height
        top = inside.top() + (inside.height() - height) / 2
        painter.setFont(body)
        painter.setPen(QColor(theme().colours.text))
        layout.draw(painter, QPointF(inside.left(), top))
        line = QRect(inside.left(), round(top + height - caption_height), inside.width(), caption_height)
        painter.setFont(caption)
        self._paint_facts(painter, line, entry, bool(index.data(HEARD)), option.direction)
        painter.restore()

    def _paint_ground(self, painter: QPainter, option: QStyleOptionViewItem) -> None:
        colours = theme().colours
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        is_hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        inset = tokens.RING / 2 + 1
        box = QRectF(option.rect).adjusted(inset, inset, -inset, -inset)
        has_focus = bool(option.state & QStyle.StateFlag.State_HasFocus)
        painter.setPen(QPen(QColor(colours.accent), tokens.RING) if has_focus else Qt.PenStyle.NoPen)
        if is_selected:
            painter.setBrush(QColor(colours.accent_soft))
        elif is_hovered:
            painter.setBrush(QColor(colours.hover))
        else:
            painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box, tokens.RADIUS_SMALL, tokens.RADIUS_SMALL)

    def _layout(self, entry: Entry, width: int, option: QStyleOptionViewItem) -> QTextLayout:
        """Break the beginning of the text into two lines, the second cut with an ellipsis."""
        font = theme().font(tokens.BODY)
        text = " ".join(entry.text[:1000].split()) or self.tr("Recording without a text")
        wrap = QTextOption()
        wrap.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        wrap.setTextDirection(option.direction)
        layout = _broken(QTextLayout(text, font), wrap, width)
        if layout.lineCount() > LINES:
            start = layout.lineAt(LINES - 1).textStart()
            last = QFontMetrics(font).elidedText(text[start:], Qt.TextElideMode.ElideRight, width)
            layout = _broken(QTextLayout(text[:start] + last, font), wrap, width)
        return layout

    def _paint_facts(
        self, painter: QPainter, line: QRect, entry: Entry, is_heard: bool, direction: Qt.LayoutDirection
    ) -> None:
        metrics = painter.fontMetrics()
        colours = theme().colours
        when = age(entry.made_at, self._clock())
        when_width = metrics.horizontalAdvance(when)
        is_mirrored = direction is Qt.LayoutDirection.RightToLeft
        start, end = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight
        if is_mirrored:
            start, end = end, start
        rest = line.width() - when_width - tokens.S
        if is_heard:
            side = line.height()
            left = line.right() - side if is_mirrored else line.left()
            self._playing.paint(painter, QRect(left, line.top(), side, side))
            rest -= side + _GAP
        box = QRect(line)
        if is_mirrored:
            box.setRight(line.left() + when_width + tokens.S + rest)
        else:
            box.setLeft(line.right() - when_width - tokens.S - rest)
        painter.setPen(QColor(colours.text_muted))
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(line, end | middle, when)
        said = metrics.elidedText(facts(entry), Qt.TextElideMode.ElideRight, rest)
        painter.drawText(box, start | middle, said)


def _broken(layout: QTextLayout, wrap: QTextOption, width: int) -> QTextLayout:
    """Lay out up to one line more than fits."""
    layout.setTextOption(wrap)
    layout.beginLayout()
    top = 0.0
    while layout.lineCount() <= LINES:
        line = layout.createLine()
        if not line.isValid():
            break
        line.setLineWidth(width)
        line.setPosition(QPointF(0, top))
        top += line.height()
    layout.endLayout()
    return layout
