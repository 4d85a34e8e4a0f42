"""How far two token streams agree."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from decoder.streaming.parity.agreement import Agreement, agreement

codes = hnp.arrays(np.int16, st.tuples(st.integers(0, 12), st.just(16)), elements=st.integers(0, 3))


@given(codes)
def test_what_is_the_same_agrees_as_a_whole(first: np.ndarray) -> None:
    found = agreement(first, first.copy())
    assert found.is_whole
    assert found == Agreement(len(first), len(first), len(first), len(first), 1.0)


@given(codes, st.integers(0, 11), st.integers(0, 15))
def test_the_prefix_ends_before_the_first_code_that_differs(first: np.ndarray, at: int, book: int) -> None:
    second = first.copy()
    if at < len(second):
        second[at, book] += 1
    found = agreement(first, second)
    assert found.prefix_frames == min(at, len(first))
    assert found.equal_frames == len(first) - (at < len(first))


@given(codes, codes)
def test_it_does_not_matter_which_is_first(first: np.ndarray, second: np.ndarray) -> None:
    one, other = agreement(first, second), agreement(second, first)
    assert (one.prefix_frames, one.equal_frames, one.equal_codes) == (
        other.prefix_frames,
        other.equal_frames,
        other.equal_codes,
    )
    assert one.prefix_frames <= one.equal_frames <= min(len(first), len(second))


def test_a_longer_one_agrees_over_what_is_common_and_is_not_the_same() -> None:
    first = np.ones((5, 16), np.int16)
    found = agreement(first, first[:3])
    assert found == Agreement(5, 3, 3, 3, 1.0)
    assert not found.is_whole
