from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.desktop.peaks import PEAK_S
from app.desktop.waveform import ROOM, SHORTEST_S, bar_heights, span_s


def test_what_is_whole_fills_the_strip() -> None:
    assert span_s(12.3, complete=True) == 12.3
    assert span_s(0.4, complete=True) == 0.4


def test_while_more_is_to_come_there_is_room_for_it() -> None:
    assert span_s(0.0, complete=False) == SHORTEST_S
    assert span_s(8.0, complete=False) >= 8.0 * ROOM


def test_nothing_at_all_still_has_a_scale() -> None:
    assert span_s(0.0, complete=True) == SHORTEST_S


@given(st.floats(0, 1e5))
def test_there_is_always_room_and_never_mostly_room(total_s: float) -> None:
    assert span_s(total_s, complete=False) >= total_s * ROOM * (1 - 1e-6)
    assert span_s(total_s, complete=False) <= max(SHORTEST_S, total_s * ROOM * 1.51)


def test_the_scale_changes_in_steps_as_sound_comes_in() -> None:
    scales = {span_s(total_s / 10, complete=False) for total_s in range(600)}
    assert len(scales) < 10


def test_a_bar_is_as_high_as_its_loudest_peak() -> None:
    peaks = np.zeros(100, dtype=np.float32)
    peaks[57] = 1.0
    heights = bar_heights(peaks, 10, 100 * PEAK_S)
    assert np.argmax(heights) == 5
    assert heights[5] == 1.0
    assert heights[[0, 1, 2, 3, 4, 6, 7, 8, 9]].max() == 0.0


def test_sound_that_fills_half_of_the_span_fills_half_of_the_bars() -> None:
    peaks = np.ones(100, dtype=np.float32)
    assert len(bar_heights(peaks, 40, 2 * 100 * PEAK_S)) == 20


def test_quiet_is_lifted_but_order_is_kept() -> None:
    heights = bar_heights(np.array([0.0, 0.01, 0.1, 0.5, 1.0], dtype=np.float32), 5, 5 * PEAK_S)
    assert list(heights) == sorted(heights)
    assert heights[1] > 0.05


@given(st.integers(1, 500), st.integers(1, 300), st.floats(0.02, 100))
def test_every_number_of_bars_and_peaks_can_be_drawn(count: int, bars: int, span: float) -> None:
    heights = bar_heights(np.full(count, 0.5, dtype=np.float32), bars, span)
    assert 0 < len(heights) <= bars
    assert np.allclose(heights, 0.5**0.6)


@pytest.mark.parametrize(("count", "bars"), [(0, 10), (10, 0)])
def test_nothing_is_drawn_of_nothing_or_nowhere(count: int, bars: int) -> None:
    assert len(bar_heights(np.ones(count, dtype=np.float32), bars, 5.0)) == 0


def test_more_than_full_scale_is_no_higher_than_the_strip() -> None:
    assert bar_heights(np.array([1.5], dtype=np.float32), 1, 1 * PEAK_S).max() == 1.0
