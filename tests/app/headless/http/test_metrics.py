from __future__ import annotations

from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.desk.request import Request
from app.engine.events import LinkStatus, Progress, UtteranceDone
from app.engine.state import Stage
from app.headless.http.metrics import Metrics
from app.metrics.report import Report
from app.session.events import LinkState
from decoder.wire.events import Mode, Outcome
from tests.helpers.fake_desk import READY, REPORT, FakeDesk
from tests.helpers.http_rig import http_rig


def values(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return what Prometheus reads."""
    families = text_string_to_metric_families(metrics.text().decode())
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def value(metrics: Metrics, name: str, **labels: str) -> float:
    return values(metrics)[(f"nearfield_{name}", tuple(sorted(labels.items())))]


def metrics_of(desk: FakeDesk) -> Metrics:
    return Metrics(desk)  # type: ignore[arg-type]


def done(report: Report = REPORT, outcome: Outcome = Outcome.COMPLETE) -> UtteranceDone:
    return UtteranceDone(1, "Hi", outcome, "", report)


async def test_latency_and_its_parts_are_histograms_that_add_up() -> None:
    desk = FakeDesk()
    metrics = metrics_of(desk)
    for _ in range(2):
        desk.tell_watchers(done())
    assert value(metrics, "ttfa_seconds_count") == 2
    assert value(metrics, "ttfa_seconds_sum") == pytest.approx(0.4)
    assert value(metrics, "ttfa_seconds_bucket", le="0.2") == 2
    assert value(metrics, "ttfa_seconds_bucket", le="0.15") == 0
    parts = ("server", "hold", "decode", "behind", "ring", "device")
    total_s = sum(value(metrics, "ttfa_part_seconds_sum", part=part) for part in parts)
    assert total_s == pytest.approx(0.4)
    assert value(metrics, "decode_rtf_sum") == pytest.approx(1.0)
    assert value(metrics, "leading_silence_seconds_count") == 2
    assert value(metrics, "lowest_buffer_seconds_count") == 2


async def test_what_was_never_heard_is_no_latency() -> None:
    desk = FakeDesk()
    metrics = metrics_of(desk)
    desk.tell_watchers(done(replace(REPORT, ttfa_s=None), Outcome.FAILED))
    assert value(metrics, "ttfa_seconds_count") == 0
    assert value(metrics, "utterances_total", path="aloud", outcome="failed") == 1


async def test_underruns_bytes_and_outcomes_are_counted() -> None:
    desk = FakeDesk()
    metrics = metrics_of(desk)
    desk.tell_watchers(done(replace(REPORT, underruns=2, gap_s=0.5, device_underflows=3)))
    desk.tell_watchers(done(outcome=Outcome.CANCELLED))
    metrics.observe_unheard(done())
    assert value(metrics, "underruns_total") == 2
    assert value(metrics, "gap_seconds_total") == 0.5
    assert value(metrics, "device_underflows_total") == 3
    assert value(metrics, "wire_bytes_total", path="aloud") == 2000
    assert value(metrics, "wire_bytes_total", path="file") == 1000
    assert value(metrics, "pcm_bytes_total", path="aloud") == 192_000
    assert value(metrics, "audio_seconds_total", path="file") == 2.0
    assert value(metrics, "utterances_total", path="aloud", outcome="complete") == 1
    assert value(metrics, "utterances_total", path="aloud", outcome="cancelled") == 1
    assert value(metrics, "ttfa_seconds_count") == 2, "nobody waits for the first sound of a file"


async def test_reaching_the_server_again_is_a_reconnect_and_the_first_time_is_none() -> None:
    desk = FakeDesk()
    metrics = metrics_of(desk)
    for state in (
        LinkState.CONNECTING, LinkState.READY, LinkState.READY, LinkState.OFFLINE, LinkState.CONNECTING,
        LinkState.READY, LinkState.ASLEEP, LinkState.READY,
    ):  # fmt: skip
        desk.tell_watchers(LinkStatus(state, Mode.CODEC, ""))
    assert value(metrics, "reconnects_total") == 2


async def test_states_are_those_of_the_moment_at_which_somebody_looks() -> None:
    desk = FakeDesk(at_once=False)
    metrics = metrics_of(desk)
    assert (value(metrics, "link_up"), value(metrics, "output_audible")) == (1, 1)
    desk.now = replace(READY, link=LinkState.OFFLINE, audible=False, decoder_ready=False)
    desk.pause()
    for text in ("One.", "Two."):
        desk.speak(Request(text))
    assert (value(metrics, "link_up"), value(metrics, "output_audible")) == (0, 0)
    assert (value(metrics, "decoder_ready"), value(metrics, "paused")) == (0, 1)
    assert value(metrics, "queue_length") == 2
    desk.tell_watchers(Progress(1, Stage.PLAYING, replace(REPORT, buffered_s=0.7)))
    assert value(metrics, "buffer_seconds") == 0.7
    desk.tell_watchers(done())
    assert value(metrics, "buffer_seconds") == 0


async def test_requests_are_counted_by_their_end() -> None:
    desk = FakeDesk(at_once=False)
    metrics = metrics_of(desk)
    for text in ("One.", "Two.", "Three."):
        desk.speak(Request(text))
    desk.speak_next()
    desk.fail(desk.begin_next(), "no")
    desk.stop()
    assert [value(metrics, "requests_total", outcome=o) for o in ("finished", "failed", "interrupted")] == [
        1,
        1,
        1,
    ]
    metrics.close()
    assert not desk.watchers


async def test_the_answer_is_what_prometheus_reads() -> None:
    async with http_rig() as rig, rig.client.get(rig.url + "/metrics") as answer:
        assert answer.status == 200
        assert answer.headers["Content-Type"].startswith("text/plain; version=")
        families = {f.name for f in text_string_to_metric_families(await answer.text())}
    assert {"nearfield_ttfa_seconds", "nearfield_reconnects", "nearfield_queue_length"} <= families
