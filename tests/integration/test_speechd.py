"""spd-say → speech-dispatcher → our output module → a real sound server, as a screen reader would have it."""

from __future__ import annotations

import asyncio
import socket
import statistics
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import numpy as np

import assets
from decoder.streaming import load_decoder
from server.emulator import Emulator, SyntheticTalker
from server.emulator.talkers import demo_spec
from tests.helpers.pulse import SINK, PrivatePulse, aligned
from tests.helpers.speech_dispatcher import PrivateSpeechDispatcher
from tests.helpers.timed_recorder import TimedRecorder
from tests.helpers.waiting import eventually

TEXT = "What a screen reader says is heard here, and all of it."
LONG = "This goes on and on for so long that whoever listens will want to hear something else. " * 4
LSB = 1 / 32768


@dataclass
class Rig:
    pulse: PrivatePulse
    emulator: Emulator
    dispatcher: PrivateSpeechDispatcher

    async def say(self, *words: str, wait: bool = True) -> str:
        return await asyncio.to_thread(self.dispatcher.say, *words, wait=wait)


@asynccontextmanager
async def screen_reader() -> AsyncIterator[Rig]:
    with PrivatePulse() as pulse:
        async with Emulator(SyntheticTalker(demo_spec())) as emulator:
            dispatcher = PrivateSpeechDispatcher(
                pulse.env,
                {
                    "server.url": emulator.url,
                    "decoder.checkpoint": str(assets.folder("demo_voice")),
                    "audio.latency_s": "0.2",
                    "audio.start_buffer_s": "0.4",
                },
            )
            await asyncio.to_thread(dispatcher.__enter__)
            try:
                yield Rig(pulse, emulator, dispatcher)
            finally:
                await asyncio.to_thread(dispatcher.__exit__, None, None, None)


async def test_what_a_screen_reader_says_is_heard() -> None:
    """Every sample once; voices are listed, and voice, language and volume are taken."""
    async with screen_reader() as rig:
        assert "nearfield" in await rig.say("--list-output-modules", wait=False)
        recorder = rig.pulse.record()
        await rig.say(TEXT)
        await asyncio.sleep(0.3)  # what the sound server still holds
        recording = recorder.stop()
        (said,) = rig.emulator.utterances
        assert said.text == TEXT
        whole = load_decoder(assets.folder("demo_voice")).new_stream().decode(said.codes)
        assert np.abs(aligned(recording, whole) - whole).max() <= 1.5 * LSB

        voices = await rig.say("--list-synthesis-voices", wait=False)
        assert "vivian" in voices
        await rig.say("--synthesis-voice", "vivian", "--language", "de", "--volume", "-50", "Leise.")
        said = rig.emulator.utterances[-1]
        assert (said.text, said.config.voice, said.config.language) == ("Leise.", "vivian", "German")
        await rig.say("--rate", "80", "--spelling", "ok")
        assert rig.emulator.utterances[-1].text == "o, k"
        assert "the pace of speech cannot be changed" in rig.dispatcher.log


async def test_it_is_silent_when_it_is_cut_short() -> None:
    """After a cancel within 50 ms, though the device holds 200 ms; a pause goes on with its sentence."""
    async with screen_reader() as rig:
        await rig.say("Ready.")
        with TimedRecorder(rig.pulse.env, SINK) as recorder, rig.dispatcher.connect() as client:
            ask = _asker(client)
            silent_after_ms = []
            for _ in range(7):
                await rig.say(LONG, wait=False)
                await _in_mid_sound(recorder)
                asked_s = time.perf_counter()
                ask("CANCEL all")
                await asyncio.sleep(0.5)
                silent_after_ms.append(1000 * (recorder.last_sound_s(1e-3) - asked_s))
            print("cancel to silence, ms:", [round(ms) for ms in silent_after_ms])
            assert min(silent_after_ms) > -50, "there was sound when it was asked for silence"
            # The recorder adds some of it, and whatever else the machine does.
            assert statistics.median(silent_after_ms) < 100
            assert min(silent_after_ms) < 50

            await rig.say(LONG, wait=False)
            await _in_mid_sound(recorder)
            asked_s = time.perf_counter()
            await rig.say("--cancel", wait=False)
            await asyncio.sleep(0.5)
            print("spd-say --cancel to silence, ms:", round(1000 * (recorder.last_sound_s(1e-3) - asked_s)))
            assert recorder.last_sound_s(1e-3) - asked_s < 0.25

            ask("SET SELF CLIENT_NAME tests:reader:main")
            ask("SPEAK")
            ask("The first sentence. The second sentence, which is longer. The third.\r\n.")
            await _in_mid_sound(recorder)
            ask("PAUSE SELF")
            await asyncio.sleep(0.5)
            paused_s = recorder.last_sound_s(1e-3)
            await asyncio.sleep(0.5)
            assert recorder.last_sound_s(1e-3) == paused_s
            ask("RESUME SELF")
            await eventually(lambda: recorder.last_sound_s(1e-3) > paused_s, 10.0, "the rest")
            whole, rest = (u.text for u in list(rig.emulator.utterances)[-2:])
            assert whole.startswith("The first sentence.")
            assert whole.endswith(rest)
            assert rest.startswith("The ")


def _asker(client: socket.socket) -> Callable[[str], None]:
    """Return what sends a command and takes its answer, as a screen reader does."""
    answers = client.makefile("r", newline="\r\n")

    def ask(command: str) -> None:
        client.sendall(f"{command}\r\n".encode())
        while (line := answers.readline())[3:4] == "-":
            pass
        assert line[:1] == "2", line

    return ask


async def _in_mid_sound(recorder: TimedRecorder) -> None:
    """Wait until the sound of a text has been heard for half a second."""
    asked_s = time.perf_counter()
    await eventually(lambda: recorder.last_sound_s(1e-3) > asked_s, 30.0, "the sound")
    await asyncio.sleep(0.5)
    await eventually(lambda: time.perf_counter() - recorder.last_sound_s(1e-3) < 0.05, 10.0, "sound")
