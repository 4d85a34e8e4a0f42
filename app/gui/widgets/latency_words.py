"""The parts of the latency in words: their names, from which instant to which, and which is the slowest."""

from __future__ import annotations

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from app.desktop.figures import as_milliseconds
from app.desktop.latency import Hop, Numbers

_CONTEXT = "Latency"

_NAMES: dict[Hop, object] = {
    Hop.BEFORE: QT_TRANSLATE_NOOP("Latency", "Connect"),
    Hop.SERVER: QT_TRANSLATE_NOOP("Latency", "Server"),
    Hop.HOLD: QT_TRANSLATE_NOOP("Latency", "Hold"),
    Hop.DECODE: QT_TRANSLATE_NOOP("Latency", "Decode"),
    Hop.BEHIND: QT_TRANSLATE_NOOP("Latency", "Queue"),
    Hop.RING: QT_TRANSLATE_NOOP("Latency", "Ring"),
    Hop.DEVICE: QT_TRANSLATE_NOOP("Latency", "Device"),
    Hop.SILENCE: QT_TRANSLATE_NOOP("Latency", "Silence"),
}

_MEANINGS: dict[Hop, object] = {
    Hop.BEFORE: QT_TRANSLATE_NOOP(
        "Latency",
        "From your request to the moment the text was sent: connecting, mostly. Not part of the TTFA.",
    ),
    Hop.SERVER: QT_TRANSLATE_NOOP("Latency", "From the text sent to the first frame, or sound, received."),
    Hop.HOLD: QT_TRANSLATE_NOOP(
        "Latency", "From the first frame received to the moment the first chunk began to be decoded."
    ),
    Hop.DECODE: QT_TRANSLATE_NOOP(
        "Latency", "From the start to the end of decoding the first chunk; 0 if the server decodes."
    ),
    Hop.BEHIND: QT_TRANSLATE_NOOP(
        "Latency",
        "From the first sound ready to the end of what was heard before: waiting for its turn. "
        "0 if nothing was.",
    ),
    Hop.RING: QT_TRANSLATE_NOOP(
        "Latency",
        "From there to the moment the sound device asks for the first samples: mostly the start buffer "
        "filling.",
    ),
    Hop.DEVICE: QT_TRANSLATE_NOOP(
        "Latency", "From that moment to the first sample leaving the device, as the device reports it."
    ),
    Hop.SILENCE: QT_TRANSLATE_NOOP(
        "Latency",
        "From the first sample to the first one that can be heard, beyond -50 dBFS. Not part of the TTFA.",
    ),
}

_SLOWEST: dict[Hop, object] = {
    Hop.SERVER: QT_TRANSLATE_NOOP("Latency", "The server takes the longest: {0} of {1}."),
    Hop.HOLD: QT_TRANSLATE_NOOP("Latency", "Waiting to decode takes the longest: {0} of {1}."),
    Hop.DECODE: QT_TRANSLATE_NOOP("Latency", "Decoding takes the longest: {0} of {1}."),
    Hop.RING: QT_TRANSLATE_NOOP("Latency", "Filling the start buffer takes the longest: {0} of {1}."),
    Hop.DEVICE: QT_TRANSLATE_NOOP("Latency", "The sound device takes the longest: {0} of {1}."),
}


def name(hop: Hop) -> str:
    """Return the short name of ``hop``."""
    return _translated(_NAMES[hop])


def meaning(hop: Hop) -> str:
    """Say from which instant to which ``hop`` runs."""
    return _translated(_MEANINGS[hop])


def slowest_in_words(numbers: Numbers) -> str:
    """Say which hop took the most of the TTFA; empty before that is known."""
    hop = numbers.slowest()
    if hop is None or numbers.ttfa_s is None:
        return ""
    parts = as_milliseconds(numbers.hops()[hop]), as_milliseconds(numbers.ttfa_s)
    return _translated(_SLOWEST[hop]).format(*parts)


def _translated(text: object) -> str:
    # QT_TRANSLATE_NOOP returns its text, which Qt's stubs call an object.
    return QCoreApplication.translate(_CONTEXT, str(text))
