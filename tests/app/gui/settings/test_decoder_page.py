"""The weights: looked at before they are used, downloaded where they are not here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog

from app.config import DecoderConfig, load
from app.desktop.checkpoints import Phase
from app.gui.settings.decoder_page import DecoderPage
from tests.app.gui.settings.conftest import Desk

DEFAULT = DecoderConfig().checkpoint


@pytest.fixture
def page(desk: Desk) -> DecoderPage:
    desk.dialog.open_page("decoder")
    desk.settle()
    page = desk.dialog.page("decoder")
    assert isinstance(page, DecoderPage)
    return page


def type_in(page: DecoderPage, text: str) -> None:
    page.checkpoint.edit.setText(text)
    QTest.keyClick(page.checkpoint.edit, Qt.Key.Key_Return)


def in_loop(desk: Desk, action: Callable[[], object]) -> None:
    """Do something as a person does it: while the event loop runs."""

    async def act() -> None:
        action()

    desk.run(act())


def test_weights_are_looked_for_when_the_page_is_opened(desk: Desk, page: DecoderPage) -> None:
    assert desk.looked_at == [DEFAULT]
    assert "not on this computer yet" in page.checkpoint.remark.text()
    assert page.download.start.isVisible()


def test_a_folder_with_weights_is_used_and_described(desk: Desk, page: DecoderPage) -> None:
    desk.has_weights("/some/folder")
    type_in(page, "/some/folder")
    desk.settle()
    assert load(desk.path, {}).decoder.checkpoint == "/some/folder"
    assert "457 MB at 24.0 kHz" in page.checkpoint.remark.text()
    assert not page.download.isVisible()


def test_what_is_no_checkpoint_is_told_and_not_used(desk: Desk, page: DecoderPage) -> None:
    type_in(page, "/some/fodler")
    desk.settle()
    assert desk.settings.effective.decoder.checkpoint == DEFAULT
    assert "no such folder" in page.checkpoint.remark.text()
    assert f"Still in use: {DEFAULT}" in page.checkpoint.remark.text()
    assert page.checkpoint.edit.text() == "/some/fodler", "to be mended"
    assert not page.download.isVisible(), "a folder cannot be downloaded"


def test_only_the_last_look_counts(desk: Desk, page: DecoderPage) -> None:
    desk.has_weights("/one")
    desk.has_weights("/two")
    desk.slow["/one"] = asyncio.Event()  # a disk that has to wake up
    type_in(page, "/one")
    type_in(page, "/two")
    desk.until(lambda: desk.settings.effective.decoder.checkpoint == "/two")
    desk.slow["/one"].set()
    desk.settle()
    assert desk.settings.effective.decoder.checkpoint == "/two"


def test_a_change_from_elsewhere_shows_and_is_looked_at(desk: Desk, page: DecoderPage) -> None:
    desk.has_weights("/three")
    desk.settings.update(**{"decoder.checkpoint": "/three"})
    desk.settle()
    assert page.checkpoint.edit.text() == "/three"
    assert "Found" in page.checkpoint.remark.text()


def test_a_folder_is_chosen_in_a_dialog(desk: Desk, page: DecoderPage) -> None:
    desk.has_weights("/chosen")
    page.browse.click()
    dialog = page.findChild(QFileDialog)
    assert dialog is not None
    assert dialog.fileMode() is QFileDialog.FileMode.Directory
    dialog.fileSelected.emit("/chosen")
    dialog.reject()
    desk.settle()
    assert desk.settings.effective.decoder.checkpoint == "/chosen"


def test_a_download_shows_how_far_it_is_and_is_used_at_the_end(desk: Desk, page: DecoderPage) -> None:
    type_in(page, "owner/other")
    desk.settle()
    row = page.download
    in_loop(desk, row.start.click)
    assert row.cancel.isVisible()
    assert not row.start.isVisible()
    assert row.bar.maximum() == 0, "how much there is is not known yet"
    desk.download_steps.release()
    desk.until(lambda: row.bar.value() == round(100_000 / 457))
    assert row.amount.text().startswith("100 MB of 457 MB")
    assert desk.settings.effective.decoder.checkpoint == DEFAULT
    desk.download_steps.release()
    desk.download_steps.release()
    desk.until(lambda: desk.settings.effective.decoder.checkpoint == "owner/other")
    desk.settle()
    assert not row.isVisible()
    assert "Found" in page.checkpoint.remark.text()


def test_a_download_can_be_cancelled_and_goes_on(desk: Desk, page: DecoderPage) -> None:
    row = page.download
    in_loop(desk, row.start.click)
    desk.download_steps.release()
    desk.until(lambda: row.bar.value() > 0)
    in_loop(desk, row.cancel.click)
    assert row._download.state.phase is Phase.CANCELLED
    assert row.start.text() == "Go on with the download"
    assert row.bar.isVisible(), "how far it came"
    desk.download_steps.release()  # the one that was cancelled notices
    in_loop(desk, row.start.click)
    for _ in range(3):
        desk.download_steps.release()
    desk.until(lambda: row._download.state.phase is Phase.DONE)
    desk.settle()
    assert "Found" in page.checkpoint.remark.text()


def test_a_failed_download_says_why_and_can_be_tried_again(
    desk: Desk, page: DecoderPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no room on the disk")

    monkeypatch.setattr(page.download._download, "_fetch", fail)
    in_loop(desk, page.download.start.click)
    desk.until(lambda: page.download.remark.text())
    assert "no room on the disk" in page.download.remark.text()
    assert page.download.start.isVisible()


def test_a_window_that_closes_in_mid_download_stops_it(desk: Desk, page: DecoderPage) -> None:
    in_loop(desk, page.download.start.click)
    desk.download_steps.release()
    download = page.download._download
    desk.until(lambda: download.state.done_bytes)
    shiboken6.delete(desk.dialog)
    assert download.state.phase is Phase.CANCELLED
    desk.download_steps.release()
    desk.settle()
    desk.settings.update(**{"audio.volume": 0.5})  # nobody who is gone is told


def test_each_precision_is_explained(desk: Desk, page: DecoderPage) -> None:
    seen = set()
    for value in ("exact", "auto", "fast"):
        desk.settings.update(**{"decoder.precision": value})
        seen.add(page.precision.help.text())
        assert page.precision.help.text() in page.precision.choice.accessibleDescription()
    assert len(seen) == 3
