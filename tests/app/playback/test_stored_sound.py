"""Sound that is there already, and a replay of it in front of what is still live."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.playback.pcm_source import RAMP_S, STOP_FADE_S, PcmSource
from app.playback.stored_sound import StoredSound
from app.playback.track import Replay, Track
from tests.app.playback.test_pcm_source import BLOCK, RATE_HZ, Ear, a_track, constant, largest_step, write

RAMP = round(RAMP_S * RATE_HZ)
STOP_FADE = round(STOP_FADE_S * RATE_HZ)
PCM = (np.arange(12_000, dtype=np.int16) - 6000) * 5


def as_float(samples: np.ndarray) -> np.ndarray:
    return (samples / np.float32(32768)).astype(np.float32)


@given(st.lists(st.integers(0, 700), max_size=40))
def test_reads_in_any_pieces_are_the_samples(sizes: list[int]) -> None:
    stored, pieces = StoredSound(PCM), []
    for size in sizes:
        out = np.ones(size, np.float32)
        count = stored.read_into(out)
        pieces.append(out[:count])
    heard = np.concatenate([np.zeros(0, np.float32), *pieces])
    np.testing.assert_array_equal(heard, as_float(PCM[: len(heard)]))
    assert stored.read_samples == len(heard)
    assert stored.readable_samples == len(PCM) - len(heard)


def test_it_ends_where_it_is_told_to_at_that_moment() -> None:
    end = 100
    stored = StoredSound(PCM, lambda: end)
    out = np.ones(300, np.float32)
    assert stored.read_into(out) == 100
    assert stored.read_into(out) == 0
    end = 20_000
    assert stored.readable_samples == len(PCM) - 100
    end = 50
    assert stored.readable_samples == 0


def test_skipping_goes_forward_only_and_not_beyond_the_end() -> None:
    stored = StoredSound(PCM)
    stored.skip_to(500)
    stored.skip_to(100)
    assert stored.read_samples == 500
    stored.skip_to(10**9)
    assert stored.readable_samples == 0
    assert stored.read_samples == len(PCM)


@settings(deadline=None)
@given(
    heard_before=st.integers(STOP_FADE + BLOCK, 9_000),
    to=st.integers(0, 9_000),
    blocks=st.lists(st.integers(16, 1_024), min_size=1, max_size=8),
)
def test_a_replay_ends_exactly_where_the_live_sound_goes_on(
    heard_before: int, to: int, blocks: list[int]
) -> None:
    """Whatever the old sound's fade has read of it meanwhile: no sample is lost, none is heard twice."""
    source, live = PcmSource(RATE_HZ), Track(RATE_HZ)
    write(live, as_float(PCM))
    live.end()
    source.add(live)
    ear = Ear(source)
    ear.hear(heard_before)
    to = min(to, heard_before - 1)
    stored = StoredSound(PCM[to:], lambda: live.sound.read_samples - to)
    source.rearrange([Replay(RATE_HZ, stored), live])
    rest, sizes = [], itertools.cycle(blocks)
    while live.finished_dac_s is None:
        rest.append(ear.hear(next(sizes)))
    heard = np.concatenate(rest)
    end = round((live.finished_dac_s - (ear.now_s - len(heard) / RATE_HZ)) * RATE_HZ)
    expected = as_float(PCM[to:])
    whole = heard[end - len(expected) : end]
    np.testing.assert_allclose(whole[RAMP:], expected[RAMP:], atol=1e-6)
    assert largest_step(heard) < 0.2


def test_a_pause_and_a_stop_hold_for_a_replay_too() -> None:
    source = PcmSource(RATE_HZ)
    ear = Ear(source)
    source.rearrange([Replay(RATE_HZ, StoredSound(PCM))])
    ear.hear(BLOCK, BLOCK)
    source.pause()
    ear.hear(2 * BLOCK)
    assert not ear.hear(BLOCK).any()
    source.resume()
    assert ear.hear(BLOCK).any()
    source.stop()
    ear.hear(2 * STOP_FADE)
    assert not ear.hear(BLOCK).any()


def test_skipping_forward_lands_where_it_should() -> None:
    source, live = PcmSource(RATE_HZ), Track(RATE_HZ)
    write(live, as_float(PCM))
    live.end()
    source.add(live)
    ear = Ear(source)
    ear.hear(2 * BLOCK)
    live.skip_to_samples = 9_000
    source.rearrange([live])
    heard = ear.hear(STOP_FADE + 3_000, 1)
    assert live.finished_dac_s is not None
    np.testing.assert_allclose(
        heard[STOP_FADE + RAMP : STOP_FADE + 3_000], as_float(PCM[9_000 + RAMP :]), atol=1e-6
    )


def test_what_was_finished_while_it_was_rearranged_is_not_finished_again() -> None:
    source, track = PcmSource(RATE_HZ), a_track(constant(10))
    source.add(track)
    ear = Ear(source)
    ear.hear(BLOCK)
    finished_s = track.finished_dac_s
    source.rearrange([track, a_track(constant(10))])
    ear.hear(BLOCK)
    assert track.finished_dac_s == finished_s


def test_a_dry_spell_before_a_replay_is_no_gap_of_the_time_after() -> None:
    source, live = PcmSource(RATE_HZ), a_track(constant(100), ended=False)
    source.add(live)
    ear = Ear(source)
    ear.hear(BLOCK)
    assert live.is_dry
    source.rearrange([Replay(RATE_HZ, StoredSound(PCM)), live])
    ear.hear(len(PCM) + BLOCK)
    write(live, constant(1000))
    ear.hear(BLOCK)
    assert live.gap_s == pytest.approx(0.0, abs=0.1)


@pytest.mark.parametrize(("latency_s", "expected"), [(0.0, 256), (0.005, 256 - 120), (1.0, 0)])
def test_heard_is_what_has_left_the_device(latency_s: float, expected: int) -> None:
    source, track = PcmSource(RATE_HZ), a_track(constant(5_000))
    source.add(track)
    out = np.ones(BLOCK, np.float32)
    source.read_into(out, 10.0 + latency_s)
    assert track.heard_samples(10.0 + BLOCK / RATE_HZ) == expected


def test_the_volume_changes_without_a_step_and_mutes_all() -> None:
    source = PcmSource(RATE_HZ)
    source.add(a_track(constant(24_000)))
    ear = Ear(source)
    full = ear.hear(BLOCK)
    source.set_volume(0.25)
    fading, quiet = ear.hear(BLOCK), ear.hear(BLOCK)
    np.testing.assert_allclose(quiet, full[-1] * 0.25, rtol=1e-6)
    assert largest_step(np.concatenate([full[-1:], fading, quiet])) < 0.02
    source.set_volume(0.0)
    ear.hear(BLOCK)
    assert not ear.hear(BLOCK).any()
