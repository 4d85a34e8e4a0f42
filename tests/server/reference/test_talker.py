"""Turns at one model: who is next, who leaves, and that what fails is nobody else's. The model is a fake."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from decoder.spec import CodecSpec
from decoder.wire.messages import SessionConfig
from decoder.wire.packets import Codes
from server.emulator import Emulator, Scenario
from server.emulator.speech import GenerationError
from server.reference.errors import NotLoaded
from server.reference.model import Clone, Steps
from server.reference.reference_audio import AudioPolicy, Sample
from server.reference.script import Facts, Script, Voice
from server.reference.talker import KEPT_CLONES, WARM_UP_TEXT, ReferenceTalker
from tests.helpers.reference_rig import data_uri, reference_wav
from tests.helpers.waiting import eventually
from tests.server.emulator.wire_client import client

ANY = SessionConfig()


@dataclass
class StepwiseModel:
    """Says the code of the text's first letter, a frame for each later letter, a step when it is told to.

    Not realistic: it takes no time, and a step never fails but for the letter "!".
    """

    task: str = "CustomVoice"
    free: bool = True
    """Steps are not waited for."""
    begun: list[str] = field(default_factory=list)
    steps: int = 0
    """Steps that were begun."""
    listened: list[Voice] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)
    _gate: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    _busy: threading.Lock = field(default_factory=threading.Lock)

    @property
    def facts(self) -> Facts:
        return Facts("stepwise", self.task, CodecSpec(), ("vivian", "eric"), ("auto",), 2)

    def step(self, count: int = 1) -> None:
        self._gate.release(count)

    def speak(self, script: Script, clone: Clone | None, steps: Steps) -> None:
        assert self._busy.acquire(blocking=False), "two runs at once"
        try:
            self.threads.add(threading.get_ident())
            if script.text != WARM_UP_TEXT:
                self.begun.append(script.text)
            for letter in script.text[1:]:
                steps.check()
                self.steps += 1
                if not self.free and script.text != WARM_UP_TEXT:
                    assert self._gate.acquire(timeout=10)
                if letter == "!":
                    raise RuntimeError("CUDA out of memory")
                steps.take(np.full((1, 16), ord(script.text[0]), np.int16))
        finally:
            self._busy.release()

    def clone(self, voice: Voice, sample: Sample | None) -> Clone:
        self.listened.append(voice)
        if voice.text == "unheard of":
            raise ValueError("the recording is silent")
        codes = np.repeat(np.arange(100, dtype=np.int16)[:, None], 16, axis=1)
        return Clone(voice, None if voice.x_vector_only else codes)

    def silence(self) -> Codes:
        return np.full((1, 16), 9, np.int16)


@asynccontextmanager
async def open_talker(model: StepwiseModel) -> AsyncIterator[ReferenceTalker]:
    async with ReferenceTalker(model) as talker:
        try:
            yield talker
        finally:
            model.step(1000)


async def said(talker: ReferenceTalker, text: str, config: SessionConfig = ANY) -> str:
    frames = [codes async for codes in talker.frames(text, config)]
    return "".join(chr(codes[0, 0]) for codes in frames)


async def begun(model: StepwiseModel, count: int) -> None:
    await eventually(lambda: len(model.begun) == count, 5.0, f"the beginning of text {count}")


async def test_frames_come_one_by_one_as_they_are_made() -> None:
    model = StepwiseModel(free=False)
    async with open_talker(model) as talker:
        frames = talker.frames("abcd", ANY)
        for _ in range(3):
            waiting = asyncio.ensure_future(anext(frames))
            await asyncio.sleep(0)
            assert not waiting.done()
            model.step()
            assert (await waiting).shape == (1, 16)
        with pytest.raises(StopAsyncIteration):
            await anext(frames)
        assert not talker.generating


async def test_texts_are_spoken_one_after_the_other_in_the_order_of_asking() -> None:
    model = StepwiseModel()
    async with open_talker(model) as talker:
        texts = [f"{letter}{'.' * 20}" for letter in "qwertyuiop"]
        heard = await asyncio.gather(*(said(talker, text) for text in texts))
    assert heard == [text[0] * 20 for text in texts]
    assert model.begun == texts
    assert len(model.threads) == 1
    assert threading.get_ident() not in model.threads


async def test_one_that_waits_can_leave_and_costs_no_step() -> None:
    model = StepwiseModel(free=False)
    async with open_talker(model) as talker:
        tasks = [asyncio.create_task(said(talker, text)) for text in ("a12", "b12", "c12", "d12")]
        await begun(model, 1)
        assert talker.generating == 1
        tasks[1].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[1]
        model.step(6)
        assert [await tasks[n] for n in (0, 2, 3)] == ["aa", "cc", "dd"]
        assert model.begun == ["a12", "c12", "d12"]


async def test_one_that_speaks_ends_before_its_next_step() -> None:
    model = StepwiseModel(free=False)
    async with open_talker(model) as talker:
        frames = talker.frames("a" * 100, ANY)
        model.step()
        await anext(frames)
        await eventually(lambda: model.steps == 2, 5.0, "the second step")
        await frames.aclose()
        model.step()
        assert await said(talker, "b") == ""
        assert model.begun == ["a" * 100, "b"]
        assert model.steps == 2
        assert not talker.generating


async def test_what_fails_is_told_to_the_one_who_asked_and_the_next_is_spoken() -> None:
    model = StepwiseModel()
    async with open_talker(model) as talker:
        frames = talker.frames("a1!2", ANY)
        await anext(frames)
        with pytest.raises(RuntimeError, match="out of memory"):
            await anext(frames)
        assert await said(talker, "b12") == "bb"
        with pytest.raises(GenerationError, match="does task_type CustomVoice only"):
            await said(talker, "x", SessionConfig(task_type="Base", speaker_embedding=[1, 2]))


async def test_a_failure_reaches_its_client_and_nobody_else() -> None:
    async with (
        open_talker(StepwiseModel()) as talker,
        Emulator(talker, Scenario(pace=0)) as server,
        client(server.url) as c,
        client(server.url) as other,
    ):
        await c.configure()
        await other.configure()
        heard, fine = await asyncio.gather(c.say("a1!"), other.say("b12"))
        message = heard.json("error")["message"]
        assert message == "Generation failed for utterance 0, sentence 0: CUDA out of memory"
        assert heard.json("codec.done")["error"] is True
        assert len(fine.codes) == 2
        assert len((await c.say("c12")).codes) == 2


async def test_warming_up_gives_the_frame_of_a_pause() -> None:
    for task in ("CustomVoice", "VoiceDesign", "Base"):
        model = StepwiseModel(task)
        async with open_talker(model) as talker:
            await talker.load()
            np.testing.assert_array_equal(talker.silence(3), np.full((3, 16), 9))
            assert model.steps > 0


async def test_a_model_that_cannot_speak_is_told_before_anybody_is_let_in() -> None:
    class Broken(StepwiseModel):
        def speak(self, script: Script, clone: Clone | None, steps: Steps) -> None:
            raise RuntimeError("CUDA out of memory")

    async with open_talker(Broken()) as talker:
        with pytest.raises(NotLoaded, match="stepwise was loaded, but cannot speak: CUDA out of memory"):
            await talker.load()


async def test_the_voices_are_the_speakers_and_the_placeholder() -> None:
    async with open_talker(StepwiseModel()) as talker:
        assert talker.voices == ("default", "vivian", "eric")
        assert talker.model == "stepwise"
        assert not talker.speaks_pcm


# -- voices to clone ------------------------------------------------------------------------------------


def cloning(**fields: Any) -> SessionConfig:
    given = {"ref_audio": data_uri(reference_wav(1.0)), "ref_text": "said"} | fields
    return SessionConfig(task_type="Base", **given)


async def test_a_voice_is_listened_to_once_and_its_end_is_the_context() -> None:
    model = StepwiseModel("Base")
    async with open_talker(model) as talker:
        context = await talker.context("abc", cloning())
        assert context is not None
        assert context[:, 0].tolist() == list(range(28, 100))
        assert await said(talker, "abc", cloning()) == "aa"
        assert len(model.listened) == 1
        assert await talker.context("abc", cloning(ref_text=None, x_vector_only_mode=True)) is None
        embedding = cloning(ref_audio=None, ref_text=None, speaker_embedding=[0.5, 1])
        assert await talker.context("abc", embedding) is None
        assert len(model.listened) == 3


async def test_custom_voices_have_no_context() -> None:
    async with open_talker(StepwiseModel()) as talker:
        assert await talker.context("abc", ANY) is None


async def test_the_voices_that_were_heard_last_are_remembered() -> None:
    model = StepwiseModel("Base")
    async with open_talker(model) as talker:
        voices = [cloning(ref_text=str(n)) for n in range(KEPT_CLONES + 1)]
        for config in (*voices[:-1], voices[0], voices[-1], voices[0]):
            await talker.context("x", config)
        assert len(model.listened) == KEPT_CLONES + 1
        await talker.context("x", voices[1])
        assert len(model.listened) == KEPT_CLONES + 2


async def test_machines_that_do_not_answer_keep_nobody_waiting_who_asks_for_none() -> None:
    model = StepwiseModel("Base")
    with socket.create_server(("127.0.0.1", 0), backlog=64) as mute:
        uri = f"http://127.0.0.1:{mute.getsockname()[1]}/"
        async with ReferenceTalker(model, AudioPolicy(http=True)) as talker:
            waiting = [
                asyncio.create_task(talker.context("x", cloning(ref_audio=uri, ref_text=str(n))))
                for n in range(40)
            ]
            await asyncio.sleep(0)
            assert await asyncio.wait_for(said(talker, "abc", cloning()), 5.0) == "aa"
            assert not any(task.done() for task in waiting)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
    assert len(model.listened) == 1


async def test_a_voice_that_cannot_be_cloned_fails_its_own_text_only() -> None:
    async with (
        open_talker(StepwiseModel("Base")) as talker,
        Emulator(talker, Scenario(pace=0)) as server,
        client(server.url) as c,
    ):
        for fields, text in (
            ({"ref_text": "unheard of"}, "the recording is silent"),
            ({"ref_audio": "file:///etc/passwd"}, "this server reads no files"),
            ({"ref_audio": "data:audio/wav;base64,AAAA"}, "no sound that can be read"),
        ):
            config = {"task_type": "Base", "ref_audio": data_uri(reference_wav()), "ref_text": "x"} | fields
            for accepts in (True, False):
                await c.configure(**config, accept_codec_context=accepts)
                heard = await c.say("abc")
                assert text in heard.json("error")["message"]
                assert heard.types == ["codec.start", "error", "codec.done", "session.done"]
        await c.configure(task_type="Base", ref_audio=data_uri(reference_wav()), ref_text="x")
        assert len((await c.say("abc")).codes) == 2
