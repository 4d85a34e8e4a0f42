"""The page at ``/`` in a real browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.config import Config, ServerConfig
from app.engine.events import Progress
from app.engine.state import Stage
from app.session.events import LinkState
from server.emulator import Emulator, Scenario
from tests.helpers.browser import Page, browser, find_chromium
from tests.helpers.counting_talker import CountingTalker
from tests.helpers.fake_desk import READY, REPORT, FakeDesk
from tests.helpers.http_rig import HttpRig, http_rig
from tests.helpers.waiting import eventually

CHROMIUM = find_chromium()

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed (apt install chromium)")

ENTER, ESCAPE = 13, 27


@asynccontextmanager
async def at_the_page(
    tmp_path: Path, desk: FakeDesk | None = None, **kiosk: Any
) -> AsyncIterator[tuple[HttpRig, Page]]:
    async with http_rig(desk or FakeDesk(at_once=False), **kiosk) as rig:
        assert CHROMIUM is not None
        async with browser(CHROMIUM, tmp_path) as page:
            await page.open(rig.url + "/")
            yield rig, page


async def test_type_speak_see_the_numbers_and_stop(tmp_path: Path) -> None:
    async with Emulator(CountingTalker(), Scenario()) as emulator:
        desk = FakeDesk(Config(server=ServerConfig(url=emulator.url)), at_once=False)
        async with at_the_page(tmp_path, desk) as (_, page):
            await page.until("document.querySelector('#health').dataset.state === 'good'")
            await page.until("document.querySelectorAll('#voice option').length === 2")
            await page.type("#text", "Hello from the page. <b>Bold</b> & Öl.")
            await page.run("document.querySelector('#voice').value = 'vivian'")
            await page.click("#speak-button")
            await eventually(lambda: bool(desk.requests), 10)
            request = desk.requests[0].request
            assert (request.text, request.voice) == ("Hello from the page. <b>Bold</b> & Öl.", "vivian")
            await page.until("document.querySelector('#queue').innerText.includes('<b>Bold</b>')")

            desk.begin_next()
            desk.tell_watchers(Progress(1, Stage.PLAYING, REPORT))
            await page.until("document.querySelector('#sentence').innerText.includes('Hello from the page')")
            await page.until("document.querySelector('#n-ttfa').innerText === '200 ms'")
            assert await page.text("#n-rtf") == "0.50"
            assert await page.text("#n-slowest") == "server"
            assert await page.text("#n-bytes") == "1.0 kB"
            await page.look(tmp_path / "light.png")
            await page.look(tmp_path / "dark.png", dark=True)
            await page.look(tmp_path / "narrow.png", dark=True, width=360)
            assert await page.run("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off"

            await page.click("#stop")
            await eventually(lambda: not desk.in_flight, 10)
            await page.until("document.querySelector('#events').innerText.includes('interrupted')")
            await page.until("document.querySelector('#sentence').innerText === 'Nothing is spoken.'")
            assert "after 0.0 s: stopped" in await page.text("#events li")
            assert page.complaints == []


async def test_pause_and_resume(tmp_path: Path) -> None:
    async with at_the_page(tmp_path) as (rig, page):
        await page.click("#pause")
        await eventually(lambda: rig.desk.paused, 10)
        await page.until("document.querySelector('#pause').innerText === 'Resume'")
        assert await page.run("document.querySelector('#pause').getAttribute('aria-pressed')") == "true"
        await page.click("#pause")
        await eventually(lambda: not rig.desk.paused, 10)
        await page.until("document.querySelector('#pause').innerText === 'Pause'")


async def test_the_keyboard_is_enough(tmp_path: Path) -> None:
    async with at_the_page(tmp_path) as (rig, page):
        await page.type("#text", "By hand.")
        await page.press("Enter", ENTER, control=True)
        await eventually(lambda: rig.desk.texts == ["By hand."], 10)
        await page.press("Escape", ESCAPE)
        await eventually(lambda: not rig.desk.in_flight, 10)


async def test_what_is_refused_is_said_and_nothing_else_is_lost(tmp_path: Path) -> None:
    async with at_the_page(tmp_path) as (_, page):
        await page.type("#text", "…")
        await page.click("#speak-button")
        await page.until("document.querySelector('#message').innerText.includes('nothing to say')")
        assert await page.run("document.querySelector('#text').value") == "…"


async def test_a_kiosk_that_cannot_be_heard_says_so(tmp_path: Path) -> None:
    now = replace(READY, link=LinkState.OFFLINE, link_detail="refused", output=None, audible=False)
    async with at_the_page(tmp_path, FakeDesk(now=now)) as (rig, page):
        await page.until("document.querySelector('#health').dataset.state === 'bad'")
        assert await page.text("#k-server") == "offline: refused"
        assert await page.text("#k-sound") == "none"
        rig.desk.now = READY
        await page.until("document.querySelector('#health').dataset.state === 'good'")


async def test_a_token_is_asked_for_and_kept_in_the_page_only(tmp_path: Path) -> None:
    async with at_the_page(tmp_path, http_token="sesame") as (rig, page):
        await page.until("!document.querySelector('#login').hidden")
        await page.type("#token", "guess")
        await page.press("Enter", ENTER)
        await page.run("document.querySelector('#login').requestSubmit()")
        await page.until("document.querySelector('#login-why').innerText.includes('wrong')")
        await page.type("#token", "sesame")
        await page.run("document.querySelector('#login').requestSubmit()")
        await page.until("document.querySelector('#health').dataset.state === 'good'")
        await page.type("#text", "Open.")
        await page.click("#speak-button")
        await eventually(lambda: rig.desk.texts == ["Open."], 10)
        await eventually(lambda: rig.server.readers == 1, 10, "events are followed with the token")
        assert await page.run("localStorage.length + sessionStorage.length + document.cookie.length") == 0
        await page.open(rig.url + "/?again")
        await page.until("!document.querySelector('#login').hidden")


async def test_every_control_has_a_name(tmp_path: Path) -> None:
    """What a screen reader says of each."""
    async with at_the_page(tmp_path) as (_, page):
        tree = await page.call("Accessibility.getFullAXTree")
        named = {
            (node["role"]["value"], node.get("name", {}).get("value", ""))
            for node in tree["nodes"]
            if not node["ignored"]
        }
        assert {("button", "Speak"), ("button", "Stop"), ("button", "Pause")} <= named
        assert {("textbox", "Text"), ("combobox", "Voice"), ("heading", "Nearfield")} <= named
        controls = {"button", "textbox", "combobox", "link", "checkbox"}
        assert not [role for role, name in named if role in controls and not name]


async def test_a_page_from_elsewhere_in_the_same_browser_makes_nothing_speak(tmp_path: Path) -> None:
    """Another origin on the same machine; a form, a fetch and a WebSocket, as an attacker would."""
    async with at_the_page(tmp_path) as (rig, page):
        port = rig.url.rpartition(":")[2]
        # The page itself under another name is another origin; it is served because its Host is known.
        await page.open(f"http://localhost:{port}/")
        target = f"http://127.0.0.1:{port}"
        await page.call("Page.setBypassCSP", enabled=True)
        await page.open(f"http://localhost:{port}/?bypassed")
        send = f"fetch('{target}/speak', {{method: 'POST', mode: 'no-cors', body: 'Boo'}})"
        assert await page.run(f"{send}.then(() => 'sent', () => 'blocked')") in ("sent", "blocked")
        opened = await page.run(
            f"new Promise((done) => {{ const s = new WebSocket('ws://127.0.0.1:{port}/speak/stream'); "
            "s.onopen = () => done('open'); s.onerror = () => done('refused'); })"
        )
        assert opened == "refused"
        await page.run(
            "(() => { const f = document.createElement('form'); f.method = 'post'; "
            f"f.action = '{target}/stop'; document.body.append(f); f.submit(); }})()"
        )
        await page.until("document.body.innerText.includes('foreign_origin')")
        assert not rig.desk.requests
