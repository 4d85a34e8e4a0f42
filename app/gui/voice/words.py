"""What tasks, languages and faults are called in the window."""

from __future__ import annotations

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from app.desktop.cloning import NameFault
from app.desktop.voices import Fault, FaultKind
from app.engine.reference import Unfit

_CONTEXT = "VoiceWords"

_TASKS = {
    "CustomVoice": QT_TRANSLATE_NOOP("VoiceWords", "A speaker"),
    "VoiceDesign": QT_TRANSLATE_NOOP("VoiceWords", "Described in words"),
    "Base": QT_TRANSLATE_NOOP("VoiceWords", "Cloned from a recording"),
}
_TASK_HINTS = {
    "CustomVoice": QT_TRANSLATE_NOOP("VoiceWords", "One of the voices built into the server's model."),
    "VoiceDesign": QT_TRANSLATE_NOOP("VoiceWords", "A new voice, made after your description."),
    "Base": QT_TRANSLATE_NOOP("VoiceWords", "The voice of a recording, with its speaker's consent."),
}
_LANGUAGES = {
    "Auto": QT_TRANSLATE_NOOP("VoiceWords", "Automatic"),
    "Chinese": QT_TRANSLATE_NOOP("VoiceWords", "Chinese"),
    "English": QT_TRANSLATE_NOOP("VoiceWords", "English"),
    "Japanese": QT_TRANSLATE_NOOP("VoiceWords", "Japanese"),
    "Korean": QT_TRANSLATE_NOOP("VoiceWords", "Korean"),
    "German": QT_TRANSLATE_NOOP("VoiceWords", "German"),
    "French": QT_TRANSLATE_NOOP("VoiceWords", "French"),
    "Russian": QT_TRANSLATE_NOOP("VoiceWords", "Russian"),
    "Portuguese": QT_TRANSLATE_NOOP("VoiceWords", "Portuguese"),
    "Spanish": QT_TRANSLATE_NOOP("VoiceWords", "Spanish"),
    "Italian": QT_TRANSLATE_NOOP("VoiceWords", "Italian"),
}
_FAULTS = {
    FaultKind.INSTRUCTIONS_MISSING: QT_TRANSLATE_NOOP("VoiceWords", "Describe the voice that shall be made."),
    FaultKind.INSTRUCTIONS_TOO_LONG: QT_TRANSLATE_NOOP(
        "VoiceWords", "That is more than a server takes: shorten it to 500 characters."
    ),
    FaultKind.VOICE_MISSING: QT_TRANSLATE_NOOP(
        "VoiceWords", "Choose an uploaded voice, or clone one from a recording."
    ),
    FaultKind.VOICE_GONE: QT_TRANSLATE_NOOP(
        "VoiceWords", "The server does not have this voice: choose another one."
    ),
    FaultKind.RECORDING_MISSING: QT_TRANSLATE_NOOP("VoiceWords", "Choose a recording of 1 to 30 seconds."),
    FaultKind.TEXT_MISSING: QT_TRANSLATE_NOOP(
        "VoiceWords", "Write down what is said in the recording, or clone the timbre only."
    ),
    FaultKind.CONSENT_MISSING: QT_TRANSLATE_NOOP(
        "VoiceWords", "Without the speaker's consent no voice is cloned."
    ),
}
_UNFIT = {
    Unfit.UNREADABLE: QT_TRANSLATE_NOOP("VoiceWords", "The file cannot be read."),
    Unfit.NO_WAV: QT_TRANSLATE_NOOP(
        "VoiceWords", "This is no WAV file that can be used: save the recording as 16-bit WAV."
    ),
    Unfit.TOO_SHORT: QT_TRANSLATE_NOOP("VoiceWords", "The recording is too short: 1 second is the least."),
    Unfit.TOO_LONG: QT_TRANSLATE_NOOP(
        "VoiceWords", "The recording is too long: cut it to 30 seconds or less."
    ),
    Unfit.TOO_LARGE: QT_TRANSLATE_NOOP(
        "VoiceWords", "The recording is too large: make it mono with 24 kHz, or cut it."
    ),
}
_NAMES = {
    NameFault.MISSING: QT_TRANSLATE_NOOP("VoiceWords", "Give the voice a name."),
    NameFault.TOO_LONG: QT_TRANSLATE_NOOP("VoiceWords", "The name is too long: 64 characters are the most."),
    NameFault.BAD_CHARACTER: QT_TRANSLATE_NOOP("VoiceWords", "A name has letters or digits, and no slashes."),
    NameFault.TAKEN: QT_TRANSLATE_NOOP("VoiceWords", "The server already has a voice of that name."),
}


def task_name(task: str) -> str:
    """Return what ``task`` is called."""
    return _shown(_TASKS[task])


def task_hint(task: str) -> str:
    """Return what ``task`` is."""
    return _shown(_TASK_HINTS[task])


def language_name(language: str) -> str:
    """Return what ``language`` is called."""
    return _shown(_LANGUAGES[language])


def fault_text(fault: Fault | None) -> str:
    """Return what is wrong and what to do; empty for nothing."""
    if fault is None:
        return ""
    if fault.unfit is not None:
        return unfit_text(fault.unfit)
    return _shown(_FAULTS[fault.kind]) if fault.kind in _FAULTS else fault.text


def unfit_text(unfit: Unfit) -> str:
    """Return why a recording cannot be used, and what to do."""
    return _shown(_UNFIT[unfit])


def name_text(fault: NameFault | None) -> str:
    """Return why a name cannot be given; empty if it can."""
    return "" if fault is None else _shown(_NAMES[fault])


def speaker_name(name: str) -> str:
    """Return the name of a built-in speaker as it is shown: ``uncle_fu`` as Uncle Fu."""
    return name.replace("_", " ").title()


def _shown(text: object) -> str:
    return QCoreApplication.translate(_CONTEXT, str(text))
