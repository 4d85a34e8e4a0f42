from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import pytest
from aiohttp import web
from mcp.client import Client

from app.config import Config, KioskConfig
from app.desk.desk import Desk
from app.errors import ConfigError, NearfieldError, Refused
from app.headless.mcp import through_desk as through_desk_module
from app.headless.mcp.finding import FoundSpeaker
from app.headless.mcp.run import run
from app.headless.mcp.speaker import Speaker, Spoken, Voices
from app.headless.mcp.through_desk import ThroughDesk, of_this_process
from app.headless.mcp.through_http import NoKiosk, ThroughHttp, find, url_of
from app.headless.mcp.tools import server
from tests.helpers.fake_desk import READY, FakeDesk
from tests.helpers.http_rig import HttpRig, http_rig
from tests.helpers.waiting import eventually


@asynccontextmanager
async def tools(speaker: Speaker) -> AsyncIterator[Client]:
    """A client of the tools, in this process."""

    async def get() -> Speaker:
        return speaker

    async with Client(server(get)) as client:
        yield client


@asynccontextmanager
async def found(rig: HttpRig, **kiosk: Any) -> AsyncIterator[ThroughHttp]:
    """The kiosk that the rig is."""
    port = int(rig.url.rpartition(":")[2])
    speaker = await find(KioskConfig(http_port=port, **kiosk))
    try:
        yield speaker
    finally:
        await speaker.aclose()


@pytest.fixture(params=["desk", "http"])
async def both(request: pytest.FixtureRequest) -> AsyncIterator[tuple[FakeDesk, Speaker]]:
    """A speaker of each kind, and the desk behind it."""
    desk = FakeDesk(at_once=False)
    if request.param == "desk":
        yield desk, ThroughDesk(cast(Desk, desk))
        return
    async with http_rig(desk) as rig, found(rig) as speaker:
        yield desk, speaker


async def test_the_tools_describe_themselves() -> None:
    """Four of them, each with words for the assistant and for every field."""
    async with tools(ThroughDesk(cast(Desk, FakeDesk()))) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(listed) == {"speak", "stop", "status", "voices"}
        assert all(tool.description for tool in listed.values())
        fields = listed["speak"].input_schema["properties"]
        assert set(fields) == {"text", "voice", "interrupt", "wait"}
        assert all(field["description"] for field in fields.values())
        assert listed["speak"].input_schema["required"] == ["text"]
        assert listed["status"].annotations is not None
        assert listed["status"].annotations.read_only_hint
        assert client.instructions is not None
        assert "loudspeaker" in client.instructions


async def test_speaking_without_waiting(both: tuple[FakeDesk, Speaker]) -> None:
    """The answer comes at once, with the id by which it can be stopped."""
    desk, speaker = both
    async with tools(speaker) as client:
        result = await client.call_tool("speak", {"text": "Hello.", "voice": "ryan", "interrupt": "now"})
        assert not result.is_error
        assert result.structured_content is not None
        assert result.structured_content["outcome"] == "queued"
        request = desk.requests[0].request
        assert (request.text, request.voice, request.interrupt.value) == ("Hello.", "ryan", "now")
        name = result.structured_content["id"]
        assert (await client.call_tool("stop", {"id": name})).structured_content == {"stopped": True}
        assert (await client.call_tool("stop", {"id": name})).structured_content == {"stopped": False}
        assert desk.in_flight == []
        assert (await client.call_tool("stop", {})).structured_content == {"stopped": False}


@pytest.mark.parametrize("how", ["finished", "interrupted", "failed"])
async def test_waiting_for_the_end(both: tuple[FakeDesk, Speaker], how: str) -> None:
    """However it ends, it is told with what was heard."""
    desk, speaker = both
    asked = asyncio.ensure_future(speaker.speak("One. Two.", None, "no", True))
    await eventually(lambda: bool(desk.in_flight) and not desk.in_flight[0].is_open, 5.0, "the text")
    if how == "finished":
        desk.speak_next()
    elif how == "interrupted":
        desk.stop()
    else:
        desk.fail(desk.in_flight[0], "expired")
    spoken = await asyncio.wait_for(asked, 5)
    why = {"finished": "", "interrupted": "stopped", "failed": "expired"}[how]
    assert (spoken.outcome, spoken.detail) == (how, why)
    assert spoken.id == desk.requests[0].ticket.id
    assert spoken.played_ms is not None


async def test_whoever_stops_waiting_is_silent(both: tuple[FakeDesk, Speaker]) -> None:
    """An assistant that is interrupted by its person does not talk on."""
    desk, speaker = both
    asked = asyncio.ensure_future(speaker.speak("One. Two.", None, "no", True))
    await eventually(lambda: bool(desk.in_flight) and not desk.in_flight[0].is_open, 5.0, "the text")
    await asyncio.sleep(0.05)  # the kiosk's first word about it is on its way
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    await eventually(lambda: desk.in_flight == [], 5.0, "the end of the text")


async def test_what_is_going_on(both: tuple[FakeDesk, Speaker]) -> None:
    """What is heard, what waits, and whether it would be heard."""
    desk, speaker = both
    desk.now = replace(READY, output=None, audible=False, output_detail="no device")
    await speaker.speak("One.", None, "no", False)
    desk.begin_next()
    await speaker.speak("Two.", None, "no", False)
    async with tools(speaker) as client:
        status = (await client.call_tool("status", {})).structured_content
        assert status is not None
        assert status["speaking"]["text"] == "One."
        assert [waiting["text"] for waiting in status["queue"]] == ["Two."]
        assert status["healthy"] is False
        assert status["output"]["detail"] == "no device"


async def test_errors_are_words_with_a_next_step(both: tuple[FakeDesk, Speaker]) -> None:
    """The tool fails; the assistant reads why."""
    _, speaker = both
    async with tools(speaker) as client:
        for wait in (False, True):
            result = await client.call_tool("speak", {"text": "…", "wait": wait})
            assert result.is_error
            assert "nothing to say" in str(result.content)
        for wrong in ({"text": "x", "interrupt": "maybe"}, {"text": "x", "voice": "v" * 5000}, {}):
            assert (await client.call_tool("speak", wrong)).is_error


async def test_voices_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's, by way of its list."""

    class Known:
        def __init__(self, config: object) -> None:
            pass

        async def names(self) -> tuple[str, ...]:
            return ("ryan", "vivian")

    monkeypatch.setattr(through_desk_module, "KnownVoices", Known)
    async with tools(ThroughDesk(cast(Desk, FakeDesk()))) as client:
        result = await client.call_tool("voices", {})
        assert result.structured_content == {"voices": ["ryan", "vivian"], "configured": None}


async def test_a_server_without_a_list_is_told_by_the_kiosk() -> None:
    """As an error in words."""
    async with http_rig() as rig, found(rig) as speaker:
        with pytest.raises(NearfieldError, match="cannot reach"):
            await speaker.voices()


async def test_the_kiosk_is_found_with_its_token() -> None:
    """Without it, or with another, it is said which one is wanted; the texts are taken with it."""
    token = "t" * 20
    async with http_rig(http_token=token) as rig:
        for kiosk in ({}, {"http_token": "wrong"}):
            with pytest.raises(Refused, match="NEARFIELD_KIOSK_HTTP_TOKEN"):
                async with found(rig, **kiosk):
                    pass
        async with found(rig, http_token=token) as speaker:
            assert (await speaker.speak("Hello.", None, "no", False)).outcome == "queued"
            assert (await speaker.speak("Hello.", None, "no", True)).outcome == "finished"


async def test_where_no_kiosk_is_none_is_found() -> None:
    """Neither nothing nor another program is taken for one."""
    with pytest.raises(NoKiosk, match=r"127\.0\.0\.1:9"):
        await find(KioskConfig(http_port=9))

    async def handle(request: web.BaseRequest) -> web.Response:
        return web.Response(text="hello")

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        with pytest.raises(NoKiosk, match="no kiosk"):
            await find(KioskConfig(http_port=runner.addresses[0][1]))
    finally:
        await runner.cleanup()


def test_where_a_kiosk_is_asked() -> None:
    """One that listens everywhere is reached at this machine's own address."""
    for host, url in (
        ("127.0.0.1", "http://127.0.0.1:8181"),
        ("0.0.0.0", "http://127.0.0.1:8181"),
        ("::", "http://[::1]:8181"),
        ("box.local", "http://box.local:8181"),
    ):
        assert url_of(KioskConfig(http_host=host)) == url


class Counted:
    """A speaker that notes what it is asked, and may have gone."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.is_gone = False
        self.is_closed = False

    async def speak(self, text: str, voice: str | None, interrupt: str, wait: bool) -> Spoken:
        if self.is_gone:
            raise NoKiosk("gone")
        self.texts.append(text)
        return Spoken("1", "queued")

    async def stop(self, id: str | None) -> bool:  # noqa: A002
        return True

    async def status(self) -> dict[str, Any]:
        return {}

    async def voices(self) -> Voices:
        return Voices([], None)

    async def aclose(self) -> None:
        self.is_closed = True


async def test_a_running_kiosk_is_preferred_and_its_end_survived(caplog: pytest.LogCaptureFixture) -> None:
    """Once it has gone, what was not taken is spoken by this process, which is made once."""
    kiosk, own = Counted(), Counted()
    made = []

    async def look() -> Speaker:
        if kiosk.is_gone:
            raise NoKiosk("no kiosk answers")
        return kiosk

    @asynccontextmanager
    async def make() -> AsyncIterator[Speaker]:
        made.append(True)
        yield own
        made.append(False)

    speaker = FoundSpeaker(look, make)
    with caplog.at_level(logging.INFO):
        await asyncio.gather(*(speaker.speak(f"{n}", None, "no", False) for n in range(3)))
        assert sorted(kiosk.texts) == ["0", "1", "2"]
        kiosk.is_gone = True
        await speaker.speak("3", None, "no", False)
        await speaker.speak("4", None, "no", False)
    assert own.texts == ["3", "4"]
    assert made == [True]
    assert kiosk.is_closed
    assert await speaker.stop(None)
    assert await speaker.status() == {}
    assert (await speaker.voices()).voices == []
    await speaker.aclose()
    assert made == [True, False]


async def test_a_speaker_of_this_process_ends_with_a_whole_sentence() -> None:
    """The desk is given its grace."""
    desk = FakeDesk(config=Config(kiosk=KioskConfig(grace_s=1.5)))
    async with of_this_process(cast(Desk, desk)):
        pass
    assert desk.closed_with_grace_s == 1.5


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what installs it."""
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    with pytest.raises(ConfigError, match=r"pip install 'nearfield\[kiosk\]'"):
        run(Config(), is_demo=False)


async def test_a_kiosk_that_ends_in_mid_sentence_is_told() -> None:
    """Whoever waits does not wait forever."""
    desk = FakeDesk(at_once=False)
    async with http_rig(desk) as rig, found(rig) as speaker:
        asked = asyncio.ensure_future(speaker.speak("One.", None, "no", True))
        await eventually(lambda: bool(desk.in_flight) and not desk.in_flight[0].is_open, 5.0, "the text")
        await rig.server.aclose()
        with pytest.raises(NearfieldError):
            await asyncio.wait_for(asked, 5)
        with pytest.raises(NoKiosk):
            await speaker.stop(None)
