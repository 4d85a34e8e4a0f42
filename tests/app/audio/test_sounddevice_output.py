"""The door to PortAudio, against the fake module; the numbers are those of CASES, Audio output."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from app.audio.device_stream import DeviceStream
from app.audio.devices import DeviceChoice
from app.audio.output import OpenError
from app.audio.sounddevice_output import list_devices, open_output
from tests.app.audio.sources import ListSource, ramp, sine
from tests.helpers import fake_sounddevice as fakes
from tests.helpers.fake_sounddevice import FakeDevice, FakeSounddevice


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSounddevice]:
    fake = FakeSounddevice().install(monkeypatch)
    yield fake
    assert not fake.open_streams, "a stream was left open"


def opened(source: ListSource, choice: DeviceChoice | None = None, **how: object) -> DeviceStream:
    return open_output(source, choice, ask_sink=lambda: None, **how)  # type: ignore[arg-type]


def joined(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()


def stuck_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("given ")]


def played(fake: FakeSounddevice, samples: int, block: int = 512) -> np.ndarray:
    """The first channel of what the device got, ``samples`` in blocks."""
    return np.concatenate([fake.stream.tick(block)[:, 0] for _ in range(-(-samples // block))])


def test_24_khz_mono_is_asked_for_first_and_passed_on_unchanged(fake: FakeSounddevice) -> None:
    pcm = ramp(2000)
    output = opened(ListSource(pcm))
    sound = np.concatenate([pcm[:64], played(fake, 1936)])
    assert fake.attempts == [(24_000, 1)]
    assert np.array_equal(sound[:2000], pcm)
    assert output.info.name == "ALSA: speakers"
    assert (output.info.rate_hz, output.info.channels, output.info.audible) == (24_000, 1, True)
    output.close()


@pytest.mark.parametrize("code", [None, fakes.UNANTICIPATED_HOST_ERROR, fakes.DEVICE_UNAVAILABLE])
@pytest.mark.parametrize("rate_hz", [48_000, 44_100, 32_000])
def test_a1_device_that_refuses_24_khz_plays_resampled(
    fake: FakeSounddevice, rate_hz: int, code: int | None
) -> None:
    fake.only(FakeDevice(rates_hz=[rate_hz], default_rate_hz=rate_hz, error_code=code))
    source = ListSource(sine(24_000))
    output = opened(source)
    assert output.info.rate_hz == rate_hz
    sound = played(fake, rate_hz + rate_hz // 4)
    heard = np.flatnonzero(np.abs(sound) > 0.01)
    assert abs(len(sound[: heard[-1] + 1]) + 64 - rate_hz) < rate_hz // 100
    spectrum = np.abs(np.fft.rfft(sound[:rate_hz] * np.hanning(rate_hz)))
    assert abs(int(np.argmax(spectrum)) - 220) <= 1
    output.close()


def test_a2_no_device_at_all_is_an_error_with_a_hint(fake: FakeSounddevice) -> None:
    fake.only()
    with pytest.raises(OpenError, match="no sound device") as caught:
        opened(ListSource())
    assert caught.value.hint


def test_a2_default_of_minus_one_means_the_first_device(fake: FakeSounddevice) -> None:
    fake.default = -1
    output = opened(ListSource())
    assert output.info.name == "ALSA: speakers"
    output.close()


def test_a4_absent_device_gives_the_default_and_says_so(fake: FakeSounddevice) -> None:
    output = opened(ListSource(), DeviceChoice("ALSA", "USB headset"))
    assert output.info.name == "ALSA: speakers"
    assert '"ALSA: USB headset" is not there' in output.info.note
    output.close()


def test_a5_list_is_refreshed_only_while_no_stream_is_open(fake: FakeSounddevice) -> None:
    assert [device.name for device in list_devices()] == ["speakers"]
    fake.devices.append(FakeDevice("headset"))
    output = opened(ListSource())
    before = fake.refreshes
    fake.devices.append(FakeDevice("projector"))
    assert [device.name for device in list_devices(refresh=True)] == ["speakers", "headset"]
    assert fake.refreshes == before
    output.close()
    assert [device.name for device in list_devices(refresh=True)] == ["speakers", "headset", "projector"]


def test_a7_close_returns_within_two_seconds_when_stop_blocks_and_exit_will_not_hang(
    fake: FakeSounddevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = fake.devices[0]
    output = opened(ListSource(ramp(1000)))
    device.stop_blocks = threading.Event()
    forgotten: list[object] = []
    monkeypatch.setattr(atexit, "unregister", forgotten.append)
    begun = time.perf_counter()
    output.close()
    assert time.perf_counter() - begun < 2
    assert forgotten == [fake._exit_handler]
    assert not fake.stream.tick(512).any(), "given up, but still reading the source"
    output.close()
    threads = stuck_threads()
    device.stop_blocks.set()
    joined(threads)


def test_a8_exception_in_the_callback_surfaces_and_the_device_gets_silence(fake: FakeSounddevice) -> None:
    source = ListSource(ramp(1000))
    output = opened(source)
    source.error = ValueError("broken")
    assert not fake.stream.tick(512).any()
    assert output.failure is source.error
    source.error = None
    assert not fake.stream.tick(512).any(), "a source that failed is not asked again"
    output.close()


@pytest.mark.parametrize("channels", [1, 2, 8])
@pytest.mark.parametrize("rate_hz", [24_000, 48_000])
def test_a9_every_sample_of_every_channel_is_written(
    fake: FakeSounddevice, channels: int, rate_hz: int
) -> None:
    fake.only(FakeDevice(channels=[channels], max_channels=8, rates_hz=[rate_hz]))
    source = ListSource(ramp(3000))
    output = opened(source)
    for samples in (1, 100, 4096, 4097, 10_000):
        assert (fake.stream.tick(samples) < 1.0).all()
    source.error = ValueError("broken")
    assert not fake.stream.tick(512).any()
    output.close()
    assert not fake.stream.tick(512).any()


def test_a10_tail_shorter_than_a_block_arrives_whole_then_zeros(fake: FakeSounddevice) -> None:
    pcm = ramp(5 * 1024 + 1)
    source = ListSource()
    output = opened(source)
    source.pcm = pcm
    sound = played(fake, 7 * 1024, block=1024)
    assert np.array_equal(sound[: len(pcm)], pcm)
    assert not sound[len(pcm) :].any()
    output.close()


def test_a11_dac_time_is_that_of_the_first_sample(fake: FakeSounddevice) -> None:
    source = ListSource()
    output = opened(source)
    before = time.perf_counter()
    fake.stream.tick(512, ahead_s=0.25)
    after = time.perf_counter()
    assert before + 0.25 <= source.asked_for[-1][1] <= after + 0.25
    output.close()


@pytest.mark.parametrize("ahead_s", [0.0, -5.0, 2.5, float("nan")])
def test_a11_senseless_dac_time_is_replaced_by_the_latency(fake: FakeSounddevice, ahead_s: float) -> None:
    source = ListSource()
    output = opened(source, latency_s=0.3)
    before = time.perf_counter()
    fake.stream.tick(512, ahead_s=ahead_s)
    assert before + 0.3 <= source.asked_for[-1][1] <= time.perf_counter() + 0.3
    output.close()


@pytest.mark.parametrize("channels", [1, 8])
def test_a12_callback_is_short_and_keeps_no_memory(fake: FakeSounddevice, channels: int) -> None:
    import tracemalloc

    fake.only(FakeDevice(channels=[channels], max_channels=8))

    class Still:
        rate_hz = 24_000

        def read_into(self, out: np.ndarray, dac_s: float) -> None:
            out.fill(0.0)

    output = open_output(Still(), ask_sink=lambda: None)
    took_s = []
    for _ in range(500):
        begun = time.thread_time()
        fake.stream.tick(512)
        took_s.append(time.thread_time() - begun)
    assert np.percentile(took_s, 99) < 0.002
    tracemalloc.start()
    try:
        for _ in range(100):
            fake.stream.tick(512)
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(500):
            fake.stream.tick(512)
        assert tracemalloc.get_traced_memory()[0] - before < 4096
    finally:
        tracemalloc.stop()
    output.close()


def test_a13_latency_is_a_tenth_of_a_second_at_least_and_blocks_are_the_drivers(
    fake: FakeSounddevice,
) -> None:
    output = opened(ListSource())
    assert fake.stream.asked["latency"] == 0.1
    assert fake.stream.asked["blocksize"] == 0
    output.close()
    output = opened(ListSource(), latency_s=0.02, blocksize_samples=256)
    assert fake.stream.asked["latency"] == 0.02
    assert fake.stream.asked["blocksize"] == 256
    output.close()


def test_a14_underflows_are_counted(fake: FakeSounddevice) -> None:
    output = opened(ListSource())
    for _ in range(200):
        fake.stream.tick(64, underflow=True)
    fake.stream.tick(64)
    assert output.underflows == 200
    output.close()


def test_a15_start_that_blocks_is_an_open_failure_and_clears_up_later(fake: FakeSounddevice) -> None:
    device = fake.devices[0]
    device.start_blocks = threading.Event()
    source = ListSource(ramp(1000))
    with pytest.raises(OpenError, match="longer than"):
        opened(source, give_up_s=0.05)
    threads = stuck_threads()
    device.start_blocks.set()
    joined(threads)
    assert fake.stream.closed
    assert source.at == 0, "a stream that came too late must not read the source"


def test_a15_library_that_hangs_for_hours_costs_few_threads(fake: FakeSounddevice) -> None:
    release = fake.devices[0].start_blocks = threading.Event()
    for _ in range(10):
        with pytest.raises(OpenError):
            opened(ListSource(), give_up_s=0.01)
    threads = stuck_threads()
    assert len(threads) == 3
    release.set()
    joined(threads)
    fake.devices[0].start_blocks = None
    opened(ListSource()).close()


def test_a15_callback_that_never_runs_is_an_open_failure(fake: FakeSounddevice) -> None:
    fake.devices[0].calls_back = False
    with pytest.raises(OpenError, match="never asked for samples"):
        opened(ListSource(), give_up_s=0.05)
    assert fake.stream.closed


def test_a16_busy_device_is_named_and_marked_busy(fake: FakeSounddevice) -> None:
    fake.devices[0].busy_opens = 1000
    with pytest.raises(OpenError, match="in use") as caught:
        opened(ListSource())
    assert caught.value.busy
    assert len(fake.attempts) <= 12


@pytest.mark.parametrize(("allowed", "most"), [([2], 2), ([8], 8), ([1], 1), ([2, 4], 32)])
def test_a17_mono_is_copied_to_left_and_right_and_others_are_zero(
    fake: FakeSounddevice, allowed: list[int], most: int
) -> None:
    fake.only(FakeDevice(channels=allowed, max_channels=most))
    source = ListSource()
    output = opened(source)
    assert output.info.channels == allowed[0]
    source.pcm = ramp(5000)
    block = fake.stream.tick(5000)
    for channel in range(min(2, allowed[0])):
        assert np.array_equal(block[:, channel], source.pcm)
    assert not block[:, 2:].any()
    output.close()


def test_a17_scratch_in_pieces_keeps_the_dac_time(fake: FakeSounddevice) -> None:
    fake.only(FakeDevice(channels=[2]))
    source = ListSource()
    output = opened(source)
    source.asked_for.clear()
    fake.stream.tick(10_000)
    first_at, first_s = source.asked_for[0]
    for at, dac_s in source.asked_for:
        assert dac_s - first_s == pytest.approx((at - first_at) / 24_000)
    output.close()


def test_a19_missing_library_is_an_error_that_names_the_package() -> None:
    with fakes.import_fails(OSError("PortAudio library not found")), pytest.raises(OpenError) as caught:
        opened(ListSource())
    assert "libportaudio2" in caught.value.hint


def test_a19_missing_python_package_is_an_error_that_names_it() -> None:
    with (
        fakes.import_fails(ModuleNotFoundError("sounddevice")),
        pytest.raises(OpenError, match="pip install"),
    ):
        list_devices()


def test_a19_library_that_cannot_start_is_an_error() -> None:
    with (
        fakes.import_fails(fakes.FakePortAudioError("host error")),
        pytest.raises(OpenError, match="cannot start"),
    ):
        list_devices()


@pytest.mark.parametrize(
    ("name", "sink", "audible"),
    [
        ("pulse", "auto_null", False),
        ("default", "auto_null", False),
        ("default", "alsa_output.usb", True),
        ("default", None, True),
        ("HDMI 0", "auto_null", True),
        ("Dummy Output", None, False),
    ],
)
def test_a23_dummy_sink_is_not_audible(
    fake: FakeSounddevice, name: str, sink: str | None, audible: bool
) -> None:
    fake.only(FakeDevice(name))
    output = open_output(ListSource(), ask_sink=lambda: sink)
    assert output.info.audible is audible
    output.close()


def test_other_errors_name_the_device_and_the_first_reason(fake: FakeSounddevice) -> None:
    fake.devices[0].open_error = ValueError("no such thing")
    with pytest.raises(OpenError, match=r'"ALSA: speakers" cannot be opened \(no such thing\)'):
        opened(ListSource())
