"""The whole audio callback without PortAudio: copies, zero-fills, counts, returns.

The edges of every silence in mid-speech are smoothed without touching what is played: after the last
sample before a gap its value decays to zero, and the first samples after the gap fade in. Nothing is lost
or repeated.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from app.playback.track import Track

RAMP_S = 0.005
STOP_FADE_S = 0.010
IDLE_S = 2.0
"""Sinks that fall asleep do so after a few seconds; a lead-in is due when nothing played for longer."""


class _Playlist:
    """The tracks to play, in order. Stopping puts a new playlist in the place of the old."""

    def __init__(self) -> None:
        self.tracks: deque[Track] = deque()


class PcmSource:
    """Plays tracks one after the other, without a gap between them, as samples are asked for.

    ``read_into`` belongs to the audio thread; everything else to the event loop.
    """

    def __init__(
        self, rate_hz: int, lead_in_s: float = 0.0, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._rate_hz = rate_hz
        self._clock = clock
        self._lead_in_samples = round(lead_in_s * rate_hz)
        self._fade_in = np.linspace(0.0, 1.0, round(RAMP_S * rate_hz), dtype=np.float32)
        self._fade_out = np.linspace(1.0, 0.0, round(STOP_FADE_S * rate_hz), dtype=np.float32)
        self._playlist = _Playlist()
        self._paused = False
        # Owned by the audio thread.
        self._playing = self._playlist
        self._last_sample = 0.0
        self._faded_in = len(self._fade_in)
        self._lead_left = 0
        self._idle_since_s = -IDLE_S

    @property
    def rate_hz(self) -> int:
        """Samples per second."""
        return self._rate_hz

    # -- event loop -------------------------------------------------------------------------------------

    def add(self, track: Track) -> None:
        """Play ``track`` after those that were added before."""
        self._playlist.tracks.append(track)

    def stop(self) -> None:
        """Fade out what is heard and forget all tracks; a track added afterwards starts at once."""
        self._playlist = _Playlist()
        self._paused = False

    def pause(self) -> None:
        """Fall silent; no sample is lost."""
        self._paused = True

    def resume(self) -> None:
        """Go on from the sample after the last one heard."""
        self._paused = False

    @property
    def is_paused(self) -> bool:
        """Whether :meth:`pause` is in force."""
        return self._paused

    def readable_samples(self) -> int:
        """Return how many samples of sound a read would bring now; 1 if only an end is left to be noticed."""
        tracks = self._playlist.tracks
        track = tracks[0] if tracks and not self._paused else None
        if track is None or not track.is_open:
            return 0
        return max(track.ring.readable_samples, int(track.ended))

    # -- audio thread -----------------------------------------------------------------------------------

    def read_into(self, out: NDArray[np.float32], dac_s: float) -> None:
        """Fill ``out`` (mono, ±1); ``out[0]`` leaves the DAC at ``dac_s``."""
        playlist = self._playlist
        filled = 0
        if playlist is not self._playing:
            filled = self._fade_away(out)
            self._playing = playlist
        if not self._paused:
            filled += self._play(playlist, out[filled:], dac_s + filled / self._rate_hz)
        self._fall_silent(out[filled:])
        if filled:
            self._idle_since_s = dac_s + filled / self._rate_hz

    def _play(self, playlist: _Playlist, out: NDArray[np.float32], dac_s: float) -> int:
        filled = 0
        while playlist.tracks and filled < len(out):
            track = playlist.tracks[0]
            if not track.is_open:
                break
            if track.first_dac_s is None:
                filled += self._lead_in(out[filled:], dac_s)
                if filled == len(out):
                    break
            at_s = dac_s + filled / self._rate_hz
            # Read the flag before the ring: samples written in between are then not taken for the end.
            ended = track.ended
            count = track.ring.read_into(out[filled:])
            if count:
                if track.first_dac_s is None:
                    track.first_read_s = self._clock()
                    track.first_dac_s = at_s
                track.sound_resumes(at_s)
                self._smooth(out[filled : filled + count])
                filled += count
            if filled == len(out):
                break
            if not ended:
                track.shut(dac_s + filled / self._rate_hz)
                break
            track.finish(dac_s + filled / self._rate_hz)
            playlist.tracks.popleft()
        return filled

    def _lead_in(self, out: NDArray[np.float32], dac_s: float) -> int:
        """Write the silence that wakes a sleeping sink; how much of ``out`` it takes."""
        if self._lead_in_samples and dac_s - self._idle_since_s >= IDLE_S:
            self._lead_left = self._lead_in_samples
        count = min(self._lead_left, len(out))
        out[:count] = 0.0
        self._lead_left -= count
        return count

    def _smooth(self, pcm: NDArray[np.float32]) -> None:
        """Fade in after a silence in mid-speech and remember where the sound stands."""
        if self._faded_in < len(self._fade_in):
            ramp = self._fade_in[self._faded_in : self._faded_in + len(pcm)]
            pcm[: len(ramp)] *= ramp
            self._faded_in += len(ramp)
        self._last_sample = float(pcm[-1])

    def _fall_silent(self, out: NDArray[np.float32]) -> None:
        """Write silence, coming from the last sample without a step."""
        if len(out) == 0:
            return
        out.fill(0.0)
        if self._last_sample:
            tail = self._fade_out[: len(out)]
            out[: len(tail)] = tail * self._last_sample
            self._last_sample = 0.0
        track = self._playing.tracks[0] if self._playing.tracks else None
        in_speech = track is not None and track.first_dac_s is not None
        self._faded_in = 0 if in_speech else len(self._fade_in)

    def _fade_away(self, out: NDArray[np.float32]) -> int:
        """Play a few more samples of what was stopped, down to nothing."""
        tracks = self._playing.tracks
        if not tracks or not tracks[0].is_open or tracks[0].first_dac_s is None:
            return 0
        count = tracks[0].ring.read_into(out[: len(self._fade_out)])
        out[:count] *= np.linspace(1.0, 0.0, count, dtype=np.float32)
        self._last_sample = 0.0
        return count
