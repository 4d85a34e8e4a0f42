"""What the results add up to: one row a level, the caveats, and plain values for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from decoder.spec import CodecSpec
from decoder.wire.events import Mode
from server.caller import Contact
from server.load.continuity import START_BUFFERS_S
from server.load.crosstalk import References
from server.load.results import LevelResult, SessionResult, Solo, UtteranceResult
from server.load.run import LoadRun

DISTURBING_LAG_S = 0.025
"""Half of the smallest start buffer: a message that is taken in later than this may turn an answer."""
_BUSY_SHARE = 0.8
"""Of the one CPU that an event loop can use."""


@dataclass(frozen=True)
class Spread:
    """How some samples lie, in seconds; None without any."""

    p50_s: float | None
    p95_s: float | None
    max_s: float | None


@dataclass(frozen=True)
class LevelReport:
    """So many sessions at once."""

    sessions: int
    most_at_once: int
    """Texts that were being spoken at the same time, at most."""
    texts: int
    """Begun, in all sessions."""
    complete_texts: int
    connect: Spread
    first_frame: Spread
    """From a text's last message to the first message with sound."""
    gap: Spread
    """Between each message with sound and the next."""
    needed_buffer: Spread
    """The least start buffer with which a player does not run dry, of each text."""
    continuity: dict[str, float | None]
    """Share of the sessions that spoke in which no player with a start buffer of so many milliseconds runs
    dry; a text that breaks off has run dry."""
    bytes_per_s: float | None
    """On the WebSocket, headers included, for each second of sound."""
    received_bytes_per_s: float | None
    """Of all sessions together, while any spoke."""
    mixed_up_sessions: tuple[int, ...]
    """That were given what is another's, or not exactly what is theirs."""
    diverged_sessions: tuple[int, ...]
    """That left their solo run for good."""
    compared_sessions: int
    """Whose frames were compared with a solo run that has frames of its own."""
    failures: dict[str, int]
    """Texts of what went wrong, with how many sessions or texts it happened to."""
    anomalies: dict[str, int]
    """What a client finds odd on the wire, and how often."""
    connect_lag: Spread
    """How late this program's own event loop was before the first text."""
    lag: Spread
    """How late it was from the first text to the end of the last."""
    cpu_share: float
    """Of one CPU, used by this program."""
    interrupted: bool


@dataclass(frozen=True)
class LoadReport:
    """All of it."""

    url: str
    mode: str
    model: str
    is_deterministic: bool | None
    levels: list[LevelReport]
    caveats: list[str]
    """What the figures must be read with."""
    details: list[LevelResult]
    has_passed: bool
    """No frame went astray, and nothing failed."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with every session of every level."""
        values = asdict(self)
        details = values.pop("details")
        for level, detail in zip(values["levels"], details, strict=True):
            level["each"] = [_plain(session) for session in detail["sessions"]]
        return values


def report(run: LoadRun, url: str, *, allow_divergence: bool = False) -> LoadReport:
    """Sum up what a run knows, whether or not it came to its end.

    ``allow_divergence``: a session that leaves its solo run for good is no fault.
    """
    contact = run.contact or Contact(Mode.UNKNOWN, CodecSpec(), "")
    levels = [_level(level, run.references) for level in run.levels]
    passed = (
        bool(levels)
        and not run.solo.mended_sessions
        and all(
            not (level.failures or level.mixed_up_sessions)
            and (allow_divergence or not level.diverged_sessions)
            for level in levels
        )
    )
    return LoadReport(
        url=url,
        mode=contact.mode.value,
        model=contact.model,
        is_deterministic=run.solo.is_deterministic,
        levels=levels,
        caveats=_caveats(levels, run.solo, run.references, wanted=run.request.references),
        details=run.levels,
        has_passed=passed,
    )


def _level(level: LevelResult, references: References) -> LevelReport:
    utterances = [utterance for session in level.sessions for utterance in session.utterances]
    sound_s = sum(utterance.sound_s for utterance in utterances)
    received = sum(utterance.received_bytes for utterance in utterances)
    began_s = min((utterance.sent_s for utterance in utterances), default=0.0)
    wall_s = max((utterance.ended_s for utterance in utterances), default=0.0) - began_s
    anomalies: Counter[str] = Counter()
    for utterance in utterances:
        anomalies.update(utterance.anomalies)
    return LevelReport(
        sessions=level.asked,
        most_at_once=_most_at_once(utterances),
        texts=len(utterances),
        complete_texts=sum(not utterance.failure for utterance in utterances),
        connect=spread([took_s for session in level.sessions for took_s in session.connects_s]),
        first_frame=spread([u.first_frame_s for u in utterances if u.first_frame_s is not None]),
        gap=spread([gap_s for utterance in utterances for gap_s in utterance.gaps_s]),
        needed_buffer=spread([u.needed_buffer_s for u in utterances if u.first_frame_s is not None]),
        continuity={f"{b * 1e3:.0f}": continuity(level.sessions, b) for b in START_BUFFERS_S},
        bytes_per_s=received / sound_s if sound_s else None,
        received_bytes_per_s=received / wall_s if wall_s > 0 else None,
        mixed_up_sessions=tuple(session.index for session in level.sessions if session.is_mixed_up),
        diverged_sessions=tuple(session.index for session in level.sessions if session.has_diverged),
        compared_sessions=sum(_is_compared(session, references) for session in level.sessions),
        failures=dict(Counter(text for session in level.sessions for text in session.failures)),
        anomalies=dict(anomalies),
        connect_lag=spread([late_s for at_s, late_s in level.lag_s if at_s <= began_s or not utterances]),
        lag=spread([late_s for at_s, late_s in level.lag_s if began_s < at_s <= began_s + wall_s]),
        cpu_share=level.cpu_share,
        interrupted=level.interrupted,
    )


def continuity(sessions: Sequence[SessionResult], start_buffer_s: float) -> float | None:
    """Return the share of the sessions in which a player never runs dry; None if none spoke."""
    spoke = [session for session in sessions if session.utterances]
    if not spoke:
        return None
    fine = [
        all(not u.failure and u.needed_buffer_s <= start_buffer_s for u in session.utterances)
        for session in spoke
    ]
    return sum(fine) / len(fine)


def spread(samples: Sequence[float]) -> Spread:
    """Return how the samples lie."""
    if not samples:
        return Spread(None, None, None)
    p50_s, p95_s = (float(value) for value in np.quantile(np.asarray(samples), (0.5, 0.95)))
    return Spread(p50_s, p95_s, max(samples))


def _most_at_once(utterances: Sequence[UtteranceResult]) -> int:
    """Count at every beginning how many have begun and not ended."""
    # An end before a beginning at the same instant.
    steps = sorted([(u.sent_s, 1) for u in utterances] + [(u.ended_s, -1) for u in utterances])
    most = now = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most


def _is_compared(session: SessionResult, references: References) -> bool:
    return any(
        utterance.judgement is not None for utterance in session.utterances
    ) and references.is_distinct(session.index)


def _caveats(levels: Sequence[LevelReport], solo: Solo, references: References, *, wanted: bool) -> list[str]:
    found: list[str] = []
    if solo.is_deterministic is False:
        found.append(
            "not deterministic: the same text and seed, alone, brought other frames each time, so cross-talk"
            " cannot be told from frames; only the sentences that the server names were compared"
        )
    elif not wanted:
        found.append("frames were not compared with solo runs; only the sentences that the server names were")
    if len(references) > 1:
        alike = sum(not references.is_distinct(index) for index in range(len(references)))
        if alike:
            found.append(
                f"{alike} of {len(references)} texts have no frame of their own: what another session got"
                " of them would not be noticed"
            )
    if solo.mended_sessions:
        numbers = ", ".join(map(str, solo.mended_sessions))
        found.append(
            f"frames were mixed up while the solo runs were made, several at once: session {numbers}"
        )
    for level in levels:
        found += _level_caveats(level)
    return found


def _level_caveats(level: LevelReport) -> list[str]:
    found: list[str] = []
    for lag, when in ((level.connect_lag, "connecting"), (level.lag, "listening")):
        if lag.max_s is not None and lag.p95_s is not None and lag.max_s > DISTURBING_LAG_S:
            found.append(
                f"{level.sessions} sessions: while {when} this program itself was late by up to"
                f" {lag.max_s * 1e3:.0f} ms (95 %: {lag.p95_s * 1e3:.1f} ms); that much need not be the"
                " server's"
            )
    if level.cpu_share > _BUSY_SHARE:
        found.append(
            f"{level.sessions} sessions: this program used {level.cpu_share:.0%} of its one CPU: it may be"
            " the bottleneck"
        )
    if level.interrupted:
        found.append(f"{level.sessions} sessions: interrupted, the figures are of what had ended by then")
    elif level.texts and level.most_at_once < level.sessions:
        found.append(
            f"{level.sessions} sessions: at most {level.most_at_once} texts were spoken at the same time"
        )
    return found


def _plain(session: dict[str, Any]) -> dict[str, Any]:
    for utterance in session["utterances"]:
        if (judgement := utterance["judgement"]) is not None:
            judgement["verdict"] = judgement["verdict"].value
    return session
