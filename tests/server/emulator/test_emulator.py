"""The server over real sockets, doing nothing wrong; what every server owes is in ``conformance``."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import struct
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed

from decoder.spec import CodecSpec
from server.emulator import Emulator, Scenario, SyntheticTalker
from tests.server.emulator.wire_client import client, talk

FAST = Scenario(pace=0)
TEXT = "A sentence of some length, so that there are frames."


async def until(condition, limit_s: float = 3.0) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "it never came true"
        await asyncio.sleep(0.005)


async def test_the_record_of_an_utterance_is_what_was_heard() -> None:
    talker = SyntheticTalker()
    async with Emulator(talker, FAST) as e, client(e.url) as c:
        await c.configure(split_granularity="sentence")
        heard = await c.say("One. Two.")
    np.testing.assert_array_equal(heard.codes, np.concatenate([talker.codes("One."), talker.codes("Two.")]))
    np.testing.assert_array_equal(heard.codes, e.utterances[0].codes)
    assert e.utterances[0].units == ["One.", "Two."]
    assert e.utterances[0].finished


async def test_sessions_at_once_hear_their_own_words_only() -> None:
    talker = SyntheticTalker(CodecSpec(codebook_size=1024))
    texts = [f"Session {n} says {'this and that ' * n}" for n in range(12)]
    async with Emulator(talker, Scenario(pace=0, packet_frames=1, packet_frames_max=5)) as e:
        all_heard = await asyncio.gather(*(talk(e.url, text) for text in texts))
        assert len(e.sessions) == 12
    for text, heard in zip(texts, all_heard, strict=True):
        assert heard.json("codec.start")["sentence_text"] == text.strip()
        np.testing.assert_array_equal(heard.codes, talker.codes(text.strip()))


async def test_pcm_is_spoken_as_a_tone() -> None:
    async with Emulator(SyntheticTalker(), FAST) as e:
        heard = await talk(e.url, TEXT, output_mode="pcm")
        assert e.utterances[0].pcm_bytes == sum(map(len, heard.binary))
    assert heard.types == ["audio.start", "binary", "audio.done", "session.done"]
    pcm = np.frombuffer(b"".join(heard.binary), "<i2")
    assert heard.json("audio.done")["total_bytes"] == 2 * len(pcm)
    assert 5000 < np.abs(pcm).max() < 7000
    assert np.abs(np.diff(pcm.astype(int))).max() < 900  # no click between blocks


async def test_a_talker_that_raises_fails_one_utterance_only(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(SyntheticTalker):
        async def frames(self, text, config):
            yield self.codes(text)[:2]
            if "bad" in text:
                raise RuntimeError("out of breath")

    async with Emulator(Broken(), FAST) as e, client(e.url) as c:
        await c.configure()
        heard = await c.say("bad")
        assert heard.json("error")["message"].endswith("out of breath")
        assert heard.json("codec.done")["total_frames"] == 2
        assert (await c.say("good")).has_eos
    assert "the talker failed" in caplog.text


# -- cancel ---------------------------------------------------------------------------------------------


async def test_cancel_acts_within_one_packet() -> None:
    async with Emulator(SyntheticTalker(), Scenario(pace=4, endless=True)) as e, client(e.url) as c:
        await c.configure()
        await c.ask(TEXT)
        for _ in range(6):
            await c.recv()
        started = time.monotonic()
        await c.send("input.cancel")
        heard = await c.hear()
        assert time.monotonic() - started < 0.2
        record = e.utterances[0]
        assert record.finished
        assert record.cancelled_at is not None
        assert len(record.codes) - record.cancelled_at <= 1
        done = heard.json("codec.done")
        assert done["cancelled"] is True
        assert done["total_frames"] == len(record.codes)
        assert len(heard.codes) <= 2
        assert (await c.say("!", until="codec.start")).types == ["codec.start"]


async def test_cancel_acts_in_a_long_silence() -> None:
    slow = Scenario(stall_at_frame=0, stall_s=60)
    async with Emulator(SyntheticTalker(), slow) as e, client(e.url) as c:
        await c.configure()
        await c.say(TEXT, until="codec.start")
        await c.send("input.cancel")
        assert (await c.hear()).json("codec.done")["cancelled"] is True


async def test_cancel_before_the_first_message() -> None:
    async with Emulator(SyntheticTalker(), Scenario(first_frame_delay_s=60)) as e, client(e.url) as c:
        await c.configure()
        await c.ask(TEXT)
        await c.send("input.cancel")
        assert (await c.hear()).types == ["session.done"]


async def test_cancel_is_obeyed_while_the_client_floods_and_does_not_read() -> None:
    """Nothing is read by the client: its own library stops after one message."""
    endless = Scenario(pace=0, endless=True, packet_frames=500)
    async with Emulator(SyntheticTalker(), endless) as e, client(e.url, max_queue=1) as c:
        await c.configure()
        await c.ask(TEXT * 50)
        await until(lambda: e.utterances and e.utterances[0].frames > 1_000)
        for _ in range(300):
            await c.send("input.text", text="more")
        await c.send("input.cancel")
        await until(lambda: e.utterances[0].finished)
        frames = e.utterances[0].frames
        assert frames - e.utterances[0].cancelled_at <= 500
        await asyncio.sleep(0.05)
        assert e.utterances[0].frames - frames <= 500


async def test_a_client_that_vanishes_stops_its_generation() -> None:
    before = len(asyncio.all_tasks())
    async with Emulator(SyntheticTalker(), Scenario(pace=4, endless=True)) as e:
        async with client(e.url) as c:
            await c.configure()
            await c.say(TEXT, until="codec.start")
            c.socket.transport.abort()
        await until(lambda: e.open_sessions == 0)
        assert len(asyncio.all_tasks()) == before
        frames = e.utterances[0].frames
        await asyncio.sleep(0.1)
        assert e.utterances[0].frames == frames


# -- what clients get wrong -----------------------------------------------------------------------------


BINARY_MESSAGE = b"\x82\x84" + bytes(4) + b"abcd"
OVERSIZED_MESSAGE = b"\x81\xff" + struct.pack(">Q", 4 * 2**20 + 1) + bytes(4) + b"the beginning"
INVALID_UTF8 = b"\x81\x82" + bytes(4) + b"\xff\xff"
NO_FRAME = b"\xff\xff\xff"


@pytest.mark.parametrize("data", [BINARY_MESSAGE, OVERSIZED_MESSAGE, INVALID_UTF8, NO_FRAME])
async def test_a_malformed_client_harms_nobody_else(data: bytes) -> None:
    """The bytes are WebSocket frames with a mask of zeros, beside a healthy session."""
    async with Emulator(SyntheticTalker(), Scenario(pace=20)) as e, client(e.url) as healthy:
        await healthy.configure()
        await healthy.say(TEXT, until="codec.start")
        async with client(e.url) as bad:
            await bad.configure()
            bad.socket.transport.write(data)
            with pytest.raises(ConnectionClosed):
                await bad.hear(until="nothing")
        heard = await healthy.hear()
        np.testing.assert_array_equal(heard.codes, SyntheticTalker().codes(TEXT))


async def test_raw_bytes_in_place_of_a_handshake_harm_nobody() -> None:
    async with Emulator(SyntheticTalker(), FAST) as e:
        for junk in (b"\x00\xff\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"POST /v1/models HTTP/1.1\r\n\r\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", e.port)
            writer.write(junk)
            await asyncio.wait_for(reader.read(), 2)
            writer.close()
            await writer.wait_closed()
        assert (await talk(e.url, TEXT)).has_eos


# -- the end --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["idle", "speaking", "not reading", "not answering", "no handshake"])
async def test_closing_takes_less_than_a_second_whatever_clients_do(what: str) -> None:
    scenario = Scenario(pace=0 if what == "not reading" else 2, endless=True, packet_frames=500)
    before = len(asyncio.all_tasks())
    threads = threading.active_count()
    e = Emulator(SyntheticTalker(), scenario)
    async with e:
        if what == "no handshake":
            _, writer = await asyncio.open_connection("127.0.0.1", e.port)
            writer.write(b"GET /v1/audio/speech/stream HTTP/1.1\r\n")
            await asyncio.sleep(0.05)
            closes = [writer.close]
        else:
            connection = client(e.url, max_queue=1)
            c = await connection.__aenter__()
            await c.configure()
            if what != "idle":
                await c.ask(TEXT * 100)
                await until(lambda: e.utterances)
            if what == "not answering":
                c.socket.transport.pause_reading()
            await asyncio.sleep(0.05)
            closes = [c.socket.transport.abort]
        started = time.monotonic()
    assert time.monotonic() - started < 1.0
    for close in closes:
        close()
    if what != "no handshake":
        await connection.__aexit__(None, None, None)
    await until(lambda: len(asyncio.all_tasks()) == before)
    assert threading.active_count() == threads


async def test_a_server_can_come_back_at_its_port() -> None:
    emulator = Emulator(SyntheticTalker(), FAST)
    urls = []
    for _ in range(2):
        async with emulator as e:
            urls.append(e.url)
            assert (await talk(e.url, TEXT)).has_eos
    assert urls[0] == urls[1]


async def test_a_taken_port_is_an_error() -> None:
    async with Emulator(SyntheticTalker()) as e:
        with pytest.raises(OSError, match=str(e.port)):
            async with Emulator(SyntheticTalker(), port=e.port):
                pass


async def test_a_peer_that_answers_no_ping_is_dropped() -> None:
    emulator = Emulator(SyntheticTalker(), FAST, ping_interval_s=0.1, ping_timeout_s=0.1)
    async with emulator as e, client(e.url) as c:
        await c.configure()
        c.socket.transport.pause_reading()
        await until(lambda: e.sessions and e.open_sessions == 0)
        c.socket.transport.abort()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")
async def test_tls_speaks_and_closes_in_time(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    quiet = asyncio.subprocess.DEVNULL
    made = await asyncio.create_subprocess_exec("openssl", *make.split(), *names, stderr=quiet)
    assert await made.wait() == 0
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(certificate, key)
    client_side = ssl.create_default_context(cafile=str(certificate))
    async with Emulator(SyntheticTalker(), FAST, ssl=server_side) as e:
        assert e.url.startswith("wss://127.0.0.1:")
        assert e.http_url.startswith("https://")
        async with client(e.url, ssl=client_side) as c:
            await c.configure()
            assert (await c.say(TEXT)).has_eos
            _, half_open = await asyncio.open_connection("127.0.0.1", e.port)
            started = time.monotonic()
            await e.__aexit__(None, None, None)
            assert time.monotonic() - started < 1.0
            half_open.transport.abort()
