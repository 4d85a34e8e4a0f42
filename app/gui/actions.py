"""Everything that can be asked of the window, with its name, its keys and its icon, in one place."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QObject
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar

from app.gui.mnemonics import without_mnemonic
from app.gui.style.icons import icon

_CONTEXT = "Actions"
Keys = QKeySequence.StandardKey | str


@dataclass(frozen=True)
class _Entry:
    """One action as it is declared."""

    name: str
    text: object
    """A string; Qt's marker for texts to translate says less of its type."""
    keys: tuple[Keys, ...] = ()
    icon: str = ""
    hint: object = ""
    """What it does, where its text does not say it all."""
    is_checkable: bool = False
    role: QAction.MenuRole = QAction.MenuRole.NoRole


_K = QKeySequence.StandardKey
_ENTRIES = (
    _Entry("open_text", QT_TRANSLATE_NOOP("Actions", "&Open text…"), (_K.Open,), "open"),
    _Entry(
        "save_audio",
        QT_TRANSLATE_NOOP("Actions", "&Save audio…"),
        (_K.Save,),
        "save",
        QT_TRANSLATE_NOOP("Actions", "Write the sound of this reading to a file"),
    ),
    _Entry(
        "quit",
        QT_TRANSLATE_NOOP("Actions", "&Quit"),
        (_K.Quit, "Ctrl+Q"),
        "quit",
        role=QAction.MenuRole.QuitRole,
    ),
    _Entry("undo", QT_TRANSLATE_NOOP("Actions", "&Undo"), (_K.Undo,)),
    _Entry("redo", QT_TRANSLATE_NOOP("Actions", "&Redo"), (_K.Redo,)),
    _Entry("cut", QT_TRANSLATE_NOOP("Actions", "Cu&t"), (_K.Cut,)),
    _Entry("copy", QT_TRANSLATE_NOOP("Actions", "&Copy"), (_K.Copy,), "copy"),
    _Entry("paste", QT_TRANSLATE_NOOP("Actions", "&Paste"), (_K.Paste,)),
    _Entry("select_all", QT_TRANSLATE_NOOP("Actions", "Select &all"), (_K.SelectAll,)),
    _Entry("clear", QT_TRANSLATE_NOOP("Actions", "C&lear text"), ("Ctrl+Shift+N",), "clear"),
    _Entry(
        "speak",
        QT_TRANSLATE_NOOP("Actions", "&Speak"),
        ("Ctrl+Enter", "Ctrl+Return"),
        "play",
        QT_TRANSLATE_NOOP("Actions", "Speak the text"),
    ),
    _Entry(
        "speak_selection",
        QT_TRANSLATE_NOOP("Actions", "Speak s&election"),
        ("Ctrl+Shift+Enter", "Ctrl+Shift+Return"),
    ),
    _Entry(
        "speak_clipboard",
        QT_TRANSLATE_NOOP("Actions", "Speak &clipboard"),
        ("Ctrl+Shift+C",),
        "clipboard",
    ),
    _Entry(
        "pause",
        QT_TRANSLATE_NOOP("Actions", "&Pause"),
        ("Ctrl+Shift+Space", "Media Play", "Media Pause", "Toggle Media Play/Pause"),
        "pause",
        QT_TRANSLATE_NOOP("Actions", "Hold the sound where it is"),
    ),
    _Entry(
        "stop",
        QT_TRANSLATE_NOOP("Actions", "S&top"),
        ("Esc", "Media Stop"),
        "stop",
        QT_TRANSLATE_NOOP("Actions", "Be silent at once"),
    ),
    _Entry("back", QT_TRANSLATE_NOOP("Actions", "&Back a sentence"), ("Alt+Left", "Media Previous")),
    _Entry("forward", QT_TRANSLATE_NOOP("Actions", "&Forward a sentence"), ("Alt+Right", "Media Next")),
    _Entry("history", QT_TRANSLATE_NOOP("Actions", "&History"), ("Ctrl+H",), "history", is_checkable=True),
    _Entry("voice", QT_TRANSLATE_NOOP("Actions", "&Voice"), ("Ctrl+D",), "user", is_checkable=True),
    _Entry("latency", QT_TRANSLATE_NOOP("Actions", "&Latency"), ("Ctrl+L",), "latency", is_checkable=True),
    _Entry("theme_system", QT_TRANSLATE_NOOP("Actions", "As the &desktop"), is_checkable=True),
    _Entry("theme_light", QT_TRANSLATE_NOOP("Actions", "&Light"), is_checkable=True),
    _Entry("theme_dark", QT_TRANSLATE_NOOP("Actions", "&Dark"), is_checkable=True),
    _Entry(
        "settings",
        QT_TRANSLATE_NOOP("Actions", "S&ettings…"),
        ("Ctrl+,",),
        "settings",
        role=QAction.MenuRole.PreferencesRole,
    ),
    _Entry("keys", QT_TRANSLATE_NOOP("Actions", "&Keyboard"), (_K.HelpContents,), "keyboard"),
    _Entry("report", QT_TRANSLATE_NOOP("Actions", "Copy &report"), (), "copy"),
    _Entry(
        "about", QT_TRANSLATE_NOOP("Actions", "&About Nearfield"), (), "info", role=QAction.MenuRole.AboutRole
    ),
    _Entry("show_window", QT_TRANSLATE_NOOP("Actions", "Show &window"), (), "window"),
)
_MENUS: tuple[tuple[object, tuple[str, ...]], ...] = (
    (QT_TRANSLATE_NOOP("Actions", "&File"), ("open_text", "save_audio", "", "settings", "", "quit")),
    (
        QT_TRANSLATE_NOOP("Actions", "&Edit"),
        ("undo", "redo", "", "cut", "copy", "paste", "select_all", "", "clear"),
    ),
    (
        QT_TRANSLATE_NOOP("Actions", "&Speech"),
        ("speak", "speak_selection", "speak_clipboard", "", "pause", "stop", "", "back", "forward"),
    ),
    (QT_TRANSLATE_NOOP("Actions", "&View"), ("history", "voice", "latency", "", "theme")),
    (QT_TRANSLATE_NOOP("Actions", "&Help"), ("keys", "report", "", "about")),
)
THEMES = ("system", "light", "dark")


class Actions(QObject):
    """The actions by name, ``actions["speak"]``; the window says what each does and when it can be done."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._actions: dict[str, QAction] = {}
        for entry in _ENTRIES:
            action = QAction(self)
            action.setObjectName(entry.name)
            action.setShortcuts(_sequences(entry.keys))
            action.setCheckable(entry.is_checkable)
            action.setMenuRole(entry.role)
            if entry.icon:
                action.setIcon(icon(entry.icon))
            self._actions[entry.name] = action
        self._menus: list[QMenu] = []
        self._theme_menu: QMenu | None = None
        themes = QActionGroup(self)
        for theme in THEMES:
            themes.addAction(self[f"theme_{theme}"])
        self["pause"].setEnabled(False)
        self["stop"].setEnabled(False)
        self.shows_resume = False
        self.retranslate()

    def __getitem__(self, name: str) -> QAction:
        return self._actions[name]

    def all(self) -> list[QAction]:
        """Return every action."""
        return list(self._actions.values())

    def fill(self, bar: QMenuBar) -> None:
        """Make the menus."""
        for _, names in _MENUS:
            menu = bar.addMenu("")
            self._menus.append(menu)
            for name in names:
                if name == "":
                    menu.addSeparator()
                elif name == "theme":
                    self._theme_menu = menu.addMenu("")
                    self._theme_menu.addActions([self[f"theme_{each}"] for each in THEMES])
                else:
                    menu.addAction(self[name])
        self.retranslate()

    def show_resume(self, resumes: bool) -> None:
        """Have the one action that holds the sound say that it goes on."""
        if resumes != self.shows_resume:
            self.shows_resume = resumes
            self._name_pause()

    def retranslate(self) -> None:
        """Say everything in the language of the moment."""
        for entry in _ENTRIES:
            self._name(self[entry.name], _tr(entry.text), _tr(entry.hint) if entry.hint else "")
        for menu, (title, _) in zip(self._menus, _MENUS, strict=True) if self._menus else ():
            menu.setTitle(_tr(title))
        if self._theme_menu is not None:
            self._theme_menu.setTitle(QCoreApplication.translate("Actions", "&Theme"))
        self._name_pause()

    def keys(self) -> list[tuple[str, str]]:
        """Return the name and the keys, as a person reads them, of every action that has keys."""
        return [
            (_plain(action.text()), action.shortcut().toString(QKeySequence.SequenceFormat.NativeText))
            for action in self.all()
            if not action.shortcut().isEmpty()
        ]

    def _name_pause(self) -> None:
        action = self["pause"]
        if self.shows_resume:
            text = QCoreApplication.translate("Actions", "&Resume")
            hint = QCoreApplication.translate("Actions", "Go on where the sound was held")
        else:
            text = QCoreApplication.translate("Actions", "&Pause")
            hint = QCoreApplication.translate("Actions", "Hold the sound where it is")
        self._name(action, text, hint)
        action.setIcon(icon("play" if self.shows_resume else "pause"))

    def _name(self, action: QAction, text: str, hint: str) -> None:
        action.setText(text)
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        said = hint or _plain(text)
        action.setToolTip(f"{said} ({keys})" if keys else said)
        action.setStatusTip("")


def _sequences(keys: tuple[Keys, ...]) -> list[QKeySequence]:
    """Return the sequences of all ``keys``, once each; a standard key that a platform lacks has none."""
    found: list[QKeySequence] = []
    for key in keys:
        of_key = [QKeySequence(key)] if isinstance(key, str) else QKeySequence.keyBindings(key)
        found.extend(sequence for sequence in of_key if sequence not in found)
    return found


def _plain(text: str) -> str:
    """Return a menu's text without its mnemonic and without the dots of what opens a dialog."""
    return without_mnemonic(text).rstrip("…")


def _tr(text: object) -> str:
    return QCoreApplication.translate(_CONTEXT, str(text))
