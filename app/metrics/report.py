"""The numbers of one utterance, each with the instants it runs between."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class LatencyParts:
    """Where the time to first audio went; ``None`` is not known yet. The parts add up to the TTFA."""

    server_s: float | None = None
    """From the text sent to the first frame (or samples) received."""
    hold_s: float | None = None
    """From the first frame received to the start of the first chunk's decoding."""
    decode_s: float | None = None
    """From the start to the end of the first chunk's decoding; 0 if the server decodes."""
    behind_s: float | None = None
    """From the first samples ready, or the text sent, to the end of the utterance heard before; 0 if there
    was none: a text that follows another is fetched early and waits for its turn."""
    ring_s: float | None = None
    """From then to the callback that takes the first samples: mostly the start buffer filling."""
    device_s: float | None = None
    """From that callback to the DAC, as the device reports it."""

    def slowest(self) -> str | None:
        """Return the name of the largest part, once all are known; waiting for one's turn is not slow."""
        parts = asdict(self)
        if parts.pop("behind_s") is None:
            return None
        if any(value is None for value in parts.values()):
            return None
        return max(parts, key=lambda name: parts[name]).removesuffix("_s")


@dataclass(frozen=True)
class Report:
    """One utterance as measured so far, or in full once it has ended."""

    ttfa_s: float | None
    """Time to first audio: from the text sent to the DAC time of the first sample."""
    parts: LatencyParts
    before_sent_s: float
    """From the request to the text sent: connecting, and the texts before it."""
    leading_silence_s: float | None
    """From the first sample to the first one beyond -50 dBFS: what TTFA does not show and one hears."""
    rtf: float | None
    """Real-time factor of decoding: seconds spent decoding per second of audio; below 1 keeps up."""
    frames: int
    """Frames received."""
    audio_s: float
    """Sound decoded so far."""
    buffered_s: float
    """Sound between decoder and callback now."""
    highest_buffer_s: float
    """The most sound that was there at once."""
    lowest_buffer_s: float | None
    """The least sound that was there while it played and more was to come; 0 at an underrun."""
    underruns: int
    """How often the sound stopped in mid-utterance."""
    gap_s: float
    """How long it was silent there in all."""
    device_underflows: int
    """How often the sound device said meanwhile that it was served too late."""
    wire_bytes: int
    """Bytes of messages received for this utterance."""
    pcm_bytes: int
    """Bytes the same sound would have taken as 16-bit PCM."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with the parts as a nested object, for JSON."""
        body = asdict(self)
        body["slowest_part"] = self.parts.slowest()
        return {k: _rounded(v) for k, v in body.items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    return value
