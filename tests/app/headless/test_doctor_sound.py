"""Every way to hear nothing, with a scripted ``sounddevice`` in place of PortAudio."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from app.config import AudioConfig
from app.headless.doctor import sound
from app.headless.doctor.finding import Finding, Verdict
from app.headless.doctor.sound import Surroundings, check
from app.headless.doctor.tone import LEVEL, TONE_HZ, ProbeSignal, tone
from tests.helpers.fake_sounddevice import FakeDevice, FakeSounddevice, import_fails

RATE_HZ = 24_000


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSounddevice]:
    fake = FakeSounddevice().install(monkeypatch)
    yield fake
    assert not fake.open_streams, "a stream was left open"


@dataclass
class Room:
    """Time that passes when somebody sleeps, with a device that asks for samples meanwhile."""

    fake: FakeSounddevice
    asks: bool = True
    underflow: bool = False
    now_s: float = 0.0
    blocks: list[np.ndarray] = field(default_factory=list)

    def sleep(self, wait_s: float) -> None:
        self.now_s += wait_s
        if self.asks:
            rate_hz = self.fake.stream.asked["samplerate"]
            block = self.fake.stream.tick(round(wait_s * rate_hz), underflow=self.underflow)
            self.blocks.append(block[:, 0])

    def around(self) -> Surroundings:
        # A block's DAC time is on the real clock, long past on this one once it has started far ahead.
        return Surroundings(
            {}, lambda: None, lambda: "", lambda: "the likely cause", lambda: self.now_s + 1e9, self.sleep
        )


def look(
    room: Room, *, play: bool = False, audio: AudioConfig | None = None, **around: Callable[[], str]
) -> Finding:
    return check(audio or AudioConfig(), play=play, around=replace(room.around(), **around))  # type: ignore[arg-type]


def test_a_device_that_asks_for_samples_is_well(fake: FakeSounddevice) -> None:
    """What it was given is silence; nobody is startled."""
    room = Room(fake)
    found = look(room)
    assert found.verdict is Verdict.OK
    assert '"ALSA: speakers" asked' in found.summary
    assert found.advice == ""
    assert found.facts["devices"] == ["ALSA: speakers"]
    assert not np.concatenate(room.blocks).any()


def test_the_tone_goes_the_way_of_all_sound(fake: FakeSounddevice) -> None:
    """At the volume that is set, and all of it."""
    room = Room(fake)
    found = look(room, play=True, audio=AudioConfig(volume=0.5))
    assert found.verdict is Verdict.OK
    assert "a tone of 440 Hz was played" in found.summary
    assert "if you heard nothing" in found.advice
    heard = np.concatenate(room.blocks)
    whole = tone(RATE_HZ, level=0.5 * LEVEL)
    assert np.array_equal(heard[: len(whole) - 64], whole[64:]), "the first 64 were asked for while it opened"


def test_a_device_that_stops_asking_is_noticed(fake: FakeSounddevice) -> None:
    found = look(Room(fake, asks=False))
    assert found.verdict is Verdict.PROBLEM
    assert "it stopped asking, after 0.0 s" in found.summary
    assert "restart the sound server" in found.advice


def test_a_device_that_never_asks(fake: FakeSounddevice) -> None:
    fake.only(FakeDevice(calls_back=False))
    found = look(Room(fake))
    assert found.verdict is Verdict.PROBLEM
    assert "never asked for samples" in found.summary


def test_no_device_at_all_names_the_likely_cause(fake: FakeSounddevice) -> None:
    fake.only()
    found = look(Room(fake))
    assert (found.verdict, found.summary, found.advice) == (
        Verdict.PROBLEM,
        "there is no sound device",
        "the likely cause",
    )


def test_a_busy_device_may_be_busy_with_our_own_kiosk(fake: FakeSounddevice) -> None:
    fake.only(FakeDevice(busy_opens=100))
    found = look(Room(fake))
    assert found.verdict is Verdict.PROBLEM
    assert "is in use" in found.summary
    assert "systemctl --user stop nearfield" in found.advice
    assert "XDG_RUNTIME_DIR" in found.advice, "whoever shares the device is not found without it"


def test_several_devices_are_listed_to_choose_from(fake: FakeSounddevice) -> None:
    fake.only(FakeDevice(name="speakers"), FakeDevice(name="HDMI"))
    found = look(Room(fake))
    assert found.summary.splitlines()[1] == "devices: ALSA: speakers (default), ALSA: HDMI"
    fake.only(*(FakeDevice(name=f"card {number}") for number in range(20)))
    assert "and 12 more" in look(Room(fake)).summary


def test_a_missing_portaudio_names_its_package() -> None:
    with import_fails(OSError("PortAudio library not found")):
        found = check(AudioConfig(), play=False, around=Surroundings({}, lambda: None))
    assert found.verdict is Verdict.PROBLEM
    assert "libportaudio2" in found.advice


@pytest.mark.parametrize("name", ["default", "auto_null"])
def test_a_dummy_sink_is_a_problem_although_everything_runs(fake: FakeSounddevice, name: str) -> None:
    fake.only(FakeDevice(name=name))
    found = look(Room(fake), default_sink=lambda: "auto_null")
    assert found.verdict is Verdict.PROBLEM
    assert "nobody hears anything" in found.summary
    assert found.advice == "the likely cause"


def test_a_muted_server_is_a_problem_although_everything_runs(fake: FakeSounddevice) -> None:
    found = look(Room(fake), why_muted=lambda: "the sound server has muted it")
    assert found.verdict is Verdict.PROBLEM
    assert "muted" in found.summary


def test_a_chosen_device_that_is_absent_is_a_warning(fake: FakeSounddevice) -> None:
    found = look(Room(fake), audio=AudioConfig(device="ALSA: headset"))
    assert found.verdict is Verdict.WARNING
    assert "headset" in found.summary


def test_late_service_is_a_warning(fake: FakeSounddevice) -> None:
    found = look(Room(fake, underflow=True))
    assert found.verdict is Verdict.WARNING
    assert "raise audio.latency_s" in found.advice


def test_what_decides_about_sound_in_the_environment_is_a_fact(fake: FakeSounddevice) -> None:
    around = replace(Room(fake).around(), environ={"XDG_RUNTIME_DIR": "/run/user/1", "HOME": "/home/mia"})
    assert check(AudioConfig(), play=False, around=around).facts["environment"] == {
        "XDG_RUNTIME_DIR": "/run/user/1"
    }


@pytest.mark.parametrize(
    ("mute", "volume", "said"),
    [
        ("Mute: yes", "Volume: front-left: 65536 / 100%", "has muted it"),
        ("Mute: no", "Volume: front-left: 0 /   0% / -inf dB,   front-right: 0 /   0%", "volume is 0"),
        ("Mute: no", "Volume: front-left: 0 /   0%,   front-right: 32768 /  50%", ""),
        ("", "", ""),
    ],
)
def test_what_the_sound_server_says_of_its_volume(mute: str, volume: str, said: str) -> None:
    answers = {"get-sink-mute": mute, "get-sink-volume": volume}
    found = sound.why_muted(answers.__getitem__)
    assert said in found
    assert bool(said) == bool(found)


def test_the_tone_is_one_and_has_no_edges() -> None:
    pcm = tone(RATE_HZ, 1.0, 0.25)
    assert pcm.dtype == np.float32
    assert abs(np.abs(pcm).max() - 0.25) < 0.001
    assert np.argmax(np.abs(np.fft.rfft(pcm))) == TONE_HZ
    assert np.abs(np.diff(pcm)).max() < 0.25 * 2 * np.pi * TONE_HZ / RATE_HZ * 1.01


def test_a_signal_is_given_once_whole_and_then_silence_follows() -> None:
    pcm = tone(RATE_HZ, 0.1)
    signal = ProbeSignal(pcm, RATE_HZ)
    out = np.ones(1000, np.float32)
    heard = []
    for number in range(4):
        assert (signal.over_s is None) == (number < 3)
        signal.read_into(out, 10.0 + number)
        heard.append(out.copy())
    whole = np.concatenate(heard)
    assert np.array_equal(whole[: len(pcm)], pcm)
    assert not whole[len(pcm) :].any()
    assert signal.over_s == 12.0 + 400 / RATE_HZ
    assert (signal.calls, signal.taken_s) == (4, 0.1)
