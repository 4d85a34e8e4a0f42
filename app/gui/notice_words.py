"""What the engine and the player tell, in the language of the window."""

from __future__ import annotations

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from app.engine.events import Notice

_CONTEXT = "Notice"
TEMPLATES = (
    # Of the player.
    QT_TRANSLATE_NOOP("Notice", "The text is cut after {0} characters."),
    QT_TRANSLATE_NOOP("Notice", "There is nothing to say in this text."),
    QT_TRANSLATE_NOOP("Notice", "The settings were changed: what was spoken is stopped."),
    QT_TRANSLATE_NOOP("Notice", "Still preparing: try again in a moment."),
    QT_TRANSLATE_NOOP("Notice", "The server has no voice {0}: its default voice speaks instead."),
    QT_TRANSLATE_NOOP("Notice", "Nearfield {0} can be had at {2}; this is {1}."),
    # Of the engine.
    QT_TRANSLATE_NOOP("Notice", "{0}; trying again"),
    QT_TRANSLATE_NOOP("Notice", "{0}"),
    QT_TRANSLATE_NOOP("Notice", "the server said: {0}"),
    QT_TRANSLATE_NOOP("Notice", "the server's stream is damaged: {0} ({1})"),
    QT_TRANSLATE_NOOP("Notice", "the recording stopped: {0}"),
    QT_TRANSLATE_NOOP(
        "Notice", "the decoder's sound was mended: {0} samples were no numbers, {1} beyond full scale"
    ),
    QT_TRANSLATE_NOOP("Notice", "the decoder left out {0} samples"),
    QT_TRANSLATE_NOOP("Notice", "{0} was asked for and is not there: {1} decodes, RTF {2}"),
    QT_TRANSLATE_NOOP("Notice", "this machine decodes slower than real time (RTF {0}): speech starts later"),
    QT_TRANSLATE_NOOP("Notice", "{0} is a dummy sink: nobody hears anything"),
)
"""Every template that there is; a test compares them with the code."""


def in_words(notice: Notice) -> str:
    """Return what ``notice`` says; what came as finished text, as errors do, stays as it is."""
    if not notice.template:
        return notice.text
    return QCoreApplication.translate(_CONTEXT, notice.template).format(*notice.values)
