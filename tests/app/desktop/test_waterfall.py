from __future__ import annotations

from dataclasses import replace

import pytest

from app.desktop.latency import Hop, numbers_of
from app.desktop.waterfall import SHORTEST_SCALE_S, Bar, Waterfall, waterfall
from app.metrics.report import LatencyParts, Report
from tests.app.desktop.test_latency import REPORT


def laid_out(report: Report) -> Waterfall:
    return waterfall(numbers_of([report]))


def by_hop(laid: Waterfall) -> dict[Hop, Bar]:
    return {bar.hop: bar for bar in laid.bars}


def test_there_is_a_bar_for_every_hop_before_anything_is_known() -> None:
    laid = waterfall(None)
    assert [bar.hop for bar in laid.bars] == list(Hop)
    assert {(bar.starts, bar.ends, bar.duration_s) for bar in laid.bars} == {(None, None, None)}


def test_each_bar_begins_where_the_one_before_ends() -> None:
    laid = laid_out(REPORT)
    assert laid.scale_s == pytest.approx(0.2)
    assert laid.bars[0].starts == 0
    for before, after in zip(laid.bars, laid.bars[1:], strict=False):
        assert after.starts == before.ends
    assert laid.bars[-1].ends == pytest.approx(0.187 / 0.2)
    assert by_hop(laid)[Hop.SERVER].starts == pytest.approx(0.004 / 0.2)
    assert by_hop(laid)[Hop.SERVER].ends == pytest.approx(0.085 / 0.2)


def test_bars_never_leave_the_scale() -> None:
    for server_s in (0.0, 0.0931, 0.5, 3.2, 100.0):
        laid = laid_out(replace(REPORT, parts=replace(REPORT.parts, server_s=server_s)))
        assert all(bar.ends is not None and 0 <= bar.ends <= 1 + 1e-9 for bar in laid.bars)


def test_after_a_hop_that_is_not_known_none_has_a_place() -> None:
    laid = by_hop(laid_out(replace(REPORT, parts=LatencyParts(server_s=0.08, device_s=0.02))))
    assert laid[Hop.SERVER].ends is not None
    assert laid[Hop.HOLD].starts is None
    assert (laid[Hop.DEVICE].starts, laid[Hop.DEVICE].duration_s) == (None, 0.02)


def test_the_slowest_stands_out_and_what_is_not_ttfa_is_told_apart() -> None:
    laid = laid_out(REPORT)
    assert [bar.hop for bar in laid.bars if bar.is_slowest] == [Hop.SERVER]
    assert [bar.hop for bar in laid.bars if not bar.is_within_ttfa] == [Hop.BEFORE, Hop.SILENCE]


def test_few_milliseconds_look_like_few() -> None:
    quick = LatencyParts(server_s=0.002, hold_s=0, decode_s=0.001, behind_s=0, ring_s=0.001, device_s=0.001)
    laid = laid_out(replace(REPORT, parts=quick, before_sent_s=0.0, leading_silence_s=0.0))
    assert laid.scale_s == SHORTEST_SCALE_S
