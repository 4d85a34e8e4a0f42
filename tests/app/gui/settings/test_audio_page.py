"""Output devices: listed in a thread, shown with the one that is chosen even if it is not there."""

from __future__ import annotations

import threading

import pytest

from app.errors import OutputError
from app.gui.settings.audio_page import AudioPage
from tests.app.gui.settings.conftest import Desk


@pytest.fixture
def page(desk: Desk) -> AudioPage:
    page = desk.dialog.page("audio")
    assert isinstance(page, AudioPage)
    return page


def offered(page: AudioPage) -> list[str]:
    return [page.device.choice.itemText(at) for at in range(page.device.choice.count())]


def test_devices_are_listed_when_the_page_is_opened_and_not_in_the_event_loop(
    desk: Desk, page: AudioPage
) -> None:
    threads: list[threading.Thread] = []
    listed = desk._list_devices

    def remember() -> list[str]:
        threads.append(threading.current_thread())
        return listed()

    object.__setattr__(desk.services, "list_devices", remember)
    assert offered(page) == ["System default"]
    desk.dialog.open_page("audio")
    assert not page.again.isEnabled()
    desk.settle()
    assert offered(page) == ["System default", "ALSA: pulse", "ALSA: HDMI"]
    assert threads
    assert threading.main_thread() not in threads
    desk.dialog.open_page("voice")
    desk.dialog.open_page("audio")
    assert len(threads) == 1


def test_a_device_is_chosen(desk: Desk, page: AudioPage) -> None:
    desk.dialog.open_page("audio")
    desk.settle()
    page.device.choice.setCurrentIndex(2)
    assert desk.settings.effective.audio.device == "ALSA: HDMI"
    page.device.choice.setCurrentIndex(0)
    assert desk.settings.effective.audio.device == ""
    desk.settings.update(**{"audio.device": "ALSA: pulse"})
    assert page.device.choice.currentText() == "ALSA: pulse"


def test_a_chosen_device_that_is_away_stays_chosen_and_is_marked(desk: Desk, page: AudioPage) -> None:
    desk.settings.update(**{"audio.device": "ALSA: USB"})
    assert page.device.choice.currentText() == "ALSA: USB", "before anybody has looked"
    desk.dialog.open_page("audio")
    desk.settle()
    assert page.device.choice.currentText() == "ALSA: USB (not there now)"
    assert desk.settings.effective.audio.device == "ALSA: USB"
    desk.devices.append("ALSA: USB")
    page.again.click()
    desk.settle()
    assert page.device.choice.currentText() == "ALSA: USB"


def test_without_devices_or_without_portaudio_that_is_told(desk: Desk, page: AudioPage) -> None:
    desk.devices.clear()
    desk.dialog.open_page("audio")
    desk.settle()
    assert "no sound device" in page.device.remark.text()
    desk.device_error = OutputError("PortAudio is missing: apt install libportaudio2")
    page.again.click()
    desk.settle()
    assert "libportaudio2" in page.device.remark.text()
    assert offered(page) == ["System default"]
    desk.device_error = None
    desk.devices.append("ALSA: pulse")
    page.again.click()
    desk.settle()
    assert page.device.remark.text() == ""
