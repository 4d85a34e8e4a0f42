"""Throwing away what the device holds: silence at once, and sound from the next sample on."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from app.audio.device_stream import DeviceStream
from app.audio.keeper import OutputKeeper
from app.audio.null import NullOutput
from app.audio.output import Output
from app.audio.sounddevice_output import open_output
from tests.app.audio.sources import ListSource, ramp
from tests.helpers.fake_sounddevice import FakePortAudioError, FakeSounddevice
from tests.helpers.waiting import eventually


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSounddevice]:
    fake = FakeSounddevice().install(monkeypatch)
    yield fake
    assert not fake.open_streams, "a stream was left open"


def opened(source: ListSource) -> DeviceStream:
    return open_output(source, ask_sink=lambda: None)


def test_the_stream_is_aborted_and_goes_on_with_the_next_sample(fake: FakeSounddevice) -> None:
    """What was read is lost, as it shall be; nothing else is."""
    pcm = ramp(2000)
    output = opened(ListSource(pcm))
    fake.stream.tick(500)
    output.drop()
    assert fake.stream.started
    # The fake calls back with 64 samples whenever it starts.
    assert np.array_equal(fake.stream.tick(100)[:, 0], pcm[64 + 500 + 64 :][:100])
    output.close()


def test_a_closed_stream_is_left_alone(fake: FakeSounddevice) -> None:
    """It would be started again, and never end."""
    output = opened(ListSource(ramp(10)))
    output.close()
    output.drop()
    assert not fake.stream.started


def test_closing_waits_for_it_and_neither_hangs(fake: FakeSounddevice) -> None:
    """A sound server that hangs costs a bounded time, and the stream is closed once it comes back."""
    output = opened(ListSource(ramp(10)))
    hangs = fake.devices[0].stop_blocks = threading.Event()
    began_s = time.monotonic()
    output.drop()
    output.close()
    assert time.monotonic() - began_s < 4
    hangs.set()
    for thread in threading.enumerate():
        if thread.name.startswith("given "):
            thread.join(5)
    assert fake.stream.closed


async def test_a_keeper_passes_it_on_and_survives_a_device_that_does_not_start_again(
    fake: FakeSounddevice, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The watch sees then that it asks for nothing; before the start and after the end nothing happens."""
    source = ListSource(ramp(2000))
    outputs: list[Output] = []

    def open_it(of: object, choice: object) -> Output:
        outputs.append(opened(of))  # type: ignore[arg-type]
        return outputs[-1]

    keeper = OutputKeeper(source, open_it, lambda event: None, fingerprint=lambda: None)
    await keeper.drop()
    await keeper.start()
    await keeper.drop()
    assert fake.stream.started

    def refuse() -> None:
        raise FakePortAudioError("gone", -9986)

    monkeypatch.setattr(fake.stream, "start", refuse)
    with caplog.at_level(logging.WARNING):
        await keeper.drop()
    assert "did not go on" in caplog.text
    await keeper.aclose()
    await keeper.drop()


async def test_nothing_is_held_where_there_is_no_device() -> None:
    """It goes on as before."""
    source = ListSource(ramp(50_000))
    output = NullOutput(source)
    output.drop()
    asked_s = output.last_callback_s
    await eventually(lambda: output.last_callback_s > asked_s, 2.0, "a callback")
    await asyncio.to_thread(output.close)
