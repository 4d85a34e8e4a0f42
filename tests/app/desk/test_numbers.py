from __future__ import annotations

from dataclasses import replace

import pytest

from app.desk.numbers import joined
from tests.helpers.fake_desk import REPORT


def test_one_utterance_has_its_own_numbers() -> None:
    assert joined([REPORT]) == REPORT


def test_several_have_the_latency_of_the_first_and_sums_and_extremes_of_all() -> None:
    other = replace(
        REPORT, ttfa_s=9.0, rtf=1.0, frames=5, audio_s=2.0, highest_buffer_s=4.0, lowest_buffer_s=0.1,
        underruns=1, gap_s=0.5, wire_bytes=10, pcm_bytes=20, leading_silence_s=3.0,
    )  # fmt: skip
    report = joined([REPORT, other])
    assert (report.ttfa_s, report.parts, report.leading_silence_s) == (0.2, REPORT.parts, 0.03)
    assert report.rtf == pytest.approx(0.75)
    assert (report.frames, report.audio_s, report.underruns, report.gap_s) == (30, 4.0, 1, 0.5)
    assert (report.highest_buffer_s, report.lowest_buffer_s) == (4.0, 0.1)
    assert (report.wire_bytes, report.pcm_bytes) == (1010, 96_020)


def test_the_real_time_factor_is_of_what_was_decoded_here() -> None:
    by_server = replace(REPORT, rtf=None, audio_s=100.0)
    assert joined([by_server, REPORT]).rtf == pytest.approx(0.5)
    assert joined([by_server]).rtf is None
    assert joined([replace(REPORT, lowest_buffer_s=None)]).lowest_buffer_s is None
