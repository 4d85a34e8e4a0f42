from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.audio.devices import Device, DeviceChoice, find_device


def device(name: str, host_api: str = "ALSA", *, index: int = 0, default: bool = False) -> Device:
    return Device(index, host_api, name, 2, 48_000, 0.03, default)


USB = device("USB Audio: - (hw:2,0)", index=0)
HDMI = device("HDA NVidia: HDMI 0 (hw:1,3)", index=1)
PULSE = device("pulse", index=2, default=True)
JACK = device("pulse", "JACK Audio Connection Kit", index=3)
ALL = (USB, HDMI, PULSE, JACK)


@pytest.mark.parametrize("text", ["", "  ", "default", "Default"])
def test_nothing_and_default_mean_the_systems_default(text: str) -> None:
    assert DeviceChoice.parse(text) is None


def test_choice_is_read_by_host_api_and_name() -> None:
    assert DeviceChoice.parse("ALSA: pulse") == DeviceChoice("ALSA", "pulse")
    assert DeviceChoice.parse("pulse") == DeviceChoice("", "pulse")
    assert DeviceChoice.parse("ALSA: USB Audio: - (hw:2,0)") == DeviceChoice("ALSA", "USB Audio: - (hw:2,0)")


@given(st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=1), st.text(min_size=1))
def test_what_is_formatted_is_read_back(host_api: str, name: str) -> None:
    choice = DeviceChoice(host_api.replace(":", "."), name.strip() or "x")
    assert DeviceChoice.parse(choice.format()) == choice


@pytest.mark.parametrize("wanted", ALL)
def test_every_device_is_found_by_what_is_stored_of_it(wanted: Device) -> None:
    assert find_device(ALL, DeviceChoice.parse(wanted.choice.format())) == (wanted, "")


def test_bare_name_is_found_whatever_it_contains() -> None:
    assert find_device(ALL, DeviceChoice.parse("USB Audio: - (hw:2,0)")) == (USB, "")
    assert find_device(ALL, DeviceChoice.parse("pulse")) == (PULSE, "")


def test_a4_card_that_changed_its_number_is_the_same_card() -> None:
    replugged = (
        device("HDA NVidia: HDMI 0 (hw:2,3)", default=True),
        device("USB Audio: - (hw:1,0)", index=1),
    )
    assert find_device(replugged, USB.choice) == (replugged[1], "")
    assert find_device(replugged, DeviceChoice("", "USB Audio: - (hw:2,0)")) == (replugged[1], "")


def test_a4_absent_device_gives_the_default_and_a_statement() -> None:
    found, statement = find_device((HDMI, PULSE), USB.choice)
    assert found == PULSE
    assert '"ALSA: USB Audio: - (hw:2,0)" is not there' in statement
    assert '"ALSA: HDA NVidia: HDMI 0 (hw:1,3)"' in statement, "it names what there is"


def test_a4_index_is_no_name() -> None:
    found, statement = find_device(ALL, DeviceChoice.parse("1"))
    assert found == PULSE
    assert statement


def test_no_device_at_all() -> None:
    assert find_device((), None) == (None, "")
    assert find_device((), USB.choice) == (None, "")


def test_a17_every_rate_is_tried_with_every_channel_count_best_first() -> None:
    assert list(Device(0, "ALSA", "x", 8, 48_000, 0.0, True).settings_to_try(24_000)) == [
        (rate_hz, channels) for rate_hz in (24_000, 48_000, 44_100) for channels in (1, 2, 8)
    ]
