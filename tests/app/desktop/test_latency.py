from __future__ import annotations

from dataclasses import replace

import pytest

from app.desktop.latency import Hop, Numbers, numbers_of, report_text
from app.metrics.report import LatencyParts, Report

REPORT = Report(
    ttfa_s=0.171,
    parts=LatencyParts(server_s=0.081, hold_s=0.0, decode_s=0.014, behind_s=0.0, ring_s=0.056, device_s=0.02),
    before_sent_s=0.004,
    leading_silence_s=0.012,
    rtf=0.1,
    frames=18,
    audio_s=1.44,
    buffered_s=0.5,
    highest_buffer_s=0.8,
    lowest_buffer_s=0.2,
    underruns=0,
    gap_s=0.0,
    device_underflows=0,
    wire_bytes=1_200,
    pcm_bytes=69_120,
)


def numbers(*reports: Report) -> Numbers:
    made = numbers_of(reports)
    assert made is not None
    return made


def test_without_a_report_there_are_no_numbers() -> None:
    assert numbers_of([]) is None


def test_latency_is_that_of_the_first_utterance_and_the_rest_is_of_all() -> None:
    second = replace(REPORT, ttfa_s=9.0, rtf=0.4, frames=36, audio_s=2.88, underruns=2, gap_s=0.3)
    both = numbers(REPORT, second)
    assert both.ttfa_s == 0.171
    assert (both.frames, both.underruns, both.gap_s) == (54, 2, 0.3)
    assert both.audio_s == pytest.approx(4.32)
    # Weighed by the sound that was decoded: a long utterance counts for more.
    assert both.rtf == pytest.approx((0.1 * 1.44 + 0.4 * 2.88) / 4.32)


def test_the_hops_between_before_and_silence_add_up_to_the_ttfa() -> None:
    hops = numbers(REPORT).hops()
    assert list(hops) == list(Hop)
    within = [value for hop, value in hops.items() if hop not in (Hop.BEFORE, Hop.SILENCE)]
    assert sum(value for value in within if value is not None) == pytest.approx(0.171)


@pytest.mark.parametrize(
    ("parts", "slowest"),
    [
        (REPORT.parts, Hop.SERVER),
        (replace(REPORT.parts, ring_s=0.3), Hop.RING),
        (replace(REPORT.parts, hold_s=0.3), Hop.HOLD),
        (replace(REPORT.parts, decode_s=0.3), Hop.DECODE),
        (replace(REPORT.parts, device_s=0.3), Hop.DEVICE),
        (replace(REPORT.parts, behind_s=9.0), Hop.SERVER),
        (replace(REPORT.parts, device_s=None), None),
    ],
)
def test_the_slowest_hop_is_named_once_all_are_known(parts: LatencyParts, slowest: Hop | None) -> None:
    assert numbers(replace(REPORT, parts=parts)).slowest() is slowest


def test_rates_are_bytes_for_each_second_of_sound() -> None:
    made = numbers(REPORT)
    assert made.wire_bytes_per_s == pytest.approx(1_200 / 1.44)
    assert made.pcm_bytes_per_s == pytest.approx(48_000)
    silent = numbers(replace(REPORT, audio_s=0.0, wire_bytes=0, pcm_bytes=0))
    assert (silent.wire_bytes_per_s, silent.pcm_bytes_per_s) == (None, None)


def test_sound_without_frames_was_decoded_by_the_server() -> None:
    assert numbers(replace(REPORT, frames=0, rtf=None)).is_decoded_by_server
    assert not numbers(REPORT).is_decoded_by_server
    assert not numbers(replace(REPORT, frames=0, rtf=None, audio_s=0.0)).is_decoded_by_server


def test_the_report_says_all_of_it_in_lines() -> None:
    assert report_text(numbers(REPORT)).splitlines() == [
        "TTFA 171 ms = server 81 ms + hold 0 ms + decode 14 ms + ring 56 ms + device 20 ms",
        "before the text was sent 4 ms, leading silence 12 ms, slowest part: server",
        "RTF 0.10, 18 frames, 1.44 s of sound, buffer 0.50 s",
        "underruns 0 (0 ms silent), device served late 0 times",
        "1.2 kB received, as PCM 69.1 kB",
    ]


def test_the_report_names_waiting_for_ones_turn_only_where_there_was_some() -> None:
    waited = numbers(replace(REPORT, parts=replace(REPORT.parts, behind_s=1.5)))
    assert "+ behind the text before 1500 ms + ring" in report_text(waited)


def test_the_report_of_a_reading_that_was_not_heard_yet_has_dashes() -> None:
    early = numbers(
        replace(REPORT, ttfa_s=None, parts=LatencyParts(server_s=0.08), rtf=None, leading_silence_s=None)
    )
    first, second, third, *_ = report_text(early).splitlines()
    assert first == "TTFA – = server 80 ms + hold – + decode – + ring – + device –"
    assert second.endswith("leading silence –, slowest part: not known")
    assert third.startswith("RTF –,")


def test_the_report_says_who_decoded_in_place_of_a_real_time_factor() -> None:
    assert "RTF decoded by the server, 0 frames" in report_text(numbers(replace(REPORT, rtf=None, frames=0)))
