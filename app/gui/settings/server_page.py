"""The servers that the window knows, and which of them it uses."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.config import DEMO, Config
from app.desktop.profiles import saved_profile
from app.desktop.secrets import Secrets
from app.desktop.settings import Settings
from app.errors import NearfieldError
from app.gui.settings.page import Page
from app.gui.settings.profile_form import ProfileForm
from app.gui.settings.services import Services
from app.gui.settings.two_lines import WHERE, TwoLines
from app.gui.style import tokens
from app.gui.style.icons import icon
from app.gui.style.roles import set_role
from app.gui.style.theme import theme
from app.gui.widgets.remark import Remark

_NAME = Qt.ItemDataRole.UserRole + 1
_LEAST_ROWS, _MOST_ROWS = 3, 7


class ServerPage(Page):
    """A list of servers, what can be done with the one that is selected, and a form to change it."""

    def __init__(
        self, settings: Settings, secrets: Secrets, services: Services, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._settings = settings
        self._secrets = secrets
        self._services = services
        self._selected = ""
        self.about = self.add_text()
        self.given = Remark("warning")
        self.list = QListWidget()
        self.heading = QLabel()
        self.heading.setBuddy(self.list)
        set_role(self.heading, "section")
        self.use = QPushButton(icon("check"), "")
        self.change = QPushButton(icon("edit"), "")
        self.remove = QPushButton(icon("delete"), "")
        self.new = QPushButton(icon("plus"), "")
        self.remark = Remark()
        self.question = _Question()
        self.form = ProfileForm(secrets, services)
        self._overview = self.add(self._arranged())
        self.add(self.form)
        self.form.hide()
        self._connect()
        self.finish()
        end = services.profiles.subscribe(self._fill)
        self.destroyed.connect(lambda: end())
        self._fill()

    def show_config(self, config: Config) -> None:
        """Show what is in force."""
        super().show_config(config)
        self._fill()

    def retranslate(self) -> None:
        """Set all texts."""
        self.title.setText(self.tr("Server"))
        self.about.setText(
            self.tr(
                "Where the words become speech. The demo is built in; a server of your own brings its voices."
                " Commands in a terminal use the last one that was chosen here."
            )
        )
        self.heading.setText(self.tr("Servers"))
        self.list.setAccessibleName(self.tr("Servers"))
        self.use.setText(self.tr("&Use"))
        self.change.setText(self.tr("&Change…"))
        self.remove.setText(self.tr("&Remove"))
        self.new.setText(self.tr("&New server…"))
        self._fill()

    # -- the list ------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Show the profiles as they are; what is selected stays so."""
        profiles = self._services.profiles
        current = profiles.current
        wanted = self._selected or current or DEMO
        self.list.blockSignals(True)
        self.list.clear()
        self._add(DEMO, self.tr("Demo"), self.tr("built in, needs no network"), current == DEMO)
        for profile in profiles.saved:
            self._add(profile.name, profile.name, profile.url, current == profile.name)
        names = [DEMO, *(profile.name for profile in profiles.saved)]
        self.list.setCurrentRow(names.index(wanted) if wanted in names else 0)
        self.list.blockSignals(False)
        self._fit()
        self._show_given(current)
        self._on_select()

    def _add(self, name: str, title: str, where: str, is_used: bool) -> None:
        text = self.tr("{0} (in use)").format(title) if is_used else title
        item = QListWidgetItem(text)
        item.setData(WHERE, where)
        item.setData(_NAME, name)
        item.setIcon(icon("check", "accent") if is_used else icon("server", "text_muted"))
        item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{text}, {where}")
        self.list.addItem(item)

    def _fit(self) -> None:
        """Make the list as high as what is in it, within reason."""
        rows = max(_LEAST_ROWS, min(_MOST_ROWS, self.list.count()))
        self.list.setFixedHeight(rows * self.list.sizeHintForRow(0) + 2 * self.list.frameWidth() + tokens.XS)

    def _show_given(self, current: str) -> None:
        if current:
            self.given.show_text("")
            return
        address = self._services.profiles.server()[1].url
        text = self.tr("This start uses {0}, as it was given. Choosing a server here ends that.")
        self.given.show_text(text.format(address), "warning")

    def _name(self) -> str:
        item = self.list.currentItem()
        return str(item.data(_NAME)) if item is not None else DEMO

    def _on_select(self) -> None:
        self._selected = self._name()
        is_saved = self._selected != DEMO
        self.use.setEnabled(self._selected != self._services.profiles.current)
        self.change.setEnabled(is_saved)
        self.remove.setEnabled(is_saved)
        self.question.hide()

    # -- what is done with one -----------------------------------------------------------------------------

    def _connect(self) -> None:
        self.list.currentRowChanged.connect(lambda _: self._on_select())
        self.list.itemActivated.connect(lambda _: self._on_use())
        self.use.clicked.connect(self._on_use)
        self.new.clicked.connect(lambda: self._open_form(is_new=True))
        self.change.clicked.connect(lambda: self._open_form(is_new=False))
        self.remove.clicked.connect(self._on_remove)
        self.question.yes.clicked.connect(self._on_remove_surely)
        self.question.no.clicked.connect(self._on_keep)
        self.form.left.connect(self._close_form)
        self.form.saved.connect(self._on_saved)

    def _on_use(self) -> None:
        self._do(self._services.profiles.choose(self._name()))

    def _on_remove(self) -> None:
        self.question.ask(self._name())

    def _on_remove_surely(self) -> None:
        name, self._selected = self._name(), ""
        self.question.hide()
        self._do(self._services.profiles.remove(name))
        self.list.setFocus()

    def _on_keep(self) -> None:
        self.question.hide()
        self.remove.setFocus()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        self._services.tasks.spawn(self._done(work))

    async def _done(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except NearfieldError as error:
            self.remark.show_text(str(error), "danger")
        else:
            self.remark.show_text(self._secrets.problem, "warning")

    def _open_form(self, *, is_new: bool) -> None:
        profile = None if is_new else saved_profile(self._settings.effective, self._name())
        for part in (self.title, self.about, self._overview):
            part.hide()
        self.form.show()
        self.form.edit(profile)
        self.verticalScrollBar().setValue(0)

    def _close_form(self) -> None:
        self.form.hide()
        for part in (self.title, self.about, self._overview):
            part.show()
        self.list.setFocus()

    def _on_saved(self, name: str, problem: str) -> None:
        self._selected = name
        self.remark.show_text(problem, "warning")
        self._close_form()
        self._fill()

    def _arranged(self) -> QWidget:
        self.list.setItemDelegate(TwoLines(self.list))
        self.list.setIconSize(QSize(tokens.ICON, tokens.ICON))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        theme().changed.connect(self._fit)
        buttons = QHBoxLayout()
        buttons.setSpacing(tokens.S)
        for button in (self.use, self.change, self.remove):
            buttons.addWidget(button)
        buttons.addStretch(1)
        head = QHBoxLayout()
        head.addWidget(self.heading)
        head.addStretch(1)
        head.addWidget(self.new)
        overview = QWidget()
        column = QVBoxLayout(overview)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(tokens.S)
        column.addLayout(head)
        column.addWidget(self.given)
        column.addWidget(self.list)
        column.addLayout(buttons)
        column.addWidget(self.question)
        column.addWidget(self.remark)
        return overview


class _Question(QFrame):
    """Asks once, in the page, before something is lost."""

    def __init__(self) -> None:
        super().__init__()
        set_role(self, "card")
        self._name = ""
        self._text = QLabel()
        self._text.setWordWrap(True)
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self.yes = QPushButton()
        set_role(self.yes, "danger")
        self.no = QPushButton()
        row = QHBoxLayout(self)
        row.setContentsMargins(tokens.M, tokens.S, tokens.S, tokens.S)
        row.addWidget(self._text, 1)
        row.addWidget(self.yes)
        row.addWidget(self.no)
        self.hide()

    def ask(self, name: str) -> None:
        """Ask about the server of this name."""
        self._text.setText(self.tr("Remove {0} and its key?").format(name))
        self.yes.setText(self.tr("Remove"))
        self.yes.setAccessibleName(self.tr("Remove {0}").format(name))
        self.no.setText(self.tr("Keep"))
        self.no.setAccessibleName(self.tr("Keep {0}").format(name))
        self.show()
        self.no.setFocus()
