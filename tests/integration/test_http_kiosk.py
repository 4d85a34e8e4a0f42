"""Programs at the HTTP server, with the real desk, engine and socket behind it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from app.config import Config
from app.headless.http.server import HttpServer
from server.emulator import Scenario
from tests.app.headless.conftest import no_task_is_left, no_thread_is_left
from tests.helpers.counting_talker import text_for
from tests.helpers.desk_rig import DeskRig, desk_rig
from tests.helpers.engine_rig import FAST
from tests.helpers.http_rig import no_engine
from tests.helpers.waiting import eventually

__all__ = ["no_task_is_left", "no_thread_is_left"]

TEXT = {"Content-Type": "text/plain"}


@dataclass
class Program:
    """One who speaks through the kiosk and follows what becomes of it."""

    url: str
    client: aiohttp.ClientSession
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def post(self, path: str, **more: Any) -> tuple[int, Any]:
        async with self.client.post(self.url + path, **more) as answer:
            return answer.status, await answer.json()

    async def get(self, path: str) -> tuple[int, Any]:
        async with self.client.get(self.url + path) as answer:
            return answer.status, await answer.json()

    async def say(self, text: str, name: str, **more: Any) -> None:
        assert await self.post("/speak", json={"text": text, "id": name, **more}) == (202, {"id": name})

    async def follow(self) -> None:
        """Read the events until the server ends them."""
        async with self.client.get(self.url + "/events") as answer:
            while block := await answer.content.readuntil(b"\n\n"):
                lines = dict(line.split(": ", 1) for line in block.decode().strip().split("\n"))
                if "data" in lines:
                    self.events.append((lines["event"], json.loads(lines["data"])))

    def told(self, name: str) -> list[str]:
        """The events of one request, in order."""
        return [event for event, body in self.events if body["id"] == name]

    def body(self, event: str, name: str) -> dict[str, Any]:
        return next(body for kind, body in self.events if kind == event and body["id"] == name)

    async def until(self, event: str, name: str, within_s: float = 15.0) -> None:
        await eventually(lambda: event in self.told(name), within_s, f"{event} of {name}")


@dataclass
class Kiosk:
    rig: DeskRig
    server: HttpServer
    one: Program
    other: Program


@asynccontextmanager
async def kiosk(
    scenario: Scenario = FAST, *, speed: float = 20.0, patience_s: float = 0.0
) -> AsyncIterator[Kiosk]:
    def with_http(config: Config) -> Config:
        return replace(config, kiosk=replace(config.kiosk, http_port=0))

    async with desk_rig(scenario, speed=speed, patience_s=patience_s, change=with_http) as rig:
        server = HttpServer(rig.desk, no_engine)
        await server.start()
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as ours,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as theirs,
        ):
            one, other = Program(server.url, ours), Program(server.url, theirs)
            following = [asyncio.create_task(program.follow()) for program in (one, other)]
            try:
                await eventually(lambda: server.readers == 2)
                yield Kiosk(rig, server, one, other)
            finally:
                await server.aclose()
                await asyncio.gather(*following, return_exceptions=True)


async def test_a_text_is_heard_and_its_events_come_in_order() -> None:
    async with kiosk() as k:
        await k.one.say(text_for(10), "a")
        await k.one.until("finished", "a")
        assert k.one.told("a") == ["queued", "started", "sentence", "finished"]
        assert k.rig.heard_frames == list(range(1, 11))
        assert k.one.body("finished", "a")["played_ms"] == 800
        assert k.one.body("finished", "a")["report"]["frames"] == 10
        await k.other.until("finished", "a")
        assert k.other.told("a") == k.one.told("a"), "everybody is told"


async def test_two_programs_at_once_with_priority_and_interrupt() -> None:
    """One reads a long text; the other's urgent word cuts in, and its plain one waits for its turn."""
    async with kiosk(speed=4.0) as k:
        await k.one.say(text_for(60), "long")
        await k.one.until("sentence", "long")
        await k.one.say(text_for(3, 200), "last")
        await k.other.say(text_for(3, 300), "urgent", priority=5, interrupt="now")
        await k.other.say(text_for(3, 400), "early", priority=2)
        for name in ("urgent", "early", "last"):
            await k.one.until("finished", name)
        assert k.one.told("long")[-1] == "interrupted"
        cut = k.one.body("interrupted", "long")
        assert cut["why"] == "interrupted"
        assert 0 < cut["played_ms"] < 60 * 80
        ends = [body["id"] for event, body in k.one.events if event in ("finished", "interrupted")]
        assert ends == ["long", "urgent", "early", "last"]
        tail = [number for number in k.rig.heard_frames if number >= 200]
        assert tail == [300, 301, 302, 400, 401, 402, 200, 201, 202]


async def test_stop_is_silence_and_an_empty_queue() -> None:
    async with kiosk(speed=4.0) as k:
        for name in ("a", "b", "c"):
            await k.one.say(text_for(60), name)
        await k.one.until("sentence", "a")
        assert await k.other.post("/stop?id=b") == (200, {"stopped": True})
        assert [each["id"] for each in (await k.one.get("/status"))[1]["queue"]] == ["c"]
        assert await k.other.post("/stop") == (200, {"stopped": True})
        for name in ("a", "b", "c"):
            await k.one.until("interrupted", name)
        status = (await k.one.get("/status"))[1]
        assert (status["speaking"], status["queue"]) == (None, [])
        assert await k.other.post("/stop") == (200, {"stopped": False})


async def test_pause_holds_the_sound_where_it_is() -> None:
    async with kiosk(speed=4.0) as k:
        await k.one.say(text_for(40), "a")
        await k.one.until("sentence", "a")
        assert await k.other.post("/pause") == (200, {"paused": True})
        status = (await k.one.get("/status"))[1]
        assert (status["paused"], status["speaking"]["id"]) == (True, "a")
        held = len(k.rig.speaker.sounded)
        await asyncio.sleep(0.2)
        assert len(k.rig.speaker.sounded) - held < 2000
        assert await k.other.post("/resume") == (200, {"paused": False})
        await k.one.until("finished", "a")
        assert k.rig.heard_frames == list(range(1, 41))


async def test_text_in_pieces_is_heard_from_its_first_sentence_on() -> None:
    """As a language model sends it: the second sentence is not written before the first is heard."""
    async with kiosk() as k:

        async def pieces() -> AsyncIterator[bytes]:
            for piece in (b"Say 5 frames ", b"from 1. ", b"Say 5 "):
                yield piece
            await k.one.until("sentence", "tale")
            yield b"frames from 6."

        assert await k.one.post("/speak?stream=1&id=tale", data=pieces(), headers=TEXT) == (
            202,
            {"id": "tale"},
        )
        await k.one.until("finished", "tale")
        assert k.rig.heard_frames == list(range(1, 11))
        assert k.one.told("tale").count("sentence") == 2
        assert k.rig.underruns == 0


async def test_a_websocket_is_told_what_becomes_of_its_text() -> None:
    async with kiosk() as k, k.one.client.ws_connect(k.server.url + "/speak/stream") as socket:
        await socket.send_json({"text": "Say 5 frames from 1. ", "id": "w"})
        told = [await asyncio.wait_for(socket.receive_json(), 10) for _ in range(3)]
        await socket.send_json({"text": "Say 5 frames from 6.", "end": True})
        told += [json.loads(message.data) async for message in socket]
        assert [each["event"] for each in told] == ["queued", "started", "sentence", "sentence", "finished"]
        assert told[-1]["played_ms"] == 800
        assert k.rig.heard_frames == list(range(1, 11))


async def test_what_waited_too_long_while_the_server_was_away_is_not_blurted_out() -> None:
    """C15, and health says what is the matter."""
    async with kiosk() as k:
        await k.one.say(text_for(3), "before")
        await k.one.until("finished", "before")
        await k.rig.lose_the_server()
        await k.one.say(text_for(3, 100), "stale", ttl_s=0.3)
        await k.one.until("failed", "stale")
        status, body = await k.one.get("/healthz")
        assert status == 503
        assert any("server" in reason for reason in body["reasons"])
        await k.rig.bring_the_server_back()
        await k.one.say(text_for(3, 200), "fresh")
        await k.one.until("finished", "fresh")
        assert [number for number in k.rig.heard_frames if number >= 100] == [200, 201, 202]


async def test_the_numbers_are_those_of_what_was_heard() -> None:
    async with kiosk() as k:
        for number in range(3):
            await k.one.say(text_for(5, 1 + 5 * number), f"n{number}")
        await k.one.until("finished", "n2")
        async with k.one.client.get(k.server.url + "/metrics") as answer:
            families = list(text_string_to_metric_families(await answer.text()))
        found = [sample for family in families for sample in family.samples]
        samples = {(each.name, tuple(sorted(each.labels.values()))): each.value for each in found}
        assert samples[("nearfield_ttfa_seconds_count", ())] == 3
        assert samples[("nearfield_requests_total", ("finished",))] == 3
        assert samples[("nearfield_utterances_total", ("aloud", "complete"))] == 3
        parts = ("server", "hold", "decode", "behind", "ring", "device")
        total_s = sum(samples[("nearfield_ttfa_part_seconds_sum", (part,))] for part in parts)
        assert abs(total_s - samples[("nearfield_ttfa_seconds_sum", ())]) < 1e-6
        assert samples[("nearfield_wire_bytes_total", ("aloud",))] > 0
        assert samples[("nearfield_link_up", ())] == 1


async def test_a_desk_that_closes_ends_every_reader_with_its_last_events() -> None:
    async with kiosk(speed=4.0) as k:
        await k.one.say(text_for(60), "a")
        await k.one.until("sentence", "a")
        await k.rig.desk.aclose(0.0)
        await k.one.until("interrupted", "a")
        assert k.one.body("interrupted", "a")["why"] == "closing"
        status, body = await k.one.post("/speak", json={"text": "More."})
        assert (status, body["error"]["code"]) == (503, "closing")
