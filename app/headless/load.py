"""``nearfield load``: what a server does for many at once, as tables, JSON or a picture."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from app.config import Config
from app.engine.build import session_config
from app.errors import ConfigError, SessionError
from app.headless.calling import address_of, dial_to, progress, run_until_interrupted, say
from decoder.wire.events import Mode
from server.caller import CallError
from server.load.crosstalk import Verdict
from server.load.report import LevelReport, LoadReport, Spread, report
from server.load.results import SessionResult
from server.load.run import LEVELS, LoadRequest, LoadRun
from server.load.texts import DEFAULT_WORDS, MAX_TEXTS

INTERRUPTED = 130
_SHOWN = 8
"""Lines of one kind: more of them say nothing new, and JSON has them all."""


@dataclass(frozen=True)
class LoadOptions:
    """What was asked for on the command line."""

    levels: tuple[int, ...] = LEVELS
    texts: int = 1
    duration_s: float | None = None
    ramp_s: float = 0.0
    words: int = DEFAULT_WORDS
    limit_s: float = 60.0
    pcm: bool = False
    solo: bool = True
    solo_at_once: int = 1
    allow_divergence: bool = False
    as_json: bool = False
    plot: Path | None = None


def run(config: Config, options: LoadOptions, out: Console, notes: Console) -> int:
    """Measure, print to ``out``, say what is going on to ``notes``; return an exit code.

    Raises:
        NearfieldError: the server cannot be used at all; the text says why.
        BenchError: the picture cannot be drawn.

    """
    address = address_of(config.server)
    if options.words < 2 or max(options.levels) > MAX_TEXTS:
        raise ConfigError(f"a text has at least 2 words, and there are texts for {MAX_TEXTS} sessions")
    if options.plot is not None:
        from decoder.streaming.bench.plot import check_plot

        check_plot(options.plot)
    with progress(notes) as tell:
        load = LoadRun(dial_to(address), session_config(config), _request(config, options), tell)
        try:
            interrupted = run_until_interrupted(load.run())
        except CallError as error:
            raise SessionError(str(error)) from error
    found = report(load, address.url, allow_divergence=options.allow_divergence)
    if options.as_json:
        say(out, json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        show(found, out)
    if options.plot is not None and found.levels:
        from server.load.plot import plot

        plot(found, options.plot)
    if interrupted:
        return INTERRUPTED
    return 0 if found.has_passed else 1


def _request(config: Config, options: LoadOptions) -> LoadRequest:
    return LoadRequest(
        levels=options.levels,
        texts=options.texts,
        duration_s=options.duration_s,
        ramp_s=options.ramp_s,
        words=options.words,
        seed=1 if config.voice.seed is None else config.voice.seed,
        limit_s=options.limit_s,
        references=options.solo,
        at_once=options.solo_at_once,
        mode=Mode.PCM if options.pcm else Mode.UNKNOWN,
    )


def show(found: LoadReport, out: Console) -> None:
    """Print a report as tables, and below them in words what they cannot say."""
    if found.levels:
        say(out, f"{found.url}: {found.mode}{', ' + found.model if found.model else ''}")
        out.print(_time_table(found.levels))
        out.print(_share_table(found.levels, found.is_deterministic))
    for level, detail in zip(found.levels, found.details, strict=True):
        lines = [
            *(f"{text} ({count} times)" if count > 1 else text for text, count in level.failures.items()),
            *(_astray(session) for session in detail.sessions if session.is_mixed_up),
            *(_gone(session) for session in detail.sessions if session.has_diverged),
            *(f"on the wire: {kind} ({count})" for kind, count in level.anomalies.items()),
        ]
        for line in lines[:_SHOWN]:
            say(out, f"{level.sessions} sessions: {line}")
        if len(lines) > _SHOWN:
            say(out, f"{level.sessions} sessions: and {len(lines) - _SHOWN} more, see --json")
    for caveat in found.caveats:
        say(out, f"note: {caveat}")
    say(out, _verdict(found))


def _time_table(levels: Sequence[LevelReport]) -> Table:
    columns = (
        "sessions",
        *("connect\nmedian", "\n95 %"),
        *("1st frame\nmedian", "\n95 %"),
        *("gap\nmedian", "\n95 %", "\nmost"),
        *("buffer\n95 %", "\nmost"),
    )
    rows = [
        (
            str(level.sessions),
            *(_ms(level.connect.p50_s), _ms(level.connect.p95_s)),
            *(_ms(level.first_frame.p50_s), _ms(level.first_frame.p95_s)),
            *_three(level.gap),
            *(_ms(level.needed_buffer.p95_s), _ms(level.needed_buffer.max_s)),
        )
        for level in levels
    ]
    return _table("how soon and how evenly, ms; buffer: what a player needs to start with", columns, rows)


def _share_table(levels: Sequence[LevelReport], is_deterministic: bool | None) -> Table:
    buffers = list(levels[0].continuity)
    columns = (
        "sessions",
        *(f"{'never dry with' if not n else ''}\n{ms} ms" for n, ms in enumerate(buffers)),
        "bytes/s\nof sound",
        "texts\nspoken",
        "own\nframes",
    )
    rows = [
        (
            str(level.sessions),
            *("" if share is None else f"{share:.0%}" for share in level.continuity.values()),
            "" if level.bytes_per_s is None else f"{level.bytes_per_s:.0f}",
            f"{level.complete_texts} of {level.texts}",
            _own(level, is_deterministic),
        )
        for level in levels
    ]
    return _table("what listeners get", columns, rows)


def _own(level: LevelReport, is_deterministic: bool | None) -> str:
    if not is_deterministic or not level.compared_sessions:
        return "not known"
    astray = len(level.mixed_up_sessions) + len(level.diverged_sessions)
    return f"{level.compared_sessions - astray} of {level.compared_sessions}"


def _astray(session: SessionResult) -> str:
    for utterance in session.utterances:
        if utterance.other_text is not None:
            return f"session {session.index} was told the text of session {utterance.other_text}"
        judgement = utterance.judgement
        if judgement is not None and judgement.others:
            whose = ", ".join(map(str, judgement.others[:_SHOWN]))
            return (
                f"session {session.index} got {judgement.foreign_frames} frames of session {whose},"
                f" from its frame {judgement.first_wrong_frame} on"
            )
    first = next(
        u.judgement.first_wrong_frame
        for u in session.utterances
        if u.judgement is not None and u.judgement.verdict is Verdict.DISTURBED
    )
    return f"session {session.index}: frames lost, added or changed, the first at frame {first}"


def _gone(session: SessionResult) -> str:
    first = min(
        u.judgement.first_wrong_frame
        for u in session.utterances
        if u.judgement is not None and u.judgement.first_wrong_frame is not None
    )
    return (
        f"session {session.index} left its solo run at frame {first}, for frames that are nobody's:"
        " on a GPU the size of a batch may do that (--allow-divergence)"
    )


def _verdict(found: LoadReport) -> str:
    if not found.levels:
        return "nothing was measured"
    failed = sum(sum(level.failures.values()) for level in found.levels)
    astray = sum(len(level.mixed_up_sessions) for level in found.levels)
    gone = sum(len(level.diverged_sessions) for level in found.levels)
    compared = sum(level.compared_sessions for level in found.levels)
    parts = [f"{failed} failed" if failed else "nothing failed"]
    if astray:
        parts.append(f"{astray} got other frames than their own")
    elif compared:
        parts.append(f"no cross-talk in {compared} sessions")
    if gone:
        parts.append(f"{gone} left their solo run")
    return "; ".join([*parts, *_dry(found)])


def _dry(found: LoadReport) -> list[str]:
    """Say from which level on even the largest start buffer is too small."""
    for level in found.levels:
        buffer_ms, share = list(level.continuity.items())[-1]
        if share is not None and share < 1:
            return [
                f"of {level.sessions} sessions {1 - share:.0%} run dry with a start buffer of {buffer_ms} ms"
            ]
    return []


def _table(title: str, columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=True, vertical="bottom")
    for row in rows:
        table.add_row(*row)
    return table


def _three(spread: Spread) -> tuple[str, str, str]:
    return _ms(spread.p50_s), _ms(spread.p95_s), _ms(spread.max_s)


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e3:.0f}"
