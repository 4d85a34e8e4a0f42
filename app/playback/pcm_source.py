"""The whole audio callback without PortAudio: copies, zero-fills, counts, returns.

The edges of every silence in mid-speech are smoothed without touching what is played: after the last
sample before a gap its value decays to zero, and the first samples after the gap fade in. Nothing is lost
or repeated.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Container, Iterable

import numpy as np
from numpy.typing import NDArray

from app.playback.track import Replay, Track

RAMP_S = 0.005
STOP_FADE_S = 0.010
IDLE_S = 2.0
"""Sinks that fall asleep do so after a few seconds; a lead-in is due when nothing played for longer."""


class _Playlist:
    """The tracks to play, in order. Stopping puts a new playlist in the place of the old."""

    def __init__(self, tracks: Iterable[Track] = ()) -> None:
        self.tracks: deque[Track] = deque(tracks)


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
        self._decay = np.linspace(1.0, 0.0, round(RAMP_S * rate_hz), dtype=np.float32)
        self._stop_fade = np.linspace(1.0, 0.0, round(STOP_FADE_S * rate_hz), dtype=np.float32)
        self._playlist = _Playlist()
        self._paused = False
        self._volume = 1.0
        # Owned by the audio thread.
        self._volume_now = 1.0
        self._playing = self._playlist
        self._stopped: Track | None = None
        """What was stopped and is being faded away."""
        self._stop_faded = 0
        self._silent = True
        """Whether the newest sample was of no track."""
        self._last_sample = 0.0
        """The newest sample of a track, as it was handed out."""
        self._decays_from = 0.0
        self._decayed = len(self._decay)
        self._faded_in = len(self._fade_in)
        self._lead_left = 0
        self._idle_since_s = -IDLE_S
        self._asked_s = clock()

    @property
    def rate_hz(self) -> int:
        """Samples per second."""
        return self._rate_hz

    @property
    def asked_s(self) -> float:
        """When samples were last asked for, or this was made: it moves as long as an output lives."""
        return self._asked_s

    # -- event loop -------------------------------------------------------------------------------------

    def add(self, track: Track) -> None:
        """Play ``track`` after those that were added before, unless it is one of them."""
        if track not in self._playlist.tracks:
            self._playlist.tracks.append(track)

    def drop(self, dropped: Container[Track]) -> None:
        """Have ``dropped`` heard no more: what is heard of them fades out, other sound goes on."""
        tracks = tuple(self._playlist.tracks)
        if tracks and tracks[0] in dropped:
            self.rearrange(track for track in tracks if track not in dropped)
            return
        for track in tracks:
            if track in dropped:
                track.cut_at_samples = 0

    def rearrange(self, tracks: Iterable[Track]) -> None:
        """Fade out what is heard and play ``tracks`` instead, of which some may have been playing."""
        self._playlist = _Playlist(tracks)

    def set_volume(self, volume: float) -> None:
        """Scale all sound by ``volume``, 0..1, from the next block on, without a step."""
        self._volume = volume

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
        return max(track.sound.readable_samples, int(track.ended))

    # -- audio thread -----------------------------------------------------------------------------------

    def read_into(self, out: NDArray[np.float32], dac_s: float) -> None:
        """Fill ``out`` (mono, ±1); ``out[0]`` leaves the DAC at ``dac_s``."""
        self._asked_s = self._clock()
        playlist = self._playlist
        if playlist is not self._playing:
            if self._stopped is None and not self._silent:
                self._stopped, self._stop_faded = self._playing.tracks[0], 0
            for track in self._playing.tracks:
                track.set_aside()
            self._playing = playlist
        filled = self._fade_away(out)
        if not self._paused:
            filled += self._play(playlist, out[filled:], dac_s + filled / self._rate_hz)
        self._fall_silent(out[filled:])
        if filled:
            self._idle_since_s = dac_s + filled / self._rate_hz
        self._scale(out)

    def _scale(self, out: NDArray[np.float32]) -> None:
        volume = self._volume
        if volume != self._volume_now:
            out *= np.linspace(self._volume_now, volume, len(out), dtype=np.float32)
            self._volume_now = volume
        elif volume != 1.0:
            out *= np.float32(volume)

    def _play(self, playlist: _Playlist, out: NDArray[np.float32], dac_s: float) -> int:
        filled = 0
        while playlist.tracks and filled < len(out):
            track = playlist.tracks[0]
            if track.finished_dac_s is not None:  # finished in the moment in which it was rearranged
                playlist.tracks.popleft()
                continue
            if not track.is_open:
                break
            track.sound.skip_to(track.skip_to_samples)
            if track.first_dac_s is None and track.sound.readable_samples and track.left_to_cut_samples != 0:
                filled += self._lead_in(out[filled:], dac_s)
                if filled == len(out):
                    break
            at_s = dac_s + filled / self._rate_hz
            # Read the flags before the ring: samples written in between are then not taken for the end.
            ended, left = track.ended, track.left_to_cut_samples
            count = track.sound.read_into(out[filled:] if left is None else out[filled:][:left])
            if count:
                if track.first_dac_s is None:
                    # An output without a device has no latency: its DAC time may be a moment old.
                    track.first_read_s = min(self._clock(), at_s)
                    track.first_dac_s = at_s
                    if not isinstance(track, Replay):
                        self._faded_in = len(self._fade_in)  # a beginning is no edge of a gap
                track.sound_resumes(at_s)
                track.was_read(at_s + count / self._rate_hz)
                self._smooth(out[filled : filled + count])
                filled += count
            if filled == len(out):
                break
            if left is not None:
                if track.first_dac_s is not None:
                    self._sound_stops()
            elif not ended:
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
        self._fall_silent(out[:count])
        self._lead_left -= count
        return count

    def _smooth(self, pcm: NDArray[np.float32]) -> None:
        """Fade in after a silence in mid-speech and remember where the sound stands."""
        ramp = self._fade_in[self._faded_in : self._faded_in + len(pcm)]
        if len(ramp):
            pcm[: len(ramp)] *= ramp
            self._faded_in += len(ramp)
        self._add_decay(pcm)
        self._last_sample = float(pcm[-1])
        self._silent = False

    def _fall_silent(self, out: NDArray[np.float32]) -> None:
        """Write silence, coming from the last sample without a step."""
        if len(out) == 0:
            return
        out.fill(0.0)
        self._sound_stops()
        self._add_decay(out)

    def _sound_stops(self) -> None:
        """Have the last sample decay under whatever follows, and what follows in mid-speech fade in."""
        if not self._silent:
            self._silent = True
            self._decays_from, self._decayed = self._last_sample, 0
            self._faded_in = 0

    def _add_decay(self, out: NDArray[np.float32]) -> None:
        """Add what is left of the decay of the sound before a silence; it may span blocks."""
        tail = self._decay[self._decayed : self._decayed + len(out)]
        if len(tail):
            head = out[: len(tail)]
            head += tail * np.float32(self._decays_from)
            np.clip(head, -1.0, 1.0, out=head)
            self._decayed += len(tail)

    def _fade_away(self, out: NDArray[np.float32]) -> int:
        """Play a few more samples of what was stopped, down to nothing; how many they are."""
        if self._stopped is None:
            return 0
        fade = self._stop_fade[self._stop_faded : self._stop_faded + len(out)]
        count = self._stopped.sound.read_into(out[: len(fade)])
        if count:
            out[:count] *= fade[:count]
            self._smooth(out[:count])
            self._stop_faded += count
        if count < len(out):
            self._stopped = None
            self._sound_stops()
        return count
