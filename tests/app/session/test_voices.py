"""The REST client of voices against real servers on the loopback interface, and the words for what fails."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from app.errors import ConfigError, Refused, SessionError, Unreachable
from app.session import voices as voices_module
from app.session.address import server_address
from app.session.answers import json_object
from app.session.voices import MAX_ANSWER_BYTES, NewVoice, UploadedVoice, VoiceList, VoiceServer, normal
from server.emulator import Emulator, SyntheticTalker
from tests.helpers.recordings import wav_bytes
from tests.helpers.servers import certificate, hangs_up, silent, tcp_server
from tests.helpers.voice_server import form, voice_host

ANNA = {"name": "Anna", "consent": "c", "file_size": 48_044, "created_at": 1_790_000_000, "ref_text": "hello"}


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    made = certificate(tmp_path_factory.mktemp("tls"))
    if made is None:
        pytest.skip("there is no openssl command to make a certificate with")
    return made


def recording(duration_s: float = 2.0) -> NewVoice:
    return NewVoice(
        "Änna ", wav_bytes(duration_s), "self-stated-20261129T000000Z", " hello \ud800there", " calm "
    )


# -- what goes well -------------------------------------------------------------------------------------


async def test_speakers_come_without_the_placeholder_and_without_what_was_uploaded() -> None:
    async with voice_host(uploaded=[ANNA, {"name": "bob"}], speakers=["default", "Vivian", "serena"]) as host:
        found = await VoiceServer(host.address()).list()
    anna = UploadedVoice("Anna", has_text=True, file_size=48_044, created_at=1_790_000_000.0)
    assert found == VoiceList(("serena", "vivian"), (anna, UploadedVoice("bob")))
    assert found.is_speaker(" Vivian ")
    assert not found.is_speaker("anna")
    assert found.is_uploaded("ANNA")


async def test_the_emulator_has_a_list_that_the_client_reads() -> None:
    async with Emulator(SyntheticTalker(), api_key="sesame") as emulator:
        server = VoiceServer(server_address(emulator.url, api_key="sesame"))
        found, models = await server.list(), await server.models()
        with pytest.raises(Refused, match="HTTP 401"):
            await VoiceServer(server_address(emulator.url)).list()
    assert found.speakers == tuple(sorted(set(map(normal, SyntheticTalker.voices)) - {""}))
    assert models == (SyntheticTalker.model,)


async def test_a_server_that_only_lists_says_no_to_the_rest() -> None:
    async with Emulator(SyntheticTalker()) as emulator:
        server = VoiceServer(server_address(emulator.url))
        with pytest.raises(SessionError, match=r"127\.0\.0\.1"):
            await server.upload(recording())
        with pytest.raises(SessionError, match=r"127\.0\.0\.1"):
            await server.delete("anna")


async def test_the_request_has_the_key_and_the_name_and_asks_for_no_compression() -> None:
    async with voice_host(api_key="sesame") as host:
        await VoiceServer(host.address(api_key="sesame")).list()
    [heard] = host.heard
    assert heard.headers["authorization"] == "Bearer sesame"
    assert heard.headers["user-agent"].startswith("nearfield/")
    assert heard.headers["accept-encoding"] == "identity"


async def test_a_recording_is_uploaded_with_what_belongs_to_it_and_its_progress_is_told() -> None:
    told: list[float] = []
    async with voice_host() as host:
        server = VoiceServer(host.address())
        voice = recording(10.0)
        await server.upload(voice, told.append)
        assert [v.name for v in (await server.list()).uploaded] == ["Änna"]
    sent = form(host.heard[0])
    assert {name: value.decode() for name, value in sent.items() if name != "audio_sample"} == {
        "name": "Änna",
        "consent": "self-stated-20261129T000000Z",
        "ref_text": "hello \ufffdthere",
        "speaker_description": "calm",
    }
    assert sent["audio_sample"] == voice.sample
    assert told[0] == 0.0
    assert told[-1] == 1.0
    assert told == sorted(told)
    assert len(told) > 5
    assert "transfer-encoding" not in host.heard[0].headers


@pytest.mark.parametrize("name", ["anna", "Änna Maria", "50%", "a?b#c", "..anna"])
async def test_a_voice_of_any_name_is_deleted(name: str) -> None:
    async with voice_host(uploaded=[{"name": name}, {"name": "other"}]) as host:
        server = VoiceServer(host.address())
        await server.delete(name)
        assert [v.name for v in (await server.list()).uploaded] == ["other"]


async def test_a_deletion_may_be_answered_with_nothing() -> None:
    async with voice_host(answer=(204, b"")) as host:
        await VoiceServer(host.address()).delete("anna")


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("ws://h:81", "http://h:81"),
        ("wss://h", "https://h"),
        ("wss://h/tts/v1/audio/speech/stream", "https://h/tts"),
        ("ws://[::1]:8001/own/stream?x=1", "http://[::1]:8001"),
    ],
)
def test_the_paths_are_beside_the_stream(url: str, base: str) -> None:
    assert VoiceServer(server_address(url)).base_url == base


@pytest.mark.parametrize(("name", "same"), [(" Vivian ", "vivian"), ("DEFAULT", ""), ("", "")])
def test_names_are_compared_in_lower_case_and_the_placeholder_is_none(name: str, same: str) -> None:
    assert normal(name) == same


# -- TLS and proxies ------------------------------------------------------------------------------------


async def test_a_private_authority_is_trusted_only_if_it_is_named(tls: tuple[Path, ssl.SSLContext]) -> None:
    pem, context = tls
    async with voice_host(context) as host:
        assert (await VoiceServer(host.address(ca_file=str(pem))).list()).speakers == ("serena", "vivian")
        with pytest.raises(Refused, match=r"not trusted .*server\.ca_file"):
            await VoiceServer(host.address()).list()
        with pytest.raises(ConfigError, match="cannot be read"):
            await VoiceServer(host.address(ca_file="/no/such.pem")).list()


async def test_tls_where_there_is_none() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        await reader.read()

    async with tcp_server(plain) as port:
        with pytest.raises(Refused, match="no TLS there"):
            await VoiceServer(server_address(f"wss://127.0.0.1:{port}")).list()


@pytest.mark.parametrize("name", ["http_proxy", "https_proxy", "all_proxy"])
async def test_a_proxy_of_the_environment_does_not_come_between_here_and_here(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with voice_host() as host:
        assert (await VoiceServer(host.address()).list()).speakers


async def test_a_far_server_is_asked_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with voice_host(answer=(200, b'{"voices": ["eric"]}')) as proxy:
        monkeypatch.setenv("http_proxy", f"http://user:hunter2@127.0.0.1:{proxy.port}")
        found = await VoiceServer(server_address("ws://tts.example.invalid:8001")).list()
    assert found.speakers == ("eric",)
    [heard] = proxy.heard
    assert heard.path == "http://tts.example.invalid:8001/v1/audio/voices"
    assert "proxy-authorization" in heard.headers


async def test_a_proxy_that_cannot_be_used_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = VoiceServer(server_address("ws://tts.example.invalid"))
    monkeypatch.setenv("http_proxy", "http://user:hunter2@127.0.0.1:9")
    with pytest.raises(Unreachable, match=r"through the proxy http://127\.0\.0\.1:9") as caught:
        await server.list()
    assert "hunter2" not in str(caught.value)
    monkeypatch.setenv("http_proxy", "ftp://user:hunter2@127.0.0.1:9")
    with pytest.raises(Refused, match="NO_PROXY") as caught_too:
        await server.list()
    assert "hunter2" not in str(caught_too.value)


# -- what fails -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (401, Refused, "API key"),
        (403, Refused, "rights"),
        (404, Refused, "no such list .*type the voice's name"),
        (405, Refused, "no such list"),
        (400, Refused, "refused it .*: because"),
        (429, Unreachable, "try again later"),
        (500, Unreachable, "failed .*: because"),
        (503, Unreachable, "failed"),
    ],
)
async def test_every_status_is_said_in_words(status: int, kind: type[SessionError], words: str) -> None:
    async with voice_host(answer=(status, b'{"error": {"message": "because"}}')) as host:
        with pytest.raises(kind, match=rf"(?s)127\.0\.0\.1.*{words}") as caught:
            await VoiceServer(host.address()).list()
    assert f"HTTP {status}" in str(caught.value)


@pytest.mark.parametrize(
    ("method", "status", "words"),
    [
        ("POST", 404, "lets no voices be added"),
        ("POST", 405, "lets no voices be added"),
        ("POST", 413, "too large"),
        ("DELETE", 404, "no such voice any more"),
        ("DELETE", 405, "lets no voices be added or deleted"),
    ],
)
def test_what_a_status_means_depends_on_what_was_asked(method: str, status: int, words: str) -> None:
    with pytest.raises(Refused, match=words):
        json_object(method, "http://h/x", status, b"")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": "plain"}', "plain"),
        (b'{"error": {"message": "within"}}', "within"),
        (b'{"success": false, "message": "no success"}', "no success"),
        (b'{"success": false}', "not why"),
    ],
)
def test_a_no_is_heard_even_with_status_200(body: bytes, said: str) -> None:
    with pytest.raises(Refused, match=said):
        json_object("GET", "http://h/x", 200, body)


@pytest.mark.parametrize(
    "body",
    [b'{"error": "why"}', b'{"detail": "why"}', b'{"detail": [{"loc": ["name"], "msg": "why"}]}', b'["why"]'],
)
def test_the_reason_is_found_in_every_shape(body: bytes) -> None:
    with pytest.raises(Refused, match=r"HTTP 400\): why"):
        json_object("GET", "http://h/x", 400, body)


def test_what_a_server_says_is_shown_short_and_clean() -> None:
    body = json.dumps({"error": "a\x1b[31m\n" + "b" * 5_000}).encode()
    with pytest.raises(Refused) as caught:
        json_object("GET", "http://h/x", 400, body)
    assert len(str(caught.value)) < 500
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<html>", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"voices": null}',
        b'{"voices": "vivian"}', b'{"voices": [{"id": 1}]}', b'{"voices": [], "uploaded_voices": {}}',
        b'{"voices": [], "uploaded_voices": [{"name": 3}]}', b'{"voices": [], "uploaded_voices": ["anna"]}',
    ],
)  # fmt: skip
async def test_what_is_no_list_of_voices_is_refused(body: bytes) -> None:
    async with voice_host(answer=(200, body)) as host:
        with pytest.raises(Refused, match=r"127\.0\.0\.1"):
            await VoiceServer(host.address()).list()


async def test_odd_values_beside_the_names_do_no_harm() -> None:
    entry = '{"name": " Anna", "file_size": NaN, "created_at": "yesterday", "ref_text": null, "more": []}'
    async with voice_host(answer=(200, f'{{"voices": [], "uploaded_voices": [{entry}]}}'.encode())) as host:
        found = await VoiceServer(host.address()).list()
    assert found.uploaded == (UploadedVoice("Anna"),)


@pytest.mark.parametrize("body", [b"{}", b'{"data": ["m"]}', b'{"data": [{"id": 1}]}'])
async def test_what_is_no_list_of_models_is_refused(body: bytes) -> None:
    async with voice_host(answer=(200, body)) as host:
        with pytest.raises(Refused, match="no list of models"):
            await VoiceServer(host.address()).models()


async def test_an_answer_without_end_is_cut_off_by_its_size() -> None:
    async with voice_host(answer=(200, b" " * (MAX_ANSWER_BYTES + 1))) as host:
        with pytest.raises(Refused, match="more than 1 MiB"):
            await VoiceServer(host.address()).list()


async def test_an_answer_without_end_is_cut_off_by_the_clock() -> None:
    async with voice_host(drips=True) as host:
        with pytest.raises(Unreachable, match="no answer in time"):
            await VoiceServer(host.address(), answer_timeout_s=0.3).list()


@pytest.mark.parametrize(
    ("scheme", "open_s", "answer_s"), [("ws", 5.0, 0.3), ("wss", 0.3, 5.0), ("wss", 5.0, 0.3)]
)
async def test_a_server_that_never_answers(scheme: str, open_s: float, answer_s: float) -> None:
    async with tcp_server(silent) as port:
        address = server_address(f"{scheme}://127.0.0.1:{port}", open_timeout_s=open_s)
        with pytest.raises(Unreachable, match="no answer in time"):
            await VoiceServer(address, answer_timeout_s=answer_s).list()


async def test_a_server_that_hangs_up_or_is_not_there() -> None:
    async with tcp_server(hangs_up) as port:
        address = server_address(f"ws://127.0.0.1:{port}")
        with pytest.raises(Unreachable, match=rf"127\.0\.0\.1:{port}"):
            await VoiceServer(address).list()
    with pytest.raises(Unreachable, match="is the server running"):
        await VoiceServer(address).list()


async def test_the_key_does_not_follow_to_another_server() -> None:
    async with voice_host() as other, voice_host(answer=(307, b"")) as host:
        host.location = f"http://127.0.0.1:{other.port}/v1/audio/voices"
        with pytest.raises(Refused, match=rf"sends on to http://127\.0\.0\.1:{other.port}"):
            await VoiceServer(host.address(api_key="sesame")).list()
    assert other.heard == []


async def test_a_refusal_in_the_middle_of_an_upload_is_heard() -> None:
    big = replace(recording(), sample=bytes(8 * 2**20))
    async with voice_host(answer=(413, b'{"detail": "too big"}'), reads_body=False) as host:
        # Depending on when the cut arrives, the answer is read or only the cut is seen.
        with pytest.raises(SessionError, match=r"too large|127\.0\.0\.1"):
            await VoiceServer(host.address()).upload(big)


async def test_an_upload_can_be_called_off() -> None:
    async with voice_host(holds=asyncio.Event()) as host:
        task = asyncio.ensure_future(VoiceServer(host.address()).upload(recording()))
        await host.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert host.uploaded == []


async def test_without_the_library_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(voices_module, "import_module", missing)
    with pytest.raises(Refused, match=r"pip install httpx"):
        await VoiceServer(server_address("ws://127.0.0.1:1")).list()


def test_the_library_is_not_loaded_before_it_is_needed() -> None:
    code = "import sys, app.session.voices; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
