"""The server's voices over REST, under the same host as the stream: list, upload, delete.

The one door to ``httpx``, which is imported when it is first needed: that takes a good part of a second.
"""

from __future__ import annotations

import asyncio
import math
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlsplit, urlunsplit

from app.errors import Refused, SessionError, Unreachable
from app.session.address import STREAM_PATH, ServerAddress, without_password
from app.session.answers import json_object
from app.session.reach import proxy_for, trust_of
from decoder.wire.messages import well_formed

if TYPE_CHECKING:
    import httpx

N = TypeVar("N", int, float)

VOICES_PATH = "/v1/audio/voices"
MODELS_PATH = "/v1/models"
PLACEHOLDER = "default"
"""Listed among the voices, and no speaker."""
MAX_SAMPLE_BYTES = 10 * 1024 * 1024
MAX_ANSWER_BYTES = 1024 * 1024
MAX_NAME_CHARS = 64
ANSWER_TIMEOUT_S = 20.0
"""Most that a list, or a deletion, may take as a whole."""
WRITE_TIMEOUT_S = 30.0
"""Most that a piece of an upload may take to leave; the whole of it may take longer."""
UPLOAD_ANSWER_TIMEOUT_S = 120.0
"""Most that the server may think about a recording that it has."""


@dataclass(frozen=True)
class UploadedVoice:
    """A voice that somebody cloned."""

    name: str
    """As it was written; names are compared in lower case."""
    has_text: bool = False
    """Whether the server knows what is said in the recording."""
    file_size: int | None = None
    created_at: float | None = None
    """Seconds since 1970."""


@dataclass(frozen=True)
class VoiceList:
    """What a server can speak with."""

    speakers: tuple[str, ...] = ()
    """Built in; lower case, in alphabetical order, without the placeholder and without uploaded ones."""
    uploaded: tuple[UploadedVoice, ...] = ()

    def is_speaker(self, name: str) -> bool:
        """Return whether ``name`` is built in."""
        return normal(name) in self.speakers

    def is_uploaded(self, name: str) -> bool:
        """Return whether ``name`` was uploaded."""
        return normal(name) in {normal(voice.name) for voice in self.uploaded}


@dataclass(frozen=True)
class NewVoice:
    """A voice to clone."""

    name: str
    sample: bytes = field(repr=False)
    """A WAV file of 1 to 30 s."""
    consent: str
    """What stands for the speaker's consent; servers make a part of a file name of it."""
    ref_text: str = ""
    description: str = ""


def normal(name: str) -> str:
    """Return ``name`` as names are compared; the placeholder is no name."""
    name = name.strip().lower()
    return "" if name == PLACEHOLDER else name


class VoiceServer:
    """A server's REST side.

    Every method raises

    - ``Unreachable``: nothing answers, or the server is not well: later may be better;
    - ``Refused``: it answered no, or something that cannot be used;
    - ``ConfigError``: the file of the private authority cannot be used.
    """

    def __init__(self, address: ServerAddress, answer_timeout_s: float = ANSWER_TIMEOUT_S) -> None:
        self._address = address
        self._answer_timeout_s = answer_timeout_s
        self.base_url = _base_url(address.url)

    async def list(self) -> VoiceList:
        """Return the voices there are."""
        return _voice_list(await self._ask("GET", VOICES_PATH), self.base_url)

    async def models(self) -> tuple[str, ...]:
        """Return the names of the models that the server runs."""
        body = await self._ask("GET", MODELS_PATH)
        data = body.get("data")
        if not isinstance(data, list) or not all(
            isinstance(model, dict) and isinstance(model.get("id"), str) for model in data
        ):
            raise Refused(f"{self.base_url}{MODELS_PATH} answers with something that is no list of models")
        return tuple(model["id"] for model in data)

    async def upload(self, voice: NewVoice, on_progress: Callable[[float], None] = lambda _: None) -> None:
        """Give the server a recording; ``on_progress`` is told how much has left, from 0 to 1."""
        form = {"name": voice.name.strip(), "consent": voice.consent}
        form |= {"ref_text": voice.ref_text.strip()} if voice.ref_text.strip() else {}
        form |= {"speaker_description": voice.description.strip()} if voice.description.strip() else {}
        await self._ask(
            "POST",
            VOICES_PATH,
            data={key: well_formed(value) for key, value in form.items()},
            # A fixed name: the one on this machine is nobody's business.
            files={"audio_sample": ("sample.wav", BytesIO(voice.sample), "audio/wav")},
            on_progress=on_progress,
        )

    async def delete(self, name: str) -> None:
        """Delete an uploaded voice."""
        await self._ask("DELETE", f"{VOICES_PATH}/{quote(well_formed(name.strip()), safe='')}")

    async def _ask(
        self,
        method: str,
        path: str,
        data: dict[str, str] | None = None,
        files: dict[str, Any] | None = None,
        on_progress: Callable[[float], None] = lambda _: None,
    ) -> dict[str, Any]:
        try:
            await asyncio.to_thread(import_module, "httpx")
        except ImportError:
            raise Refused("voice lists need the package httpx: pip install httpx") from None
        import httpx

        proxy = proxy_for(self._address)
        url = f"{self.base_url}{path}"
        try:
            async with self._client(httpx, proxy) as client:
                request = client.build_request(method, url, data=data, files=files)
                if files is not None:
                    request = client.build_request(
                        method, url, headers=request.headers, content=_counted(request, on_progress)
                    )
                answer = self._answer(client, request)
                status, body = await (
                    answer if files else asyncio.wait_for(answer, timeout=self._answer_timeout_s)
                )
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, ImportError, asyncio.TimeoutError) as error:
            raise _in_words(url, proxy, error) from error
        return json_object(method, url, status, body)

    def _client(self, module: Any, proxy: str | None) -> httpx.AsyncClient:
        headers = {"User-Agent": f"nearfield/{version('nearfield')}", "Accept-Encoding": "identity"}
        if self._address.api_key:
            headers["Authorization"] = f"Bearer {self._address.api_key}"
        # TCP and TLS get this each, so that they never end by the clock of the whole: what is cancelled
        # within a handshake leaves its socket to the garbage collector.
        connect_s = min(self._address.open_timeout_s, self._answer_timeout_s / 2)
        timeout = module.Timeout(UPLOAD_ANSWER_TIMEOUT_S, connect=connect_s, write=WRITE_TIMEOUT_S)
        client: httpx.AsyncClient = module.AsyncClient(
            headers=headers,
            timeout=timeout,
            verify=trust_of(self._address) or ssl.create_default_context(),
            proxy=proxy,
            trust_env=False,
            follow_redirects=False,  # the key is for the server that was named
        )
        return client

    async def _answer(self, client: httpx.AsyncClient, request: httpx.Request) -> tuple[int, bytes]:
        response = await client.send(request, stream=True)
        try:
            if response.is_redirect:
                target = response.headers["Location"]
                raise Refused(
                    f"{request.url} sends on to {target} (HTTP {response.status_code}): "
                    "if you trust it, set that URL"
                )
            body = b""
            async for piece in response.aiter_raw():
                body += piece
                if len(body) > MAX_ANSWER_BYTES:
                    raise Refused(f"{request.url} answers with more than {MAX_ANSWER_BYTES // 2**20} MiB")
            return response.status_code, body
        finally:
            await response.aclose()


async def _counted(request: httpx.Request, on_progress: Callable[[float], None]) -> AsyncIterator[bytes]:
    """Pass the pieces of a form on, and tell how much of it has gone."""
    assert isinstance(request.stream, AsyncIterable)
    whole, sent = int(request.headers["Content-Length"]), 0
    on_progress(0.0)
    async for piece in request.stream:
        yield piece
        sent += len(piece)
        on_progress(min(1.0, sent / whole))


def _base_url(url: str) -> str:
    """Return where the REST paths begin: beside the stream, whatever a gateway puts in front of both."""
    parts = urlsplit(url)
    scheme = "https" if parts.scheme == "wss" else "http"
    prefix = parts.path.removesuffix(STREAM_PATH) if parts.path.endswith(STREAM_PATH) else ""
    return urlunsplit((scheme, parts.netloc, prefix, "", ""))


def _voice_list(body: dict[str, Any], base_url: str) -> VoiceList:
    names, entries = body.get("voices"), body.get("uploaded_voices", [])
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise Refused(f"{base_url}{VOICES_PATH} answers without a list of voice names")
    if not (
        isinstance(entries, list)
        and all(isinstance(entry, dict) and isinstance(entry.get("name"), str) for entry in entries)
    ):
        raise Refused(f"{base_url}{VOICES_PATH}: its uploaded voices have no names")
    uploaded = tuple(
        UploadedVoice(
            name=well_formed(entry["name"]).strip(),
            has_text=bool(entry.get("ref_text")),
            file_size=_number(entry.get("file_size"), int),
            created_at=_number(entry.get("created_at"), float),
        )
        for entry in entries
    )
    # Servers list uploaded voices among the others, too.
    cloned = {normal(voice.name) for voice in uploaded}
    speakers = {normal(well_formed(name)) for name in names} - cloned - {""}
    return VoiceList(tuple(sorted(speakers)), tuple(sorted(uploaded, key=lambda voice: normal(voice.name))))


def _number(value: object, kind: type[N]) -> N | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return kind(value)


def _in_words(url: str, proxy: str | None, error: Exception) -> SessionError:
    import httpx

    through = f" through the proxy {without_password(proxy)}" if proxy else ""
    if isinstance(error, (httpx.TimeoutException, asyncio.TimeoutError)):
        return Unreachable(f"cannot reach {url}{through}: no answer in time; try again")
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return Refused(
                f"{url}: the certificate is not trusted ({cause.verify_message}); "
                "for a private authority set server.ca_file"
            )
        if isinstance(cause, ssl.SSLError):
            return Refused(f"{url}: no TLS there ({cause.reason}); is it ws:// instead of wss://?")
    match error:
        case httpx.InvalidURL() | httpx.UnsupportedProtocol():
            return Refused(f"{url} cannot be asked for: {error}")
        case ImportError() | ValueError():
            return Refused(
                f"the proxy {without_password(proxy or '')} cannot be used: {error}; "
                "or name the server in NO_PROXY"
            )
        case httpx.RemoteProtocolError():
            return Unreachable(f"{url}{through} does not answer as an HTTP server does ({error}); try again")
    reason = next((c.strerror for c in causes if isinstance(c, OSError) and c.strerror), str(error))
    return Unreachable(
        f"cannot reach {url}{through} ({reason or type(error).__name__}); is the server running?"
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Walk from what was raised to what was at the bottom of it, groups included."""
    seen: set[int] = set()
    left = [error]
    while left:
        at = left.pop(0)
        if at is None or id(at) in seen:
            continue
        seen.add(id(at))
        yield at
        left += [*getattr(at, "exceptions", ()), at.__cause__, at.__context__]
