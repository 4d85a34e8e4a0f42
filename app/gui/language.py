"""The language of the window: English in the source, others from translation files, changed while it runs."""

from __future__ import annotations

import logging
from pathlib import Path

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QLibraryInfo, QLocale, QTranslator

import assets

log = logging.getLogger("nearfield.gui")

SOURCE = "en"
LANGUAGES = {"en": "English", "zh_CN": "简体中文"}
"""Code and the language's own name for itself; in the order of a menu."""

_OF_QT = (
    QT_TRANSLATE_NOOP("QShortcut", "Enter"),
    QT_TRANSLATE_NOOP("QShortcut", "Return"),
    QT_TRANSLATE_NOOP("QShortcut", "Left"),
    QT_TRANSLATE_NOOP("QShortcut", "Right"),
    QT_TRANSLATE_NOOP("QWidgetTextControl", "&Undo"),
    QT_TRANSLATE_NOOP("QLineEdit", "&Undo"),
    QT_TRANSLATE_NOOP("QFileDialog", "&Look in:"),
    QT_TRANSLATE_NOOP("QFileDialog", "Files of &type:"),
)
"""Texts of Qt that are translated here once more: its own translations lack them, or use other words."""


def choose_language(wanted: str, of_the_desktop: list[str]) -> str:
    """Return the language to show: the ``wanted`` one, or without one the desktop's first that we have."""
    for name in [wanted] if wanted else of_the_desktop:
        normal = name.replace("-", "_")
        for code in LANGUAGES:
            # zh_Hans_CN and zh_SG are read by who reads zh_CN; Traditional Chinese is another script.
            if normal == code or normal.split("_")[0] == code.split("_")[0]:
                if code == "zh_CN" and ("Hant" in normal or normal[-2:] in ("TW", "HK", "MO")):
                    continue
                return code
    return SOURCE


class Language:
    """Installs translations in the application; widgets learn of it through ``LanguageChange``."""

    def __init__(self, app: QCoreApplication, folder: Path | None = None) -> None:
        self._app = app
        self._folder = folder or assets.folder("translations")
        self._installed: list[QTranslator] = []
        self.code = SOURCE

    def show(self, wanted: str = "") -> None:
        """Change to the language with this code; empty: the desktop's."""
        code = choose_language(wanted, QLocale.system().uiLanguages())
        if code == self.code:
            return
        for translator in self._installed:
            self._app.removeTranslator(translator)
        self._installed = []
        self.code = code
        QLocale.setDefault(QLocale(code) if wanted else QLocale.system())
        if code == SOURCE:
            return
        # Qt's own texts first: a translator that is installed later is asked earlier.
        for file, folder in (
            (f"qtbase_{code}", Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath))),
            (f"nearfield_{code}", self._folder),
        ):
            translator = QTranslator(self._app)
            if translator.load(file, str(folder)):
                self._app.installTranslator(translator)
                self._installed.append(translator)
            else:
                log.warning("no translation %s in %s", file, folder)
