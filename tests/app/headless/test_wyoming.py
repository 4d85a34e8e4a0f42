from __future__ import annotations

import asyncio
import logging
import sys

import numpy as np
import pytest
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.ping import Ping, Pong
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeVoice,
)

from app.audio.wav import int16_bytes
from app.config import Config, KioskConfig
from app.errors import ConfigError
from app.headless.wyoming import client as client_module
from app.headless.wyoming import discovery
from app.headless.wyoming import server as server_module
from app.headless.wyoming.discovery import reachable_addresses
from app.headless.wyoming.server import WyomingServer, is_loopback, require_allowed
from server.emulator import Scenario
from tests.helpers.counting_talker import text_for
from tests.helpers.engine_rig import frames, sound_of
from tests.helpers.waiting import eventually
from tests.helpers.wyoming_rig import WyomingRig, answer, unheard_engine, wyoming_rig

WHOLE = ["audio-start", "audio-chunk", "audio-stop"]


def samples(count: int, first: int = 1) -> np.ndarray:
    """The sound of ``text_for(count, first)`` as it is sent."""
    return np.frombuffer(int16_bytes(sound_of(frames(first, count))), "<i2")


async def error_of(rig: WyomingRig, *events: Event) -> Error:
    """Send what is wrong, and return what is told before the connection ends."""
    async with rig.client() as client:
        for event in events:
            await client.write_event(event)
        told = None
        while (event := await client.read_event()) is not None:
            told = event
    assert told is not None
    assert Error.is_type(told.type), told
    return Error.from_event(told)


async def test_it_says_what_it_can_do() -> None:
    """A program with the server's voices, in ten languages, that takes texts in pieces."""
    async with wyoming_rig(voices=("ryan", "vivian")) as rig, rig.client() as client:
        await client.write_event(Describe().event())
        event = await client.read_event()
        assert event is not None
        (program,) = Info.from_event(event).tts
        assert (program.name, program.supports_synthesize_streaming) == ("nearfield", True)
        assert [voice.name for voice in program.voices] == ["ryan", "vivian"]
        assert {"en", "zh", "de"} < set(program.voices[0].languages)
        await client.write_event(Ping("still there?").event())
        event = await client.read_event()
        assert event is not None
        assert Pong.from_event(event).text == "still there?"


async def test_a_text_becomes_its_sound() -> None:
    """Every sample once, in order; the next text on the same connection, too."""
    async with wyoming_rig() as rig, rig.client() as client:
        for first in (1, 40):
            await client.write_event(Synthesize(text_for(30, first)).event())
            heard = await answer(client)
            assert heard.kinds == WHOLE
            assert (heard.pcm == samples(30, first)).all()
        assert len(rig.engines) == 1


async def test_sound_comes_while_it_is_made() -> None:
    """The first of it is there before the server has said the last."""
    async with wyoming_rig(Scenario(pace=2.0)) as rig, rig.client() as client:
        await client.write_event(Synthesize(text_for(30)).event())
        for kind in ("audio-start", "audio-chunk"):
            event = await client.read_event()
            assert event is not None
            assert event.type == kind
        sent = sum(len(u.codes) for u in rig.emulator.utterances)
        assert sent < 30
        await answer(client)


async def test_a_text_in_pieces_is_spoken_from_its_first_sentence_on() -> None:
    """Its end comes as a whole answer and one event more; the compatible copy of it is not spoken again."""
    async with wyoming_rig() as rig, rig.client() as client:
        await client.write_event(SynthesizeStart().event())
        for piece in ("Say 12 frames fr", "om 1. Say 5 fra"):
            await client.write_event(SynthesizeChunk(piece).event())
        first = await client.read_event()
        assert first is not None
        assert first.type == "audio-start"
        await client.write_event(SynthesizeChunk("mes from 13.").event())
        await client.write_event(Synthesize("Say 12 frames from 1. Say 5 frames from 13.").event())
        await client.write_event(SynthesizeStop().event())
        heard = await answer(client, is_stream=True)
        assert heard.kinds == ["audio-chunk", "audio-stop", "synthesize-stopped"]
        assert (heard.pcm == samples(17)).all()


async def test_nothing_to_say_is_an_answer_without_sound() -> None:
    """Whoever waits for an end gets it."""
    async with wyoming_rig() as rig, rig.client() as client:
        await client.write_event(Synthesize("…").event())
        assert (await answer(client)).kinds == ["audio-start", "audio-stop"]
        await client.write_event(SynthesizeStart().event())
        await client.write_event(SynthesizeStop().event())
        heard = await answer(client, is_stream=True)
        assert heard.kinds == ["audio-start", "audio-stop", "synthesize-stopped"]
        assert list(rig.emulator.utterances) == []


async def test_voice_and_language_reach_the_server() -> None:
    """A name is used as it is, a language by the talker's name, and the placeholder is none."""
    async with wyoming_rig() as rig, rig.client() as client:
        for voice in (SynthesizeVoice("Vivian"), SynthesizeVoice(language="de"), SynthesizeVoice("default")):
            await client.write_event(Synthesize("Say 3 frames from 1.", voice).event())
            assert (await answer(client)).kinds == WHOLE
        used = [(u.config.voice, u.config.language) for u in rig.emulator.utterances]
        assert used == [("vivian", None), (None, "German"), (None, None)]


async def test_many_clients_at_once() -> None:
    """More than may be served side by side wait for their turn, and each gets its own sound."""
    async with wyoming_rig(speech_parallel=2, speech_waiting=8) as rig:

        async def ask(first: int) -> np.ndarray:
            async with rig.client() as client:
                await client.write_event(Synthesize(text_for(20, first)).event())
                return (await answer(client)).pcm

        sounds = await asyncio.gather(*(ask(1 + 20 * n) for n in range(6)))
        for n, pcm in enumerate(sounds):
            assert (pcm == samples(20, 1 + 20 * n)).all()
        assert len(rig.engines) == 2


async def test_a_client_that_leaves_ends_its_text() -> None:
    """The server is told, and the engine serves the next."""
    async with wyoming_rig(Scenario(pace=1.0), speech_parallel=1) as rig:
        async with rig.client() as client:
            await client.write_event(Synthesize(text_for(200)).event())
            for _ in range(3):
                await client.read_event()
        await eventually(lambda: rig.emulator.utterances[0].cancelled_at is not None, 5.0, "the cancel")
        async with rig.client() as client:
            await client.write_event(Synthesize(text_for(4)).event())
            assert len((await answer(client)).pcm) == len(samples(4))
        assert len(rig.engines) == 1


async def test_a_voice_that_is_not_there_is_an_error_in_words() -> None:
    """The connection ends with it: many clients wait for sound as long as it lasts."""
    async with wyoming_rig() as rig:
        told = await error_of(rig, Synthesize("Say 3 frames from 1.", SynthesizeVoice("nobody")).event())
        assert "nobody" in told.text
        assert told.code == "refused"


async def test_a_server_that_is_not_there_is_an_error_in_words(caplog: pytest.LogCaptureFixture) -> None:
    """Told at once, not after a minute of silence."""
    async with wyoming_rig(url="ws://127.0.0.1:9") as rig:
        with caplog.at_level(logging.WARNING):
            told = await error_of(rig, Synthesize("Hello.").event())
        assert told.code == "unreachable"
        assert "cannot reach" in told.text


@pytest.mark.parametrize(
    "event",
    [
        Event("synthesize", {}),
        Event("synthesize", {"text": 5}),
        Event("synthesize", {"text": "x", "voice": "name"}),
        Event("synthesize", {"text": "x", "voice": {"name": 5}}),
        SynthesizeChunk("x").event(),
        Event("synthesize", {"text": "x" * 3000}),
    ],
)
async def test_bad_events_are_told_and_end_the_connection(event: Event) -> None:
    """None of them reaches the server."""
    async with wyoming_rig(request_bytes=2048) as rig:
        assert (await error_of(rig, event)).code == "bad_event"
        assert list(rig.emulator.utterances) == []


async def test_a_second_start_before_the_stop_is_an_error() -> None:
    """Two texts at once cannot be told apart."""
    async with wyoming_rig() as rig:
        told = await error_of(rig, SynthesizeStart().event(), SynthesizeStart().event())
        assert told.code == "bad_event"


async def test_events_of_other_services_are_left_alone() -> None:
    """As the protocol asks for."""
    async with wyoming_rig() as rig, rig.client() as client:
        await client.write_event(Event("select-program", {"name": "nearfield"}))
        await client.write_event(Event("transcribe", {"name": "x"}))
        await client.write_event(Synthesize("Say 3 frames from 1.").event())
        assert (await answer(client)).kinds == WHOLE


async def test_too_much_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too often in a minute, too many texts at once, too long a text, too many clients."""
    async with wyoming_rig(rate_per_minute=1) as rig:
        told = await error_of(rig, Synthesize("…").event(), Synthesize("…").event())
        assert told.code == "queue_full"
        assert "in a minute" in told.text
    monkeypatch.setattr(client_module, "MOST_TEXTS", 1)
    async with wyoming_rig(Scenario(pace=1.0)) as rig:
        told = await error_of(rig, *[Synthesize(text_for(50)).event()] * 4)
        assert told.code == "queue_full"
    async with wyoming_rig() as rig:
        told = await error_of(rig, Synthesize("word " * 25_000).event())
        assert told.code == "text_too_long"
    monkeypatch.setattr(server_module, "MOST_CLIENTS", 1)
    async with wyoming_rig() as rig, rig.client() as first, rig.client() as second:
        assert await second.read_event() is None
        await first.write_event(Ping().event())
        assert await first.read_event() is not None


async def test_a_text_that_never_ends_does_not_hold_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does a client that says nothing hold a place."""
    monkeypatch.setattr(client_module, "PIECE_S", 0.05)
    monkeypatch.setattr(client_module, "IDLE_S", 0.05)
    async with wyoming_rig() as rig:
        told = await error_of(
            rig, SynthesizeStart().event(), SynthesizeChunk("Say 3 frames from 1. A").event()
        )
        assert "no more of the text came" in told.text
        async with rig.client() as client:
            assert await client.read_event() is None


async def test_closing_lets_go_of_clients_in_mid_sound() -> None:
    """Within a moment, and without a complaint."""
    async with wyoming_rig(Scenario(pace=1.0)) as rig, rig.client() as client:
        await client.write_event(Synthesize(text_for(200)).event())
        await client.read_event()
        await asyncio.wait_for(rig.server.aclose(), 3)
        while (event := await client.read_event()) is not None:
            assert event.type == "audio-chunk"


async def test_an_address_that_others_reach_has_to_be_allowed() -> None:
    """The protocol has no password; the sentence says what to do."""

    async def names() -> tuple[str, ...]:
        return ()

    def make(kiosk: KioskConfig) -> WyomingServer:
        return WyomingServer(lambda: Config(kiosk=kiosk), unheard_engine, names)

    for host in ("0.0.0.0", "::", "192.0.2.7", "example.org"):
        with pytest.raises(ConfigError, match="wyoming_allow_network"):
            make(KioskConfig(wyoming_host=host))
        require_allowed(KioskConfig(wyoming_host=host, wyoming_allow_network=True))
    for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost"):
        require_allowed(KioskConfig(wyoming_host=host))
        assert is_loopback(host)


async def test_a_port_in_use_is_told() -> None:
    """With the key to set."""
    async with wyoming_rig() as rig:

        async def names() -> tuple[str, ...]:
            return ()

        config = Config(kiosk=KioskConfig(wyoming_port=rig.server.port))
        second = WyomingServer(lambda: config, unheard_engine, names)
        with pytest.raises(ConfigError, match=r"kiosk\.wyoming_port"):
            await second.start()
        await second.aclose()


async def test_what_nobody_reaches_is_not_announced() -> None:
    """Home Assistant would look for it in vain."""
    with pytest.raises(ConfigError, match="announces nothing that others could reach"):
        async with wyoming_rig(zeroconf=True):
            raise AssertionError("it must not start")


async def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what installs them."""
    monkeypatch.setitem(sys.modules, "zeroconf", None)
    with pytest.raises(ConfigError, match=r"zeroconf.*pip install 'nearfield\[kiosk\]'"):
        async with discovery.announced(1, ["127.0.0.1"]):
            pass
    monkeypatch.setitem(sys.modules, "ifaddr", None)
    with pytest.raises(ConfigError, match=r"ifaddr.*pip install 'nearfield\[kiosk\]'"):
        reachable_addresses("0.0.0.0")
    monkeypatch.delitem(sys.modules, "app.headless.wyoming.client")
    monkeypatch.setitem(sys.modules, "wyoming.audio", None)

    async def names() -> tuple[str, ...]:
        return ()

    with pytest.raises(ConfigError, match=r"wyoming.*pip install 'nearfield\[kiosk\]'"):
        WyomingServer(Config, unheard_engine, names)


def test_the_addresses_under_which_a_server_is_reached() -> None:
    """One that is named, or all that this machine has."""
    assert reachable_addresses("192.0.2.7") == ["192.0.2.7"]
    assert reachable_addresses("127.0.0.1") == []
    assert reachable_addresses("::1") == []
    assert "127.0.0.1" not in reachable_addresses("0.0.0.0")
