from __future__ import annotations

from app.playback.track import Track
from tests.app.audio.sources import ramp

RATE_HZ = 24_000


def written(track: Track, samples: int) -> None:
    assert track.ring.write(ramp(samples)) == samples


def heard(track: Track, samples: int) -> None:
    assert track.ring.read_into(ramp(samples)) == samples


def test_what_is_written_is_held_back_until_the_gate_opens() -> None:
    track = Track(RATE_HZ)
    assert not track.is_open
    written(track, 2400)
    assert not track.is_open
    assert track.buffered_s == 0.1
    track.open()
    assert track.is_open
    assert not track.is_dry


def test_opening_without_a_sample_opens_nothing() -> None:
    track = Track(RATE_HZ)
    track.open()
    assert not track.is_open


def test_a_dry_ring_shuts_the_gate_until_it_is_opened_again() -> None:
    track = Track(RATE_HZ)
    written(track, 100)
    track.open()
    heard(track, 100)
    track.shut(5.0)
    assert track.is_dry
    written(track, 100)
    assert track.is_dry, "what was written since is held back"
    track.open()
    assert track.is_open


def test_what_is_released_while_the_callback_is_about_to_shut_the_gate_keeps_it_open() -> None:
    """The callback has found the ring dry; before it can say so, the decode thread writes and releases."""
    track = Track(RATE_HZ)
    written(track, 100)
    track.open()
    heard(track, 100)
    written(track, 50)
    track.open()
    track.shut(5.0)
    assert track.is_open


def test_an_end_that_is_told_while_the_callback_is_about_to_shut_the_gate_is_not_lost() -> None:
    """Otherwise the utterance would never finish: nobody opens the gate of a track that has ended."""
    track = Track(RATE_HZ)
    written(track, 100)
    track.open()
    heard(track, 100)
    track.end()
    track.shut(5.0)
    assert track.is_open
    assert not track.is_dry


def test_a_gap_is_an_underrun_once_the_sound_goes_on() -> None:
    track = Track(RATE_HZ)
    written(track, 100)
    track.open()
    heard(track, 100)
    track.shut(5.0)
    assert (track.underruns, track.gap_s, track.dry_dac_s) == (0, 0.0, 5.0)
    track.sound_resumes(5.5)
    assert (track.underruns, track.gap_s, track.dry_dac_s) == (1, 0.5, None)
    track.sound_resumes(5.6)
    assert (track.underruns, track.gap_s) == (1, 0.5)


def test_a_late_end_with_nothing_behind_it_is_no_underrun_and_finished_before_the_wait() -> None:
    track = Track(RATE_HZ)
    written(track, 100)
    track.open()
    heard(track, 100)
    track.shut(5.0)
    track.end()
    track.finish(7.0)
    assert (track.underruns, track.gap_s, track.finished_dac_s) == (0, 0.0, 5.0)
