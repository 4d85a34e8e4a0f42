"""The numbers of several utterances as those of the one request that they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.metrics.report import Report


def joined(reports: Sequence[Report]) -> Report:
    """Put ``reports``, at least one, together: the latency of the first, sums and extremes of all."""
    first = reports[0]
    lows = [r.lowest_buffer_s for r in reports if r.lowest_buffer_s is not None]
    return replace(
        first,
        rtf=_rtf(reports),
        frames=sum(r.frames for r in reports),
        audio_s=sum(r.audio_s for r in reports),
        buffered_s=reports[-1].buffered_s,
        highest_buffer_s=max(r.highest_buffer_s for r in reports),
        lowest_buffer_s=min(lows, default=None),
        underruns=sum(r.underruns for r in reports),
        gap_s=sum(r.gap_s for r in reports),
        device_underflows=sum(r.device_underflows for r in reports),
        wire_bytes=sum(r.wire_bytes for r in reports),
        pcm_bytes=sum(r.pcm_bytes for r in reports),
    )


def _rtf(reports: Sequence[Report]) -> float | None:
    """Return the seconds of decoding in all for a second of sound, of those that were decoded here."""
    decoded = [(r.rtf, r.audio_s) for r in reports if r.rtf is not None and r.audio_s > 0]
    audio_s = sum(seconds for _, seconds in decoded)
    return sum(rtf * seconds for rtf, seconds in decoded) / audio_s if audio_s else None
