"""Turns what was observed of one utterance into its :class:`~app.metrics.report.Report`.

The meter is told; nothing asks it anything on the way to the ear. All instants are ``perf_counter`` seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.metrics.report import LatencyParts, Report


@dataclass
class Meter:
    """Made new for each utterance, at the instant it was asked for."""

    requested_s: float
    rate_hz: int
    text_sent_s: float | None = None
    first_arrival_s: float | None = None
    first_decode_started_s: float | None = None
    first_decode_ended_s: float | None = None
    first_read_s: float | None = None
    first_dac_s: float | None = None
    leading_silence_s: float | None = None
    frames: int = 0
    wire_bytes: int = 0
    decode_s: float = 0.0
    decoded_samples: int = 0
    samples: int = 0
    buffered_s: float = 0.0
    highest_buffer_s: float = 0.0
    lowest_buffer_s: float | None = None
    underruns: int = 0
    gap_s: float = 0.0
    previous_finished_dac_s: float | None = None
    device_underflows: int = 0
    underflows_before: int | None = None

    def text_was_sent(self, at_s: float) -> None:
        """Note that the text left; TTFA runs from the last time it did."""
        self.text_sent_s = at_s

    def bytes_arrived(self, count: int) -> None:
        """Note the size of a message."""
        self.wire_bytes += count

    def sound_arrived(self, at_s: float, frames: int) -> None:
        """Note frames, or samples (0 frames) from a server that decodes."""
        self.frames += frames
        if self.first_arrival_s is None:
            self.first_arrival_s = at_s

    def chunk_was_decoded(self, started_s: float, ended_s: float, samples: int) -> None:
        """Note a chunk of ``samples`` samples."""
        self.decode_s += ended_s - started_s
        self.decoded_samples += samples
        self.samples += samples
        if self.first_decode_started_s is None:
            self.first_decode_started_s, self.first_decode_ended_s = started_s, ended_s

    def samples_arrived(self, at_s: float, samples: int) -> None:
        """Note samples that needed no decoding."""
        self.samples += samples
        if self.first_decode_started_s is None:
            self.first_decode_started_s = self.first_decode_ended_s = at_s

    def device_was_late(self, underflows: int) -> None:
        """Note the device's count of late services, which goes on from utterance to utterance."""
        if self.underflows_before is None:
            self.underflows_before = underflows
        self.device_underflows = underflows - self.underflows_before

    def follows(self, finished_dac_s: float | None) -> None:
        """Note when the last sample of the utterance before has left the DAC, once that is known."""
        self.previous_finished_dac_s = finished_dac_s

    def _behind_s(self) -> float | None:
        """Return how much of the way to the first sample was waiting for the utterance before."""
        if self.first_decode_ended_s is None or self.first_read_s is None or self.first_dac_s is None:
            return None
        if self.previous_finished_dac_s is None:
            return 0.0
        # What is read follows what was read before: the device's latency is not waiting.
        turn_s = self.previous_finished_dac_s - (self.first_dac_s - self.first_read_s)
        return max(0.0, min(turn_s, self.first_read_s) - self.first_decode_ended_s)

    def sound_was_heard(
        self,
        first_read_s: float | None,
        first_dac_s: float | None,
        buffered_s: float,
        underruns: int,
        gap_s: float,
    ) -> None:
        """Note what the track knows of its playing."""
        self.first_read_s, self.first_dac_s = first_read_s, first_dac_s
        self.buffered_s, self.underruns, self.gap_s = buffered_s, underruns, gap_s
        self.highest_buffer_s = max(self.highest_buffer_s, buffered_s)

    def more_is_to_come(self, buffered_s: float) -> None:
        """Note the sound in hand while it plays and is not all decoded yet."""
        known_s = buffered_s if self.lowest_buffer_s is None else self.lowest_buffer_s
        self.lowest_buffer_s = min(known_s, buffered_s)

    def report(self) -> Report:
        """Return the numbers as they stand."""
        behind_s = self._behind_s()
        ready_to_read_s = _between(self.first_decode_ended_s, self.first_read_s)
        parts = LatencyParts(
            server_s=_between(self.text_sent_s, self.first_arrival_s),
            hold_s=_between(self.first_arrival_s, self.first_decode_started_s),
            decode_s=_between(self.first_decode_started_s, self.first_decode_ended_s),
            behind_s=behind_s,
            ring_s=None if ready_to_read_s is None or behind_s is None else ready_to_read_s - behind_s,
            device_s=_between(self.first_read_s, self.first_dac_s),
        )
        audio_s = self.samples / self.rate_hz
        decoded_s = self.decoded_samples / self.rate_hz
        return Report(
            ttfa_s=_between(self.text_sent_s, self.first_dac_s),
            parts=parts,
            before_sent_s=_between(self.requested_s, self.text_sent_s) or 0.0,
            leading_silence_s=self.leading_silence_s,
            rtf=self.decode_s / decoded_s if decoded_s else None,
            frames=self.frames,
            audio_s=audio_s,
            buffered_s=self.buffered_s,
            highest_buffer_s=self.highest_buffer_s,
            lowest_buffer_s=self.lowest_buffer_s,
            underruns=self.underruns,
            gap_s=self.gap_s,
            device_underflows=self.device_underflows,
            wire_bytes=self.wire_bytes,
            pcm_bytes=2 * self.samples,
        )


def _between(start_s: float | None, end_s: float | None) -> float | None:
    return None if start_s is None or end_s is None else end_s - start_s
