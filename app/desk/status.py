"""What the desk is doing now, as one value."""

from __future__ import annotations

from dataclasses import dataclass

from app.metrics.report import Report
from app.session.events import LinkState
from decoder.wire.events import Mode


@dataclass(frozen=True)
class Speaking:
    """What is heard."""

    id: str
    source: str
    text: str
    """Of the request, as far as it has arrived."""
    sentence: str
    """The one that is heard; empty until the first sample is."""
    heard_s: float
    """Seconds of the request's sound that have left the device."""


@dataclass(frozen=True)
class Waiting:
    """A request in the queue."""

    id: str
    source: str
    text: str
    priority: int
    age_s: float


@dataclass(frozen=True)
class Status:
    """Everything that can be known from outside, at one instant."""

    link: LinkState
    link_detail: str
    mode: Mode
    """Who decodes, as far as the server has said it."""
    decoder_ready: bool
    decoder_detail: str
    decoder_rtf: float | None
    """Real-time factor measured while warming up."""
    output: str | None
    """Name of the sound device; ``None`` while there is none."""
    output_detail: str
    audible: bool
    """Whether the output is one that somebody can hear: a device, and no dummy sink."""
    paused: bool
    speaking: Speaking | None
    queue: tuple[Waiting, ...]
    """In the order in which they would be heard if nothing else came."""
    last: Report | None
    """The numbers of the newest request that was over."""

    @property
    def why_mute(self) -> tuple[str, ...]:
        """What stands in the way of being heard right now, in words; empty if nothing does.

        A link that sleeps because nobody speaks is no obstacle: the next text wakes it.
        """
        reasons = []
        if self.link not in (LinkState.READY, LinkState.ASLEEP):
            reasons.append(f"server: {self.link.value}" + (f", {self.link_detail}" * bool(self.link_detail)))
        if not self.decoder_ready and self.mode is not Mode.PCM:
            reasons.append(f"decoder: {self.decoder_detail}")
        if not self.audible:
            reasons.append(f"sound: {self.output_detail or 'no output'}")
        return tuple(reasons)

    @property
    def is_healthy(self) -> bool:
        """Whether a text would be heard now."""
        return not self.why_mute
