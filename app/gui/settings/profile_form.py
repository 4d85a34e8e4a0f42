"""A server to be saved: typed, tried, and kept under a name."""

from __future__ import annotations

from PySide6.QtCore import QT_TRANSLATE_NOOP, QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.config import Profile
from app.desktop.connection_check import Finding
from app.desktop.profile_rules import Fault, ProfileError
from app.desktop.secrets import Place, Secrets
from app.errors import NearfieldError
from app.gui.settings.rows import Row
from app.gui.settings.services import Services
from app.gui.style import tokens
from app.gui.style.icons import icon
from app.gui.style.roles import set_role
from app.gui.widgets.remark import Remark
from decoder.wire.events import Mode

_FAULTS = {
    Fault.NO_NAME: QT_TRANSLATE_NOOP("ProfileForm", "Give it a name."),
    Fault.LONG_NAME: QT_TRANSLATE_NOOP("ProfileForm", "The name is too long: 60 characters are the most."),
    Fault.NAME_TAKEN: QT_TRANSLATE_NOOP("ProfileForm", "Another server has this name."),
    Fault.ADDRESS: QT_TRANSLATE_NOOP(
        "ProfileForm", "This is not a server address; it should look like ws://192.168.1.20:8001."
    ),
    Fault.LOGIN: QT_TRANSLATE_NOOP(
        "ProfileForm", "Leave name and password out of the address: the key has a field of its own."
    ),
    Fault.KEY: QT_TRANSLATE_NOOP(
        "ProfileForm", "There are characters in it that no key has: is it the right one?"
    ),
    Fault.KEY_IN_CLEAR: QT_TRANSLATE_NOOP(
        "ProfileForm",
        "The key would travel unencrypted. Use an address with wss://, or allow it below.",
    ),
    Fault.CA_FILE: QT_TRANSLATE_NOOP("ProfileForm", "There is no such file."),
}
_FOUND = {
    Mode.CODEC: QT_TRANSLATE_NOOP(
        "ProfileForm", "Ready, in {0} ms: it sends codec tokens, which are decoded here."
    ),
    Mode.PCM: QT_TRANSLATE_NOOP(
        "ProfileForm", "Ready, in {0} ms: it decodes itself and sends finished sound."
    ),
    Mode.UNKNOWN: QT_TRANSLATE_NOOP(
        "ProfileForm", "Ready, in {0} ms. Who decodes shows with the first text."
    ),
}


class ProfileForm(QFrame):
    """The fields of a profile, new or saved.

    Signals:
        saved: the profile's name, and what went wrong with its key, if anything did.
        left: nothing was saved.

    """

    saved = Signal(str, str)
    left = Signal()

    def __init__(self, secrets: Secrets, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._secrets = secrets
        self._services = services
        self._old: Profile | None = None
        self._kept_key: str | None = None
        """The key as it is kept; ``None`` while it is not known, and then an empty field leaves it alone."""
        self._turn = 0
        self._finding: Finding | None = None
        self._place: Place | None = None
        self.title = QLabel()
        set_role(self.title, "title")
        self.name = Row(QLineEdit())
        self.url = Row(QLineEdit())
        self.key = Row(QLineEdit())
        self.show_key = QPushButton()
        self.show_key.setCheckable(True)
        self.ca_file = Row(QLineEdit())
        self.browse = QPushButton(icon("folder"), "")
        self.in_clear = Row(QCheckBox())
        self.test = QPushButton(icon("link"), "")
        self.result = Remark()
        self.save = QPushButton()
        self.cancel = QPushButton()
        self._arrange()
        self._connect()
        self._retranslate()

    def edit(self, profile: Profile | None) -> None:
        """Show ``profile`` to be changed; ``None``: a new one."""
        self._old = profile
        self._kept_key = "" if profile is None else None
        self._turn += 1
        shown = profile or Profile("", "")
        self._line(self.name).setText(shown.name)
        self._line(self.url).setText(shown.url)
        self._line(self.key).clear()
        self._line(self.ca_file).setText(shown.ca_file)
        self._box.setChecked(shown.allow_insecure_key)
        self.show_key.setChecked(False)
        self._forget_remarks()
        self._lock(False)
        self._retranslate()
        self._services.tasks.spawn(self._load_key(self._turn))
        self._line(self.name).setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape leaves the form, not the dialog; Return saves."""
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.save.isEnabled():
            self._on_save()
        else:
            super().keyPressEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    # -- what is typed -------------------------------------------------------------------------------------

    @property
    def _box(self) -> QCheckBox:
        assert isinstance(self.in_clear.control, QCheckBox)
        return self.in_clear.control

    @staticmethod
    def _line(row: Row) -> QLineEdit:
        assert isinstance(row.control, QLineEdit)
        return row.control

    def _typed(self) -> Profile:
        return Profile(
            self._line(self.name).text(),
            self._line(self.url).text(),
            self._line(self.ca_file).text(),
            self._box.isChecked(),
        )

    def _typed_key(self) -> str | None:
        """Return the key if it is another than the kept one."""
        key = self._line(self.key).text().strip()
        return None if key == (self._kept_key or "") else key

    async def _load_key(self, turn: int) -> None:
        place = await self._secrets.place()
        key, problem = "", ""
        if self._old is not None:
            key = await self._secrets.load(self._old.name)
            problem = self._secrets.problem
        if turn != self._turn:
            return
        self._place = place
        if not problem:
            self._kept_key = key
            if not self._line(self.key).text():
                self._line(self.key).setText(key)
        self.key.remark_on(problem, "warning")
        self._explain_key()

    # -- saving --------------------------------------------------------------------------------------------

    def _on_save(self) -> None:
        self._forget_remarks()
        self._lock(True)
        self._services.tasks.spawn(self._save(self._typed(), self._typed_key(), self._turn))

    async def _save(self, profile: Profile, key: str | None, turn: int) -> None:
        try:
            if self._old is None:
                saved = await self._services.profiles.add(profile, key or "")
            else:
                saved = await self._services.profiles.change(self._old.name, profile, key)
        except ProfileError as error:
            if turn == self._turn:
                self._show_fault(error)
        except NearfieldError as error:
            if turn == self._turn:
                self.result.show_text(str(error), "danger")
        else:
            if turn == self._turn:
                self.saved.emit(saved.name, self._secrets.problem if key else "")
        finally:
            if turn == self._turn:
                self._lock(False)

    def _show_fault(self, error: ProfileError) -> None:
        row = {
            Fault.ADDRESS: self.url,
            Fault.LOGIN: self.url,
            Fault.KEY: self.key,
            Fault.KEY_IN_CLEAR: self.key,
            Fault.CA_FILE: self.ca_file,
        }.get(error.fault, self.name)
        row.remark_on(self.tr(str(_FAULTS[error.fault])))
        row.control.setFocus()

    def _forget_remarks(self) -> None:
        for row in (self.name, self.url, self.key, self.ca_file):
            row.remark_on("")
        self._finding = None
        self.result.show_text("")

    def _lock(self, is_locked: bool) -> None:
        self.save.setEnabled(not is_locked)
        self.test.setEnabled(not is_locked)

    # -- trying --------------------------------------------------------------------------------------------

    def _on_test(self) -> None:
        self._forget_remarks()
        self.test.setEnabled(False)
        self.result.show_text(self.tr("Calling the server…"), "text_muted")
        key = self._line(self.key).text().strip()
        self._services.tasks.spawn(self._test(self._typed(), key, self._turn))

    async def _test(self, profile: Profile, key: str, turn: int) -> None:
        reason = ""
        try:
            self._finding = await self._services.test_connection(profile, key)
        except NearfieldError as error:
            self._finding, reason = None, str(error)
        finally:
            if turn == self._turn:
                self.test.setEnabled(True)
        if turn == self._turn:
            self.result.show_text(reason, "danger")
            self._show_finding()

    def _show_finding(self) -> None:
        if self._finding is not None:
            text = self.tr(str(_FOUND[self._finding.mode])).format(round(self._finding.took_s * 1000))
            self.result.show_text(text, "good")

    # -- looks ---------------------------------------------------------------------------------------------

    def _arrange(self) -> None:
        self._line(self.url).setPlaceholderText("wss://…")
        self._line(self.key).setEchoMode(QLineEdit.EchoMode.Password)
        set_role(self.save, "primary")
        self.key.beside.addWidget(self.show_key)
        self.ca_file.beside.addWidget(self.browse)
        ends = QHBoxLayout()
        ends.addWidget(self.test)
        ends.addStretch(1)
        ends.addWidget(self.cancel)
        ends.addWidget(self.save)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(tokens.M)
        column.addWidget(self.title)
        for row in (self.name, self.url, self.key, self.ca_file, self.in_clear):
            column.addWidget(row)
        column.addWidget(self.result)
        column.addLayout(ends)

    def _connect(self) -> None:
        self.show_key.toggled.connect(self._on_show_key)
        self.browse.clicked.connect(self._on_browse)
        self.test.clicked.connect(self._on_test)
        self.save.clicked.connect(self._on_save)
        self.cancel.clicked.connect(self.left)

    def _on_show_key(self, is_shown: bool) -> None:
        mode = QLineEdit.EchoMode.Normal if is_shown else QLineEdit.EchoMode.Password
        self._line(self.key).setEchoMode(mode)

    def _on_browse(self) -> None:
        dialog = QFileDialog(self, self.tr("Certificate authority"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([self.tr("Certificates (*.pem *.crt *.cer)"), self.tr("All files (*)")])
        dialog.fileSelected.connect(self._line(self.ca_file).setText)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _explain_key(self) -> None:
        if self._place is Place.KEYRING:
            text = self.tr("Kept in the keyring of this desktop ({0}).").format(self._secrets.keyring_name)
        elif self._place is Place.FILE:
            text = self.tr("Kept in {0}, a file that only you can read.").format(self._secrets.path)
        else:
            text = ""
        self.key.explain(text)

    def _retranslate(self) -> None:
        self.title.setText(
            self.tr("New server") if self._old is None else self.tr("Change {0}").format(self._old.name)
        )
        self.name.name(self.tr("&Name"))
        self.url.name(
            self.tr("&Address"), self.tr("For instance ws://192.168.1.20:8001; the path may be left out.")
        )
        self.key.name(self.tr("API &key"))
        self._explain_key()
        self.show_key.setText(self.tr("Show"))
        self.show_key.setAccessibleName(self.tr("Show the key"))
        self.ca_file.name(
            self.tr("Certificate authority &file"),
            self.tr("A PEM file to trust besides the system's authorities; for a private server."),
        )
        self.browse.setText(self.tr("&Choose…"))
        self.in_clear.name(
            self.tr("Send the key &unencrypted, too"),
            self.tr("Only in a network that you trust: everybody on the way can read it."),
        )
        self.test.setText(self.tr("&Test the connection"))
        self.cancel.setText(self.tr("Cancel"))
        self.save.setText(self.tr("Save"))
        self._show_finding()
