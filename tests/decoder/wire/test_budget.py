"""How long a text may take to say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.wire.budget import FLOOR_S, SilenceWatch, budget_s, expected_s
from tests.decoder.wire.lines import frames


@pytest.mark.parametrize("text", ["1", "Huh?", ".", "two words", "", "\u200b"])
def test_short_texts_have_the_floor(text: str) -> None:
    """Five seconds, and not more (CASES B20)."""
    assert budget_s(text) == FLOOR_S


@pytest.mark.parametrize(
    ("text", "slow_reading_s"),
    [
        ("The quick brown fox jumps over the lazy dog. " * 10, 40.0),
        ("我们今天去公园散步,天气非常好。" * 10, 50.0),
        ("3.14159265358979323846264338327950288", 25.0),
        ("Ja, nein, vielleicht, oder doch, gut, na ja.", 6.0),
        ("$5,000 + €3,000 = 8 % & more", 8.0),
    ],
)
def test_a_slow_reading_is_never_cut(text: str, slow_reading_s: float) -> None:
    """The budget is above it, and still finite."""
    assert slow_reading_s < budget_s(text) < 6 * slow_reading_s


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_more_text_never_has_less(a: str, b: str) -> None:
    """What is expected adds up."""
    assert expected_s(a + b) == pytest.approx(expected_s(a) + expected_s(b))
    assert FLOOR_S <= budget_s(a) <= budget_s(a + b)


def test_a_talker_that_repeats_itself_is_stuck_after_eight_seconds() -> None:
    """100 equal codes of codebook 0, in packets of any size, whatever the other codebooks say."""
    still = frames(99)
    still[:, 0] = 7
    watch = SilenceWatch(12.5)
    assert not any(watch.is_stuck(still[i : i + 10]) for i in range(0, 99, 10))
    assert watch.is_stuck(still[:1])


def test_speech_in_between_starts_the_count_again() -> None:
    """A pause is not a stuck talker."""
    still = np.full((99, 16), 7, np.int16)
    watch = SilenceWatch(12.5)
    for _ in range(5):
        assert not watch.is_stuck(still)
        assert not watch.is_stuck(np.full((1, 16), 8, np.int16))
