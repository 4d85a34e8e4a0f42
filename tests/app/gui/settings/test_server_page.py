"""Servers: chosen, added, changed, tried, removed; and where their keys are."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLineEdit
from pytestqt.qtbot import QtBot

from app.config import Profile, load
from app.desktop.connection_check import Finding
from app.desktop.profile_rules import Fault
from app.desktop.secrets import Secrets
from app.errors import Refused
from app.gui.settings.profile_form import _FAULTS, ProfileForm
from app.gui.settings.server_page import ServerPage
from decoder.wire.events import Mode
from tests.app.gui.settings.conftest import BOX, LAB, Desk, MakeDesk

KEY = "sk-very-secret"


@pytest.fixture
def full(desk: Desk) -> Desk:
    """With two servers, of which the first is in use."""
    desk.do(desk.profiles.add(LAB, KEY))
    desk.do(desk.profiles.add(BOX))
    desk.do(desk.profiles.choose("Lab"))
    desk.dialog.open_page("server")
    return desk


def page_of(desk: Desk) -> ServerPage:
    page = desk.dialog.page("server")
    assert isinstance(page, ServerPage)
    return page


def items(desk: Desk) -> list[str]:
    servers = page_of(desk).list
    return [servers.item(at).text() for at in range(servers.count())]


def select(desk: Desk, row: int) -> ServerPage:
    page_of(desk).list.setCurrentRow(row)
    return page_of(desk)


def fill(form: ProfileForm, name: str, url: str, key: str | None = None) -> None:
    line(form.name).setText(name)
    line(form.url).setText(url)
    if key is not None:
        line(form.key).setText(key)


def line(row: Any) -> QLineEdit:
    assert isinstance(row.control, QLineEdit)
    return row.control


# -- the list ----------------------------------------------------------------------------------------------


def test_at_first_there_is_the_demo_which_can_neither_be_changed_nor_removed(desk: Desk) -> None:
    page = page_of(desk)
    assert items(desk) == ["Demo (in use)"]
    assert (page.use.isEnabled(), page.change.isEnabled(), page.remove.isEnabled()) == (False, False, False)
    assert page.new.isEnabled()


def test_a_server_is_chosen_with_the_button_and_with_return(full: Desk) -> None:
    assert items(full) == ["Demo", "Lab (in use)", "Box"]
    page = select(full, 2)
    page.use.click()
    full.settle()
    assert full.profiles.current == "Box"
    assert items(full) == ["Demo", "Lab", "Box (in use)"]
    assert load(full.path, {}).server.url == BOX.url
    page.list.setFocus()
    page.list.setCurrentRow(0)
    page.list.itemActivated.emit(page.list.item(0))
    full.settle()
    assert full.profiles.current == "Demo"


def test_a_choice_from_elsewhere_shows_and_the_selection_stays(full: Desk) -> None:
    page = select(full, 2)
    full.do(full.profiles.choose("Demo"))
    assert items(full) == ["Demo (in use)", "Lab", "Box"]
    assert page.list.currentRow() == 2
    assert page.use.isEnabled()


def test_a_screen_reader_hears_name_state_and_address(full: Desk) -> None:
    item = page_of(full).list.item(1)
    assert item.data(Qt.ItemDataRole.AccessibleTextRole) == f"Lab (in use), {LAB.url}"


def test_a_server_that_was_given_at_the_start_is_told_until_another_is_chosen(make_desk: MakeDesk) -> None:
    desk = make_desk(flags={"server.url": "wss://given.example"})
    page = page_of(desk)
    assert "wss://given.example" in page.given.text()
    assert items(desk) == ["Demo"]
    page.use.click()
    desk.settle()
    assert page.given.text() == ""
    assert items(desk) == ["Demo (in use)"]


# -- removing ----------------------------------------------------------------------------------------------


def test_removing_asks_once_in_the_page_and_takes_the_key_along(full: Desk) -> None:
    page = select(full, 1)
    page.remove.click()
    assert page.question.isVisible()
    assert page.question.no.hasFocus() or not full.dialog.isActiveWindow()
    page.question.no.click()
    assert not page.question.isVisible()
    assert len(full.profiles.saved) == 2
    page.remove.click()
    page.question.yes.click()
    full.settle()
    assert [profile.name for profile in full.profiles.saved] == ["Box"]
    assert full.profiles.current == "Demo"
    assert not full.secrets.path.exists()
    assert not page.question.isVisible()


def test_the_question_is_about_the_one_that_is_selected(full: Desk) -> None:
    page = select(full, 1)
    page.remove.click()
    select(full, 2)
    assert not page.question.isVisible()


# -- the form ----------------------------------------------------------------------------------------------


def test_a_new_server_is_saved_with_its_key_and_selected(full: Desk) -> None:
    page = page_of(full)
    page.new.click()
    full.settle()
    form = page.form
    assert form.isVisible()
    assert not page.list.isVisible()
    assert line(form.key).echoMode() is QLineEdit.EchoMode.Password
    assert str(full.secrets.path) in form.key.help.text(), "where the key will be"
    fill(form, " Office ", "wss://office.example", "key of the office")
    form.save.click()
    full.settle()
    assert full.profiles.saved[-1] == Profile("Office", "wss://office.example")
    assert full.secrets.known("Office") == "key of the office"
    assert "key of the office" not in full.path.read_text()
    assert page.list.isVisible()
    assert items(full)[page.list.currentRow()] == "Office"
    assert full.profiles.current == "Lab", "saving is not choosing"


def test_a_changed_server_keeps_its_key_unless_another_is_typed(full: Desk) -> None:
    page = select(full, 1)
    page.change.click()
    full.settle()
    form = page.form
    assert (line(form.name).text(), line(form.url).text(), line(form.key).text()) == ("Lab", LAB.url, KEY)
    fill(form, "Labor", "wss://new.example")
    QTest.keyClick(line(form.url), Qt.Key.Key_Return)
    full.settle()
    assert full.profiles.server()[1].url == "wss://new.example", "it is the one in use"
    assert full.secrets.known("Labor") == KEY
    page.change.click()
    full.settle()
    line(form.key).clear()
    form.save.click()
    full.settle()
    assert full.secrets.known("Labor") == ""
    assert not full.secrets.path.exists()


class LockedKeyring:
    """Has a key and does not give it out, as a keyring whose password nobody has typed."""

    def __init__(self) -> None:
        self.changes: list[str] = []

    def get_password(self, service: str, username: str) -> str | None:
        raise OSError("locked")

    def set_password(self, service: str, username: str, password: str) -> None:
        self.changes.append(f"set {username}")

    def delete_password(self, service: str, username: str) -> None:
        self.changes.append(f"delete {username}")


def test_a_key_that_cannot_be_got_is_not_lost_by_changing_its_server(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.do(desk.profiles.add(LAB))
    keyring = LockedKeyring()
    desk.secrets = Secrets(desk.path.parent, lambda: (keyring, "Locked"))
    monkeypatch.setattr(desk.profiles, "_secrets", desk.secrets)
    forgotten: list[str] = []
    monkeypatch.setattr(desk.secrets, "forget", forgotten.append)
    form = ProfileForm(desk.secrets, desk.services)
    form.edit(LAB)
    desk.settle()
    assert "locked" in form.key.remark.text()
    line(form.url).setText("wss://new.example")
    form.save.click()
    desk.settle()
    assert desk.profiles.saved[0].url == "wss://new.example"
    assert keyring.changes == forgotten == []


def test_escape_leaves_the_form_and_saves_nothing(full: Desk) -> None:
    page = select(full, 1)
    page.change.click()
    full.settle()
    fill(page.form, "Other", "wss://other.example", "other")
    QTest.keyClick(line(page.form.name), Qt.Key.Key_Escape)
    assert full.dialog.isVisible()
    assert page.list.isVisible()
    assert full.profiles.saved == (LAB, BOX)
    page.change.click()
    full.settle()
    assert line(page.form.name).text() == "Lab", "what was typed is gone"


@pytest.mark.parametrize(
    ("name", "url", "key", "field", "words"),
    [
        ("", "wss://h", "", "name", "Give it a name"),
        ("lab", "wss://h", "", "name", "Another server has this name"),
        ("Demo", "wss://h", "", "name", "Another server has this name"),
        ("Office", "ftp://h", "", "url", "not a server address"),
        ("Office", "ws://me:pass@h", "", "url", "password"),
        ("Office", "ws://8.8.8.8", KEY, "key", "unencrypted"),
        ("Office", "wss://h", "kéy", "key", "characters"),
    ],
)
def test_what_is_wrong_is_told_beside_its_field(
    full: Desk, name: str, url: str, key: str, field: str, words: str
) -> None:
    page = page_of(full)
    page.new.click()
    full.settle()
    fill(page.form, name, url, key)
    page.form.save.click()
    full.settle()
    row = getattr(page.form, field)
    assert words in row.remark.text()
    assert words in row.control.accessibleDescription()
    assert page.form.isVisible()
    assert len(full.profiles.saved) == 2
    assert page.form.save.isEnabled()
    fill(page.form, "Office", "wss://h", "")
    page.form.save.click()
    full.settle()
    assert len(full.profiles.saved) == 3


def test_every_fault_has_words() -> None:
    assert set(_FAULTS) == set(Fault)


def test_a_key_may_be_allowed_to_travel_in_the_clear(full: Desk) -> None:
    page = page_of(full)
    page.new.click()
    full.settle()
    fill(page.form, "Office", "ws://8.8.8.8", KEY)
    page.form.in_clear.control.click()  # type: ignore[attr-defined]
    page.form.save.click()
    full.settle()
    assert full.profiles.saved[-1].allow_insecure_key


def test_the_key_is_shown_only_on_demand_and_hidden_the_next_time(full: Desk) -> None:
    page = select(full, 1)
    page.change.click()
    page.form.show_key.click()
    assert line(page.form.key).echoMode() is QLineEdit.EchoMode.Normal
    page.form.cancel.click()
    page.change.click()
    assert line(page.form.key).echoMode() is QLineEdit.EchoMode.Password
    full.settle()


def test_a_file_of_an_authority_is_chosen_in_a_dialog(full: Desk, tmp_path: Path, qtbot: QtBot) -> None:
    page = page_of(full)
    page.new.click()
    page.form.browse.click()
    dialog = page.form.findChild(QFileDialog)
    assert dialog is not None
    dialog.fileSelected.emit(str(tmp_path / "ca.pem"))
    dialog.reject()
    assert line(page.form.ca_file).text() == str(tmp_path / "ca.pem")
    fill(page.form, "Office", "wss://h")
    page.form.save.click()
    full.settle()
    assert "no such file" in page.form.ca_file.remark.text()
    (tmp_path / "ca.pem").write_text("")
    page.form.save.click()
    full.settle()
    assert full.profiles.saved[-1].ca_file == str(tmp_path / "ca.pem")


# -- trying ------------------------------------------------------------------------------------------------


def test_a_test_uses_what_is_typed_and_says_what_it_found(full: Desk) -> None:
    page = select(full, 1)
    page.change.click()
    full.settle()
    form = page.form
    line(form.url).setText("wss://other.example")
    for answer, words in (
        (Finding(Mode.CODEC, 0.034), "Ready, in 34 ms: it sends codec tokens"),
        (Finding(Mode.PCM, 1.2), "Ready, in 1200 ms: it decodes itself"),
        (Finding(Mode.UNKNOWN, 0.1), "Ready, in 100 ms. Who decodes"),
        (Refused("wss://other.example: the server wants an API key"), "wants an API key"),
    ):
        full.answer = answer
        form.test.click()
        assert not form.test.isEnabled()
        assert form.result.text() == "Calling the server…"
        full.settle()
        assert words in form.result.text()
        assert form.test.isEnabled()
    assert full.tested[-1] == (replace(LAB, url="wss://other.example"), KEY)
    assert full.profiles.saved[0] == LAB, "trying is not saving"


def test_the_answer_of_a_test_that_was_left_says_nothing_about_another(full: Desk) -> None:
    page = select(full, 1)
    page.change.click()
    full.settle()
    page.form.test.click()
    page.form.cancel.click()
    page.new.click()
    full.settle()
    assert page.form.result.text() == ""


def test_a_key_that_cannot_be_kept_is_told_and_the_form_stays(full: Desk) -> None:
    page = page_of(full)
    page.new.click()
    full.settle()
    folder = full.secrets.path.with_name("in the way")
    folder.write_text("")
    full.secrets.path = folder / "keys.json"
    fill(page.form, "Office", "wss://h", "other")
    page.form.save.click()
    full.settle()
    assert "cannot be kept" in page.form.result.text()
    assert os.fspath(full.secrets.path) in page.form.result.text()
    assert len(full.profiles.saved) == 2
