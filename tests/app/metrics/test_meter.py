from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.metrics.meter import Meter
from app.metrics.report import LatencyParts, Report

RATE_HZ = 24_000


def measured() -> Meter:
    """An utterance whose every instant is known."""
    meter = Meter(requested_s=10.0, rate_hz=RATE_HZ)
    meter.text_was_sent(10.5)
    meter.bytes_arrived(39)
    meter.sound_arrived(10.7, 1)
    meter.bytes_arrived(71)
    meter.sound_arrived(10.8, 2)
    meter.chunk_was_decoded(10.71, 10.75, 1920)
    meter.chunk_was_decoded(10.81, 10.87, 3840)
    meter.sound_was_heard(10.9, 11.0, 0.16, 0, 0.0)
    meter.more_is_to_come(0.16)
    meter.more_is_to_come(0.04)
    meter.more_is_to_come(0.30)
    meter.sound_was_heard(10.9, 11.0, 0.05, 1, 0.25)
    meter.leading_silence_s = 0.07
    return meter


def test_each_figure_runs_between_the_instants_it_says() -> None:
    report = measured().report()
    assert report.ttfa_s == pytest.approx(0.5)
    assert report.before_sent_s == pytest.approx(0.5)
    assert asdict(report.parts) == pytest.approx(
        {"server_s": 0.2, "hold_s": 0.01, "decode_s": 0.04, "behind_s": 0.0, "ring_s": 0.15, "device_s": 0.1}
    )
    assert report.rtf == pytest.approx(0.1 / 0.24)
    assert (report.frames, report.audio_s) == (3, pytest.approx(0.24))
    assert (report.buffered_s, report.highest_buffer_s, report.lowest_buffer_s) == (0.05, 0.16, 0.04)
    assert (report.underruns, report.gap_s, report.leading_silence_s) == (1, 0.25, 0.07)
    assert (report.wire_bytes, report.pcm_bytes) == (110, 2 * 5760)
    assert report.parts.slowest() == "server"


@settings(deadline=None)
@given(st.lists(st.floats(0, 1000), min_size=6, max_size=6))
def test_the_parts_add_up_to_the_ttfa(instants: list[float]) -> None:
    sent, arrived, started, ended, read, dac = sorted(instants)
    meter = Meter(0.0, RATE_HZ)
    meter.text_was_sent(sent)
    meter.sound_arrived(arrived, 1)
    meter.chunk_was_decoded(started, ended, 1920)
    meter.sound_was_heard(read, dac, 0.0, 0, 0.0)
    report = meter.report()
    assert sum(asdict(report.parts).values()) == pytest.approx(report.ttfa_s)


def test_waiting_for_the_text_before_is_a_part_of_its_own_and_not_slow() -> None:
    """The device's latency is the same for both: what counts is when the callback could have read."""
    meter = measured()
    meter.follows(finished_dac_s=10.99)
    parts = meter.report().parts
    assert parts.behind_s == pytest.approx(0.14)
    assert parts.ring_s == pytest.approx(0.01)
    assert parts.slowest() == "server"
    meter.follows(finished_dac_s=10.2)
    assert meter.report().parts.behind_s == 0.0


def test_the_device_is_late_for_this_utterance_only_where_it_was() -> None:
    meter = measured()
    meter.device_was_late(7)
    meter.device_was_late(9)
    assert meter.report().device_underflows == 2


def test_the_time_to_first_audio_begins_with_the_last_sending_of_the_text() -> None:
    meter = measured()
    meter.text_was_sent(10.6)
    assert meter.report().ttfa_s == pytest.approx(0.4)
    assert meter.report().before_sent_s == pytest.approx(0.6)


def test_what_is_not_known_yet_is_none_and_not_zero() -> None:
    report = Meter(1.0, RATE_HZ).report()
    assert (report.ttfa_s, report.rtf, report.lowest_buffer_s, report.leading_silence_s) == (None,) * 4
    assert report.parts == LatencyParts()
    assert report.parts.slowest() is None
    assert (report.audio_s, report.underruns, report.before_sent_s) == (0.0, 0, 0.0)


def test_a_server_that_decodes_has_no_decoding_here() -> None:
    meter = Meter(0.0, RATE_HZ)
    meter.text_was_sent(0.0)
    meter.sound_arrived(0.3, 0)
    meter.samples_arrived(0.31, 4800)
    meter.samples_arrived(0.5, 4800)
    meter.sound_was_heard(0.4, 0.5, 0.2, 0, 0.0)
    report = meter.report()
    assert (report.parts.hold_s, report.parts.decode_s, report.rtf) == (pytest.approx(0.01), 0.0, None)
    assert (report.frames, report.audio_s) == (0, pytest.approx(0.4))
    assert sum(asdict(report.parts).values()) == pytest.approx(report.ttfa_s)


@pytest.mark.parametrize("report", [measured().report(), Meter(1.0, RATE_HZ).report()])
def test_a_report_is_plain_json_with_every_figure_in_it(report: Report) -> None:
    body = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert set(body) == {*asdict(report), "slowest_part"}
    assert set(body["parts"]) == set(asdict(report.parts))
    assert body["slowest_part"] == report.parts.slowest()


def test_every_figure_has_its_unit_and_its_words() -> None:
    """A number without a unit in its name is a count or a ratio."""
    counts_and_ratios = {
        "rtf",
        "frames",
        "underruns",
        "device_underflows",
        "parts",
        "wire_bytes",
        "pcm_bytes",
    }
    assert all(name.endswith("_s") or name in counts_and_ratios for name in asdict(measured().report()))
