"""What was observed, session by session, before anybody sums it up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from server.caller import Heard
from server.load.continuity import gaps_s, needed_buffer_s
from server.load.crosstalk import Frames, Judgement, Verdict


@dataclass(frozen=True)
class UtteranceResult:
    """One text of one session. Instants are seconds of one clock for all sessions."""

    sent_s: float
    ended_s: float
    first_frame_s: float | None
    """From the text's last message to the first message with sound; None if none came."""
    gaps_s: list[float]
    """Between each message with sound and the next."""
    needed_buffer_s: float
    """The least start buffer with which a player does not run dry."""
    sound_s: float
    received_bytes: int
    """Of all messages, with their WebSocket headers."""
    failure: str = ""
    """Why it is not complete."""
    anomalies: dict[str, int] = field(default_factory=dict)
    """What the client's wire found odd, and how often."""
    other_text: int | None = None
    """The session whose text the server says that this is."""
    judgement: Judgement | None = None
    """None where there is nothing to compare with."""


@dataclass
class SessionResult:
    """One session; it grows until it ends."""

    index: int
    text: str
    seed: int
    connects_s: list[float] = field(default_factory=list)
    """TCP, TLS and WebSocket handshake: once, or again where a server ends the connection."""
    failure: str = ""
    """Why it did not come to a text, or to its next."""
    utterances: list[UtteranceResult] = field(default_factory=list)
    interrupted: bool = False
    """Somebody ended the measurement before this session had ended."""

    @property
    def failures(self) -> list[str]:
        """Everything that went wrong, in words."""
        texts = [utterance.failure for utterance in self.utterances if utterance.failure]
        return [*texts, self.failure] if self.failure else texts

    @property
    def is_mixed_up(self) -> bool:
        """Whether it was given what is another session's, or not exactly what is its own."""
        return any(
            utterance.other_text is not None
            or (utterance.judgement is not None and utterance.judgement.verdict in _MIXED_UP)
            for utterance in self.utterances
        )

    @property
    def has_diverged(self) -> bool:
        """Whether it left its solo run, and got nothing of another's."""
        return not self.is_mixed_up and any(
            utterance.judgement is not None and utterance.judgement.verdict is Verdict.DIVERGED
            for utterance in self.utterances
        )


_MIXED_UP = (Verdict.FOREIGN, Verdict.DISTURBED)


@dataclass
class LevelResult:
    """So many sessions at once; it grows until it ends."""

    asked: int
    sessions: list[SessionResult] = field(default_factory=list)
    lag_s: list[tuple[float, float]] = field(default_factory=list)
    """Again and again the instant, and how late this process's event loop woke then."""
    cpu_share: float = 0.0
    """Of one CPU, used by this process."""
    interrupted: bool = False


def of_heard(heard: Heard) -> UtteranceResult:
    """Take from what was heard what is counted later; frames are judged by :func:`server.load.run`."""
    anomalies: dict[str, int] = {}
    for anomaly in heard.anomalies:
        anomalies[anomaly.kind.value] = anomalies.get(anomaly.kind.value, 0) + anomaly.count
    first_s = heard.arrivals[0].at_s - heard.sent_s if heard.arrivals else None
    failure = "" if heard.is_complete else heard.reason or "it was not spoken to its end"
    return UtteranceResult(
        sent_s=heard.sent_s,
        ended_s=heard.ended_s,
        first_frame_s=first_s,
        gaps_s=gaps_s(heard.arrivals),
        needed_buffer_s=needed_buffer_s(heard.arrivals),
        sound_s=heard.sound_s,
        received_bytes=heard.received_bytes,
        failure=failure,
        anomalies=anomalies,
    )


@dataclass(frozen=True)
class Solo:
    """What is known of the server when nobody else is there."""

    runs: dict[int, Frames]
    """Of each session, if the server is deterministic; else empty."""
    is_deterministic: bool | None
    """Whether the same text and seed brought the same frames twice; None if it was not tried."""
    mended_sessions: tuple[int, ...] = ()
    """Whose solo runs were wrong, as truly solo ones showed: frames were mixed up among a few already."""

    def mended(self, index: int, frames: Frames) -> Solo:
        """Return the same with another run of one session."""
        mended = tuple(dict.fromkeys((*self.mended_sessions, index)))
        return replace(self, runs={**self.runs, index: frames}, mended_sessions=mended)
