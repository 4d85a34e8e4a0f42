"""The numbers of a reading, made of its utterances' reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from app.desktop.figures import (
    as_kilobytes,
    as_milliseconds,
    as_real_time_factor,
    as_seconds,
)
from app.metrics.report import LatencyParts, Report


class Hop(Enum):
    """What lies between asking for speech and hearing it, in this order."""

    BEFORE = "before the text was sent"
    SERVER = "server"
    HOLD = "hold"
    DECODE = "decode"
    BEHIND = "behind the text before"
    RING = "ring"
    DEVICE = "device"
    SILENCE = "leading silence"


@dataclass(frozen=True)
class Numbers:
    """A reading as measured so far. Latency is that of its first utterance; the rest is of all of them."""

    ttfa_s: float | None
    """From the first text sent to the DAC time of its first sample."""
    parts: LatencyParts
    before_sent_s: float
    """From the request to the text sent: connecting, mostly."""
    leading_silence_s: float | None
    rtf: float | None
    frames: int
    audio_s: float
    buffered_s: float
    """Decoded sound that waits for the device now."""
    underruns: int
    gap_s: float
    device_underflows: int
    wire_bytes: int
    pcm_bytes: int

    @property
    def is_decoded_by_server(self) -> bool:
        """Whether sound came although no frame did, so that there is no real-time factor to tell."""
        return self.frames == 0 and self.audio_s > 0

    @property
    def wire_bytes_per_s(self) -> float | None:
        """Bytes received for a second of sound; ``None`` before there is any."""
        return self.wire_bytes / self.audio_s if self.audio_s else None

    @property
    def pcm_bytes_per_s(self) -> float | None:
        """Bytes that a second of it would have taken as 16-bit PCM."""
        return self.pcm_bytes / self.audio_s if self.audio_s else None

    def hops(self) -> dict[Hop, float | None]:
        """Return how long each hop took, in seconds and in order; ``None`` is not known yet."""
        return {
            Hop.BEFORE: self.before_sent_s,
            Hop.SERVER: self.parts.server_s,
            Hop.HOLD: self.parts.hold_s,
            Hop.DECODE: self.parts.decode_s,
            Hop.BEHIND: self.parts.behind_s,
            Hop.RING: self.parts.ring_s,
            Hop.DEVICE: self.parts.device_s,
            Hop.SILENCE: self.leading_silence_s,
        }

    def slowest(self) -> Hop | None:
        """Return the largest part of the TTFA, once all are known; waiting for one's turn is not slow."""
        name = self.parts.slowest()
        return None if name is None else Hop(name)


def numbers_of(reports: Sequence[Report]) -> Numbers | None:
    """Put the reports of a reading's utterances, in their order, together; ``None`` without any."""
    if not reports:
        return None
    first = reports[0]
    decoded = [(r.rtf, r.audio_s) for r in reports if r.rtf is not None and r.audio_s]
    decoded_s = sum(audio_s for _, audio_s in decoded)
    return Numbers(
        ttfa_s=first.ttfa_s,
        parts=first.parts,
        before_sent_s=first.before_sent_s,
        leading_silence_s=first.leading_silence_s,
        rtf=sum(rtf * audio_s for rtf, audio_s in decoded) / decoded_s if decoded_s else None,
        frames=sum(r.frames for r in reports),
        audio_s=sum(r.audio_s for r in reports),
        buffered_s=sum(r.buffered_s for r in reports),
        underruns=sum(r.underruns for r in reports),
        gap_s=sum(r.gap_s for r in reports),
        device_underflows=sum(r.device_underflows for r in reports),
        wire_bytes=sum(r.wire_bytes for r in reports),
        pcm_bytes=sum(r.pcm_bytes for r in reports),
    )


def report_text(numbers: Numbers) -> str:
    """Say all of it in lines to paste into a report: in English, whatever language the window speaks."""
    hops = numbers.hops()
    within = [hop for hop in hops if hop not in (Hop.BEFORE, Hop.SILENCE)]
    terms = " + ".join(
        f"{hop.value} {as_milliseconds(hops[hop])}" for hop in within if hop is not Hop.BEHIND or hops[hop]
    )
    slowest = numbers.slowest()
    rtf = "decoded by the server" if numbers.is_decoded_by_server else as_real_time_factor(numbers.rtf)
    return "\n".join(
        [
            f"TTFA {as_milliseconds(numbers.ttfa_s)} = {terms}",
            f"before the text was sent {as_milliseconds(hops[Hop.BEFORE])}, "
            f"leading silence {as_milliseconds(hops[Hop.SILENCE])}, "
            f"slowest part: {'not known' if slowest is None else slowest.value}",
            f"RTF {rtf}, {numbers.frames} frames, {as_seconds(numbers.audio_s)} of sound, "
            f"buffer {as_seconds(numbers.buffered_s)}",
            f"underruns {numbers.underruns} ({as_milliseconds(numbers.gap_s)} silent), "
            f"device served late {numbers.device_underflows} times",
            f"{as_kilobytes(numbers.wire_bytes)} received, as PCM {as_kilobytes(numbers.pcm_bytes)}",
        ]
    )
