"""A speaker that is a running kiosk, asked over its HTTP API."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from collections.abc import Mapping
from typing import Any

import aiohttp

from app.config import KioskConfig
from app.errors import NearfieldError, Refused, Unreachable
from app.headless.mcp.speaker import Spoken, Voices

ANSWER_S = 30.0
"""Most that any answer but that of a text that is waited for may take."""
FIND_S = 1.0
_SERVER = "nearfield"


class NoKiosk(NearfieldError):
    """Nothing answers there, or nothing that is a kiosk; nothing was taken."""


class ThroughHttp:
    """Made by :func:`find`."""

    def __init__(self, session: aiohttp.ClientSession, base_url: str) -> None:
        self._session = session
        self.base_url = base_url

    async def speak(self, text: str, voice: str | None, interrupt: str, wait: bool) -> Spoken:
        """Have a text spoken; raises NearfieldError."""
        asked = {"text": text, "interrupt": interrupt} | ({"voice": voice} if voice else {})
        if not wait:
            return Spoken((await self._ask("POST", "/speak", asked))["id"], "queued")
        return await self._speak_and_wait(asked)

    async def stop(self, id: str | None) -> bool:  # noqa: A002
        """End a text, or all of them."""
        body = await self._ask("POST", "/stop", {} if id is None else {"id": id}, missing={"stopped": False})
        return bool(body["stopped"])

    async def status(self) -> dict[str, Any]:
        """Return what the kiosk is doing."""
        return await self._ask("GET", "/status")

    async def voices(self) -> Voices:
        """Return the voices of the kiosk's server."""
        body = await self._ask("GET", "/voices")
        return Voices([*body.get("voices", ()), *body.get("uploaded", ())], body.get("configured"))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._session.close()

    # -- inside -----------------------------------------------------------------------------------------

    async def _speak_and_wait(self, asked: Mapping[str, str]) -> Spoken:
        """Send the text over a WebSocket, which tells what becomes of it."""
        name = ""
        try:
            async with self._session.ws_connect(f"{self.base_url}/speak/stream") as socket:
                await socket.send_json({**asked, "end": True})
                while True:
                    message = await socket.receive()
                    if message.type is not aiohttp.WSMsgType.TEXT:
                        raise Unreachable("the kiosk has gone while it spoke; start it again, or speak anew")
                    body = message.json()
                    if "error" in body:
                        raise _error_of(body["error"])
                    name = body["id"]
                    if (spoken := _spoken(body)) is not None:
                        return spoken
        except asyncio.CancelledError:
            if name:
                with contextlib.suppress(NearfieldError):
                    await asyncio.shield(self.stop(name))
            raise
        except aiohttp.WSServerHandshakeError as error:
            raise _refusal(error.status, self.base_url) from None
        except aiohttp.ClientConnectorError as error:
            raise NoKiosk(f"no kiosk answers at {self.base_url} ({error.os_error.strerror})") from None
        except aiohttp.ClientError as error:
            raise Unreachable(f"the kiosk at {self.base_url} cannot be talked to: {error}") from None

    async def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, str] | None = None,
        missing: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return an answer; ``missing`` is what a 404 stands for."""
        timeout = aiohttp.ClientTimeout(ANSWER_S)
        try:
            async with self._session.request(
                method, f"{self.base_url}{path}", json=body, timeout=timeout
            ) as response:
                answer = await response.json()
                if missing is not None and response.status == 404:
                    return missing
                if response.status >= 400:
                    if response.status == 401:
                        raise _refusal(response.status, self.base_url)
                    raise _error_of(answer.get("error"))
                return dict(answer)
        except aiohttp.ClientConnectorError as error:
            raise NoKiosk(f"no kiosk answers at {self.base_url} ({error.os_error.strerror})") from None
        except asyncio.TimeoutError:
            raise Unreachable(f"the kiosk at {self.base_url} did not answer in time; try again") from None
        except (aiohttp.ClientError, ValueError, TypeError, AttributeError) as error:
            raise Unreachable(f"the kiosk at {self.base_url} cannot be talked to: {error}") from None


async def find(kiosk: KioskConfig) -> ThroughHttp:
    """Return the kiosk that runs where the configuration says.

    Raises:
        NoKiosk: none does.
        Refused: it wants another token.

    """
    base_url = url_of(kiosk)
    headers = {"Authorization": f"Bearer {kiosk.http_token}"} if kiosk.http_token else {}
    session = aiohttp.ClientSession(headers=headers)
    try:
        async with session.get(f"{base_url}/status", timeout=aiohttp.ClientTimeout(FIND_S)) as response:
            if response.headers.get("Server") != _SERVER:
                raise NoKiosk(f"what answers at {base_url} is no kiosk")
            if response.status != 200:
                raise _refusal(response.status, base_url)
    except (aiohttp.ClientError, asyncio.TimeoutError, OSError):
        await session.close()
        raise NoKiosk(f"no kiosk answers at {base_url}") from None
    except BaseException:
        await session.close()
        raise
    return ThroughHttp(session, base_url)


def url_of(kiosk: KioskConfig) -> str:
    """Return where the kiosk's API is reached from this machine."""
    host = kiosk.http_host
    with contextlib.suppress(ValueError):
        address = ipaddress.ip_address(host)
        if address.is_unspecified:
            address = ipaddress.ip_address("127.0.0.1" if address.version == 4 else "::1")
        host = f"[{address}]" if address.version == 6 else str(address)
    return f"http://{host}:{kiosk.http_port}"


def _spoken(body: Mapping[str, Any]) -> Spoken | None:
    """Return what an event says of the text's end, ``None`` if it is none."""
    match body:
        case {"event": "finished" | "interrupted" | "failed" as event, "id": str(name), "played_ms": int(ms)}:
            return Spoken(name, event, ms, str(body.get("why") or body.get("reason") or ""))
        case _:
            return None


def _refusal(status: int, base_url: str) -> NearfieldError:
    if status == 401:
        return Refused(
            f"the kiosk at {base_url} wants its token: set NEARFIELD_KIOSK_HTTP_TOKEN, or kiosk.http_token "
            "in a file that only its owner can read"
        )
    return Refused(f"the kiosk at {base_url} refuses (HTTP {status}): see its log")


def _error_of(error: Any) -> NearfieldError:
    if isinstance(error, Mapping):
        parts = (error.get("message"), error.get("next"))
        return Refused("; ".join(str(part) for part in parts if part))
    return Refused(f"the kiosk answers {str(error)[:200]!r}")
