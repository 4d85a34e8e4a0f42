"""A minute of speech over 8 kbit/s, 300 ms away, with 100 ms of jitter: in real time, over real sockets."""

from __future__ import annotations

import asyncio

from app.config import AudioConfig, Config, DecoderConfig, ServerConfig
from app.engine.build import build
from app.engine.events import EngineEvent, LinkStatus
from app.session.events import LinkState
from decoder.spec import CodecSpec
from decoder.wire.budget import expected_s
from decoder.wire.events import Outcome
from server.emulator import Emulator, Scenario, SyntheticTalker
from tests.helpers.hygiene import no_task_is_left, no_thread_is_left
from tests.helpers.servers import tcp_server
from tests.helpers.slow_link import LinkModel, SlowLink

__all__ = ["no_task_is_left", "no_thread_is_left"]

BITS_PER_S = 8_000.0
PACKET_FRAMES = 4
DEMO_SPEC = CodecSpec(codebook_size=1024)
SENTENCE = "this is a long text about nothing at all that goes on and on "
TEXT = SENTENCE * round(60 / expected_s(SENTENCE))


async def test_a_minute_is_heard_without_a_gap() -> None:
    """The server speaks in real time; the decoder is the demo voice's; nobody but the clock listens."""
    down = LinkModel(BITS_PER_S, delay_s=0.3, jitter_s=0.1, seed=1)
    up = LinkModel(BITS_PER_S, delay_s=0.3, jitter_s=0.1, seed=2)
    events: list[EngineEvent] = []
    async with (
        Emulator(SyntheticTalker(DEMO_SPEC), Scenario(pace=1.0)) as emulator,
        tcp_server(SlowLink(emulator.port, down, up)) as port,
    ):
        config = Config(
            server=ServerConfig(url=f"ws://127.0.0.1:{port}", packet_frames=PACKET_FRAMES),
            decoder=DecoderConfig(checkpoint="assets/demo_voice", threads=1),
            audio=AudioConfig(start_buffer_s=0.5),
        )
        engine = build(config, audible=False, paced=True)
        engine.subscribe(events.append)
        await engine.start()
        try:
            await engine.connect()
            await engine.prepared()
            done = await asyncio.wait_for(engine.speak(TEXT), 120)
        finally:
            await engine.aclose()
    report = done.report
    assert (done.outcome, done.reason) == (Outcome.COMPLETE, "")
    assert report.audio_s > 55.0
    assert (report.underruns, report.gap_s) == (0, 0.0)
    assert report.ttfa_s is not None
    assert report.ttfa_s < 5.0
    links = [event.state for event in events if isinstance(event, LinkStatus)]
    assert LinkState.OFFLINE not in links, "a slow link is no lost link"
    assert down.wire_bytes / report.audio_s < BITS_PER_S / 8
    assert report.wire_bytes / report.audio_s < 480
