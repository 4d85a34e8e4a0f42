from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from app.config import AudioConfig, Config, VoiceConfig
from app.desk.desk import Desk
from app.desk.status import Speaking
from app.headless.speechd import module as module_under_test
from app.headless.speechd.module import Module
from app.headless.speechd.protocol import Debug
from app.headless.speechd.run import converse
from tests.helpers.fake_desk import FakeDesk
from tests.helpers.waiting import eventually

SPEAK = ("SPEAK", '<speak>One two.<mark name="m1"/> Three four.</speak>', ".")
TOLD = ["202 OK RECEIVING MESSAGE", "200 OK SPEAKING"]


@dataclass
class Wire:
    """Speech-dispatcher's end of the two pipes."""

    reader: asyncio.StreamReader
    lines: list[str] = field(default_factory=list)

    def say(self, *lines: str) -> None:
        self.reader.feed_data("".join(f"{line}\n" for line in lines).encode())

    async def until(self, last: str) -> list[str]:
        """Wait until the newest line is ``last``; all lines since the last time."""
        await eventually(lambda: bool(self.lines) and self.lines[-1] == last, 5.0, f"{last} in {self.lines}")
        told = list(self.lines)
        self.lines.clear()
        return told


@dataclass
class Rig:
    desk: FakeDesk
    wire: Wire
    logs: list[Debug]
    emptied: list[bool]
    """An entry for each time that the sound device was to be emptied."""
    over: asyncio.Task[None]


@asynccontextmanager
async def talking(
    desk: FakeDesk, config: Config | None = None, voices: Sequence[str] = ("vivian", "ryan")
) -> AsyncIterator[Rig]:
    wire = Wire(asyncio.StreamReader())
    logs: list[Debug] = []

    async def names() -> Sequence[str]:
        return voices

    def log_to(asked: Debug) -> bool:
        logs.append(asked)
        return asked.path != "/nowhere"

    emptied: list[bool] = []
    module = Module(
        cast(Desk, desk),
        config or Config(),
        False,
        wire.lines.extend,
        names,
        lambda: emptied.append(True),
        log_to,
    )
    over = asyncio.create_task(converse(module, wire.reader, wire.lines.extend))
    try:
        yield Rig(desk, wire, logs, emptied, over)
    finally:
        wire.reader.feed_eof()
        await over
        await module.aclose()


async def test_the_beginning_of_a_conversation() -> None:
    """Ready at once; the sound is put out here, not handed over."""
    async with talking(FakeDesk()) as rig:
        rig.wire.say("INIT")
        assert (await rig.wire.until("299 OK LOADED SUCCESSFULLY"))[:-1] == ["299-ready"]
        rig.wire.say("AUDIO", "audio_output_method=server", ".")
        assert (await rig.wire.until("303 ERROR INVALID PARAMETER OR VALUE"))[0].startswith("207")
        rig.wire.say("AUDIO", "audio_output_method=pulse", "audio_pulse_device=default", ".")
        await rig.wire.until("203 OK AUDIO INITIALIZED")
        rig.wire.say("LOGLEVEL", "log_level=3", ".")
        await rig.wire.until("203 OK LOGLEVEL SET")
        rig.wire.say("LIST VOICES")
        voices = await rig.wire.until("200 OK VOICE LIST SENT")
        assert len(voices) == 2 * 10 + 1
        assert "200-vivian\ten\tnone" in voices


async def test_a_text_is_spoken_and_its_end_told() -> None:
    """Answer, begin, mark, end, in that order."""
    async with talking(FakeDesk()) as rig:
        rig.wire.say(*SPEAK)
        assert await rig.wire.until("702 END") == [*TOLD, "701 BEGIN", "700-m1", "700 INDEX MARK", "702 END"]
        assert rig.desk.texts == ["One two. Three four."]
        request = rig.desk.requests[0].request
        assert (request.voice, request.language, request.source) == (None, None, "speech-dispatcher")


@pytest.mark.parametrize(("command", "told"), [("STOP", "703 STOP"), ("PAUSE", "704 PAUSE")])
async def test_it_is_silent_when_asked(command: str, told: str) -> None:
    """Heard or not begun, the text ends; without one nothing is told."""
    async with talking(FakeDesk(at_once=False)) as rig:
        rig.wire.say(command, *SPEAK)
        await rig.wire.until("200 OK SPEAKING")
        rig.desk.begin_next()
        rig.wire.say(command)
        assert (await rig.wire.until(told))[0] == "701 BEGIN"
        assert rig.desk.in_flight == []
        assert rig.emptied == [True]
        rig.wire.say(*SPEAK, command)
        assert await rig.wire.until(told) == [*TOLD, told]
        assert rig.emptied == [True], "nothing of it was in the device"


async def test_a_text_that_fails_is_over_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    """Speech-dispatcher waits for an end, and the log has the reason."""
    async with talking(FakeDesk(at_once=False)) as rig:
        rig.wire.say(*SPEAK)
        await rig.wire.until("200 OK SPEAKING")
        with caplog.at_level(logging.ERROR):
            rig.desk.fail(rig.desk.requests[0], "cannot reach the server")
        await rig.wire.until("703 STOP")
        assert "cannot reach the server" in caplog.text


async def test_nothing_to_say_is_over_at_once() -> None:
    """With its marks, and without a word to the server."""
    async with talking(FakeDesk()) as rig:
        rig.wire.say("SPEAK", '<speak>…<mark name="m"/></speak>', ".")
        told = await rig.wire.until("702 END")
        assert told == [*TOLD, "701 BEGIN", "700-m", "700 INDEX MARK", "702 END"]
        assert rig.desk.requests == []


async def test_one_text_at_a_time_and_none_that_is_not_taken(caplog: pytest.LogCaptureFixture) -> None:
    """A second one, and one that the desk refuses, are refused here."""
    desk = FakeDesk(at_once=False)
    async with talking(desk) as rig:
        rig.wire.say(*SPEAK)
        await rig.wire.until("200 OK SPEAKING")
        rig.wire.say(*SPEAK)
        await rig.wire.until("301 ERROR CANT SPEAK")
        rig.wire.say("STOP")
        await rig.wire.until("703 STOP")
        desk.closed_with_grace_s = 0.0
        rig.wire.say(*SPEAK)
        assert await rig.wire.until("301 ERROR CANT SPEAK") == [
            "202 OK RECEIVING MESSAGE",
            "301 ERROR CANT SPEAK",
        ]
        assert "about to end" in caplog.text


async def test_how_it_is_spoken(caplog: pytest.LogCaptureFixture) -> None:
    """Voice, language and volume are taken; that pace and pitch are not is said once."""
    desk = FakeDesk()
    config = Config(audio=AudioConfig(volume=0.8))
    async with talking(desk, config) as rig:
        rig.wire.say("SET", "rate=50", "pitch=-10", "pitch_range=0", "volume=0", "language=de-AT",
                     "synthesis_voice=ryan", "punctuation_mode=none", "voice=male1", ".")  # fmt: skip
        await rig.wire.until("203 OK SETTINGS RECEIVED")
        rig.wire.say(*SPEAK)
        await rig.wire.until("702 END")
        request = rig.desk.requests[0].request
        assert (request.voice, request.language) == ("ryan", "German")
        assert [(c.audio.volume, demo) for c, demo in desk.applied] == [(pytest.approx(0.4), False)]
        assert caplog.text.count("the pace of speech cannot be changed") == 1
        assert caplog.text.count("the pitch of the voice cannot be changed") == 1
        rig.wire.say("SET", "rate=60", "volume=0", "language=NULL", "synthesis_voice=NULL", ".", *SPEAK)
        await rig.wire.until("702 END")
        request = rig.desk.requests[1].request
        assert (request.voice, request.language) == (None, None)
        assert len(desk.applied) == 1
        assert caplog.text.count("the pace of speech") == 1


async def test_a_configured_language_stays_and_a_wrong_volume_is_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Speech-dispatcher always names a language, whatever it has heard of."""
    config = Config(voice=VoiceConfig(language="Chinese"))
    async with talking(FakeDesk(), config) as rig:
        rig.wire.say("SET", "language=en", "volume=loud", "synthesis_voice=default", ".", *SPEAK)
        await rig.wire.until("702 END")
        assert rig.desk.requests[0].request.language is None
        assert rig.desk.requests[0].request.voice is None
        assert "'loud' is no number" in caplog.text


async def test_characters_keys_sounds_and_spelling() -> None:
    """Each has a name that can be said."""
    async with talking(FakeDesk()) as rig:
        for lines in (("CHAR", "space"), ("CHAR", ".."), ("KEY", "shift_a"), ("SOUND_ICON", "new-line")):
            rig.wire.say(*lines, ".")
            await rig.wire.until("702 END")
        rig.wire.say("SET", "spelling_mode=on", ".", "SPEAK", "ok", ".")
        await rig.wire.until("702 END")
        assert rig.desk.texts == ["space", "dot", "shift a", "new line", "o, k"]


async def test_marks_within_a_sentence_are_told_while_it_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """The desk is asked how much was heard."""
    monkeypatch.setattr(module_under_test, "LOOK_S", 0.001)
    desk = FakeDesk(at_once=False)
    async with talking(desk) as rig:
        rig.wire.say("SPEAK", 'One long <mark name="here"/>sentence is heard.', ".")
        await rig.wire.until("200 OK SPEAKING")
        desk.begin_next()
        await rig.wire.until("701 BEGIN")
        heard = Speaking("spd-1", "", "", "", 0.5)
        real = desk.status
        monkeypatch.setattr(desk, "status", lambda: replace(real(), speaking=replace(heard, heard_s=1.5)))
        assert await rig.wire.until("700 INDEX MARK") == ["700-here", "700 INDEX MARK"]


async def test_the_log_goes_where_it_is_asked_to() -> None:
    """A file that cannot be written is an error, not a silence."""
    async with talking(FakeDesk()) as rig:
        rig.wire.say("DEBUG ON /tmp/x")
        await rig.wire.until("200 OK DEBUGGING ON")
        rig.wire.say("DEBUG OFF")
        await rig.wire.until("200 OK DEBUGGING OFF")
        rig.wire.say("DEBUG ON /nowhere")
        await rig.wire.until("303 ERROR INVALID PARAMETER OR VALUE")
        assert [each.path for each in rig.logs] == ["/tmp/x", "", "/nowhere"]


async def test_the_end_of_a_conversation() -> None:
    """What is heard is stopped and told before the farewell; nothing is read after it."""
    async with talking(FakeDesk(at_once=False)) as rig:
        rig.wire.say(*SPEAK, "QUIT", "LIST VOICES")
        assert await rig.wire.until("210 OK QUIT") == [*TOLD, "703 STOP", "210 OK QUIT"]
        await asyncio.wait_for(asyncio.shield(rig.over), 5)
        assert rig.wire.lines == []
