"""Chromium without a window, driven over its DevTools protocol: a page as a person's browser has it."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from websockets.asyncio.client import ClientConnection, connect

from tests.helpers.waiting import eventually

NAMES = ("chromium", "chromium-browser", "google-chrome")
START_S = 40.0
ANSWER_S = 20.0


def find_chromium() -> str | None:
    """Return the command of a Chromium that is installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@dataclass
class Page:
    """One tab."""

    socket: ClientConnection
    complaints: list[str] = field(default_factory=list)
    """What the page wrote to the console as an error, what it threw, and what its policy blocked."""
    _numbers: Any = field(default_factory=lambda: itertools.count(1))
    _answers: dict[int, asyncio.Future[dict[str, Any]]] = field(default_factory=dict)

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol."""
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        await self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        return await asyncio.wait_for(answer, ANSWER_S)

    async def run(self, script: str) -> Any:
        """Return the value of an expression in the page; a promise is awaited."""
        result = await self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    async def text(self, selector: str) -> str:
        """Return what is shown in an element."""
        return str(await self.run(f"document.querySelector({selector!r}).innerText"))

    async def until(self, script: str, within_s: float = 10.0) -> None:
        """Wait until an expression is true in the page."""
        give_up_s = asyncio.get_running_loop().time() + within_s
        while not await self.run(f"Boolean({script})"):
            assert asyncio.get_running_loop().time() < give_up_s, f"not within {within_s} s: {script}"
            await asyncio.sleep(0.02)

    async def open(self, url: str) -> None:
        """Go to an address and wait until it is loaded."""
        await self.call("Page.navigate", url=url)
        await self.until(f"location.href.startsWith({url!r}) && document.readyState === 'complete'", 20.0)

    async def type(self, selector: str, text: str) -> None:
        """Type into an element as a keyboard does."""
        await self.run(f"document.querySelector({selector!r}).focus()")
        await self.call("Input.insertText", text=text)

    async def press(self, key: str, code: int, *, control: bool = False) -> None:
        """Press and release a key."""
        key_is = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 2 if control else 0}
        for kind in ("keyDown", "keyUp"):
            await self.call("Input.dispatchKeyEvent", type=kind, **key_is)

    async def click(self, selector: str) -> None:
        """Click in the middle of an element, which must be in sight."""
        box = await self.run(
            f"(() => {{ const e = document.querySelector({selector!r}); e.scrollIntoView(); "
            "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        at = {"x": box[0], "y": box[1], "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, **at)

    async def look(self, path: Path, *, dark: bool = False, width: int = 1000, height: int = 900) -> None:
        """Save a picture of the page, as wide as asked and in light or dark."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        await self.call("Emulation.setEmulatedMedia", features=scheme)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self.call("Emulation.setDeviceMetricsOverride", **size)
        shot = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        await asyncio.to_thread(path.write_bytes, base64.b64decode(shot["data"]))

    async def listen(self) -> None:
        """Take what the browser says until it hangs up."""
        async for message in self.socket:
            said = json.loads(message)
            if "id" in said:
                self._take_answer(said)
            elif said["method"] == "Runtime.exceptionThrown":
                self.complaints.append(str(said["params"]["exceptionDetails"]))
            elif said["method"] == "Log.entryAdded" and said["params"]["entry"]["level"] == "error":
                self.complaints.append(said["params"]["entry"]["text"])
            elif said["method"] == "Runtime.consoleAPICalled" and said["params"]["type"] == "error":
                self.complaints.append(str(said["params"]["args"]))

    def _take_answer(self, said: dict[str, Any]) -> None:
        answer = self._answers.pop(said["id"])
        if answer.done():
            return
        if "error" in said:
            answer.set_exception(AssertionError(said["error"]["message"]))
        else:
            answer.set_result(said["result"])


@asynccontextmanager
async def browser(command: str, folder: Path) -> AsyncIterator[Page]:
    """Run a browser with a profile of its own in ``folder``, with one empty tab."""
    profile = folder / "profile"
    process = await asyncio.create_subprocess_exec(
        command, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--no-first-run", "--disable-background-networking", "--disable-component-update",
        "--no-proxy-server",
        "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank",
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        port_file = profile / "DevToolsActivePort"
        await eventually(lambda: port_file.exists() and "\n" in port_file.read_text(), START_S, "the browser")
        port = int(port_file.read_text().split("\n", 1)[0])
        async with connect(await _tab(port), max_size=None, proxy=None) as socket:
            page = Page(socket)
            listening = asyncio.create_task(page.listen())
            try:
                for domain in ("Page", "Runtime", "Log"):
                    await page.call(f"{domain}.enable")
                yield page
            finally:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), START_S)


async def _tab(port: int) -> str:
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as client,
        client.get(f"http://127.0.0.1:{port}/json/list") as answer,
    ):
        tabs = await answer.json()
    return str(next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page"))
