from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import pytest

from app.config import Config, ServerConfig
from app.desk.request import Request
from app.engine.events import Progress, UtteranceDone
from app.engine.host import EngineReplaced
from app.engine.state import Stage
from app.headless.http import looks
from app.headless.http.told import SHOWN_CHARS
from app.session.events import LinkState
from decoder.wire.events import Mode, Outcome
from server.emulator import Emulator, Scenario
from tests.helpers.counting_talker import CountingTalker
from tests.helpers.fake_desk import READY, REPORT, FakeDesk
from tests.helpers.http_rig import HttpRig, http_rig
from tests.helpers.servers import silent, tcp_server
from tests.helpers.waiting import eventually


@dataclass(frozen=True)
class ServerSentEvent:
    id: str
    name: str
    body: dict[str, Any]


@dataclass
class EventReader:
    """Reads a stream of events as a browser does."""

    answer: aiohttp.ClientResponse

    async def next(self) -> ServerSentEvent:
        while True:
            block = (await asyncio.wait_for(self.answer.content.readuntil(b"\n\n"), 5)).decode()
            fields = dict(line.split(": ", 1) for line in block.strip().split("\n"))
            if "data" in fields:
                return ServerSentEvent(fields["id"], fields["event"], json.loads(fields["data"]))


@asynccontextmanager
async def events(rig: HttpRig, last: str = "") -> AsyncIterator[EventReader]:
    headers = {"Last-Event-ID": last} if last else {}
    before = rig.server.readers
    async with rig.client.get(rig.url + "/events", headers=headers) as answer:
        assert answer.status == 200
        assert answer.content_type == "text/event-stream"
        await eventually(lambda: rig.server.readers > before)
        yield EventReader(answer)


# -- events ------------------------------------------------------------------------------------------------


async def test_events_come_in_order_with_numbers_that_can_be_gone_on_from() -> None:
    async with http_rig() as rig:
        async with events(rig) as reader:
            await rig.post("/speak", json={"text": "One. Two.", "id": "a"})
            told = [await reader.next() for _ in range(4)]
        assert [each.name for each in told] == ["queued", "started", "sentence", "finished"]
        assert all(each.body["id"] == "a" for each in told)
        assert told[-1].body["played_ms"] == 1000
        assert told[-1].body["report"]["ttfa_s"] == 0.2
        await eventually(lambda: rig.server.readers == 0)
        await rig.post("/speak", json={"text": "Missed.", "id": "b"})
        async with events(rig, last=told[1].id) as reader:
            again = [await reader.next() for _ in range(6)]
        assert [(each.body["id"], each.name) for each in again] == [
            ("a", "sentence"), ("a", "finished"),
            ("b", "queued"), ("b", "started"), ("b", "sentence"), ("b", "finished"),
        ]  # fmt: skip


async def test_interrupted_and_failed_say_how_far_they_came() -> None:
    desk = FakeDesk(at_once=False)
    async with http_rig(desk) as rig, events(rig) as reader:
        desk.speak(Request("One.", id="a"))
        desk.speak(Request("Two.", id="b"))
        desk.fail(desk.begin_next(), "the server went away")
        desk.stop("b")
        told = {}
        while set(told) != {"a", "b"}:
            event = await reader.next()
            if "played_ms" in event.body:
                told[event.body["id"]] = event
        assert (told["a"].name, told["a"].body["reason"]) == ("failed", "the server went away")
        assert (told["a"].body["played_ms"], told["b"].body["played_ms"]) == (1000, 0)
        assert (told["b"].name, told["b"].body["why"]) == ("interrupted", "stopped")


async def test_after_a_restart_whatever_is_remembered_is_new() -> None:
    async with http_rig() as rig:
        await rig.post("/speak", json={"text": "One."})
        for last in ("0badcafe-77", "nonsense", "-3"):
            async with events(rig, last) as reader:
                if last == "0badcafe-77":
                    assert (await reader.next()).name == "queued"
            await eventually(lambda: rig.server.readers == 0)


async def test_a_silent_stream_is_kept_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "KEEP_ALIVE_S", 0.05)
    async with http_rig() as rig, events(rig) as reader:
        for _ in range(3):
            line = b""
            while not line.startswith(b":"):
                line = await asyncio.wait_for(reader.answer.content.readline(), 5)


async def test_a_reader_that_takes_nothing_is_dropped_and_holds_nobody_up() -> None:
    """Its socket is full, then its queue, then it is gone; another reads on."""
    async with http_rig() as rig, events(rig) as good:
        host, _, port = rig.url.removeprefix("http://").rpartition(":")
        _, writer = await asyncio.open_connection(host, int(port), limit=1024)
        writer.write(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await eventually(lambda: rig.server.readers == 2)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        seen = 0
        text = "long " * 4000
        while rig.server.readers == 2:
            rig.desk.speak(Request(text))
            while (await good.next()).name != "finished":
                pass
            seen += 1
            assert seen < 20_000
        assert rig.server.readers == 1
        writer.transport.abort()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)


async def test_so_many_readers_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "MOST_READERS", 1)
    async with http_rig() as rig, events(rig):
        status, body = await rig.get("/events")
        assert (status, body["error"]["code"]) == (429, "too_many_readers")


# -- status ------------------------------------------------------------------------------------------------


async def test_the_status_tells_all_there_is() -> None:
    desk = FakeDesk(at_once=False, now=replace(READY, last=REPORT))
    async with http_rig(desk) as rig:
        for name in ("a", "b"):
            desk.speak(Request(f"Text {name}.", id=name, source="test", priority=2))
        desk.begin_next()
        desk.pause()
        status, body = await rig.get("/status")
    assert status == 200
    assert body["healthy"]
    assert body["link"] == {"state": "ready", "detail": "ws://127.0.0.1:8001", "mode": Mode.CODEC.value}
    assert body["decoder"] == {"ready": True, "detail": "warm", "rtf": 0.5}
    assert body["output"] == {"name": "ALSA: fake", "detail": "opened", "audible": True}
    assert body["paused"] is True
    assert (body["speaking"]["id"], body["speaking"]["heard_ms"]) == ("a", 500)
    assert [(each["id"], each["priority"]) for each in body["queue"]] == [("b", 2)]
    assert body["last"]["ttfa_s"] == 0.2
    assert body["now"] is None


async def test_of_a_long_text_the_beginning_is_told() -> None:
    desk = FakeDesk(at_once=False)
    async with http_rig(desk) as rig, events(rig) as reader:
        await rig.post("/speak", json={"text": "word " * 10_000})
        assert len((await reader.next()).body["text"]) == SHOWN_CHARS
        (waiting,) = (await rig.get("/status"))[1]["queue"]
        assert (len(waiting["text"]), waiting["text"][-1]) == (SHOWN_CHARS, "…")


async def test_the_numbers_of_what_is_heard_are_in_the_status() -> None:
    """The next utterance is received meanwhile; what is shown is of the one that is heard."""
    async with http_rig() as rig:
        for number in (3, 4):
            rig.desk.tell_watchers(Progress(number, Stage.PLAYING, replace(REPORT, buffered_s=number / 10)))
        assert (await rig.get("/status"))[1]["now"]["report"]["buffered_s"] == 0.3
        rig.desk.tell_watchers(UtteranceDone(3, "Hi", Outcome.COMPLETE, "", REPORT))
        assert (await rig.get("/status"))[1]["now"]["report"]["buffered_s"] == 0.4
        rig.desk.tell_watchers(EngineReplaced(None))
        assert (await rig.get("/status"))[1]["now"] is None


# -- health ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"link": LinkState.OFFLINE, "link_detail": "refused"}, "server: offline, refused"),
        ({"link": LinkState.CONNECTING, "link_detail": ""}, "server: connecting"),
        ({"decoder_ready": False, "decoder_detail": "preparing"}, "decoder: preparing"),
        ({"audible": False, "output": "auto_null", "output_detail": "a dummy sink"}, "sound: a dummy sink"),
        ({"audible": False, "output": None, "output_detail": ""}, "sound: no output"),
    ],
)
async def test_health_is_green_only_if_a_text_would_be_heard_now(change: dict[str, Any], word: str) -> None:
    async with http_rig(FakeDesk(now=replace(READY, **change))) as rig:
        status, body = await rig.get("/healthz")
        assert (status, body) == (503, {"ok": False, "reasons": [word]})
        assert (await rig.get("/readyz"))[0] == (
            200 if READY.decoder_ready and "decoder" not in word else 503
        )
        rig.desk.now = READY
        assert await rig.get("/healthz") == (200, {"ok": True, "reasons": []})


async def test_a_server_that_decodes_needs_no_decoder_here() -> None:
    now = replace(READY, mode=Mode.PCM, decoder_ready=False, decoder_detail="no checkpoint")
    async with http_rig(FakeDesk(now=now)) as rig:
        assert (await rig.get("/healthz"))[0] == 200
        assert (await rig.get("/readyz"))[0] == 200


async def test_while_the_link_sleeps_the_server_is_looked_for() -> None:
    """Nobody speaks, so nothing else would notice that it is gone (C9)."""
    now = replace(READY, link=LinkState.ASLEEP, link_detail="idle")
    async with tcp_server(silent) as port:
        config = Config(server=ServerConfig(url=f"ws://127.0.0.1:{port}"))
        async with http_rig(FakeDesk(config, now=now)) as rig:
            assert (await rig.get("/healthz"))[0] == 200
    async with http_rig(FakeDesk(config, now=now)) as rig:
        status, body = await rig.get("/healthz")
        assert status == 503
        assert f"cannot reach ws://127.0.0.1:{port}" in body["reasons"][0]


# -- voices ------------------------------------------------------------------------------------------------


async def test_the_servers_voices_are_listed() -> None:
    async with Emulator(CountingTalker(), Scenario()) as emulator:
        config = Config(server=ServerConfig(url=emulator.url))
        async with http_rig(FakeDesk(config)) as rig:
            expected = {"voices": ["vivian"], "uploaded": [], "configured": None}
            assert await rig.get("/voices") == (200, expected)
    async with http_rig(FakeDesk(config)) as rig:
        status, body = await rig.get("/voices")
        assert (status, body["error"]["code"]) == (503, "unreachable")


async def test_the_list_is_not_asked_for_with_every_request() -> None:
    async with AsyncExitStack() as running:
        emulator = await running.enter_async_context(Emulator(CountingTalker(), Scenario()))
        config = Config(server=ServerConfig(url=emulator.url))
        async with http_rig(FakeDesk(config)) as rig:
            first = await rig.get("/voices")
            await running.aclose()
            assert await rig.get("/voices") == first
