"""A picture of a measurement: how soon, how evenly, and for whom without a pause. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from decoder.errors import BenchError
from server.load.continuity import START_BUFFERS_S
from server.load.report import LoadReport, continuity
from server.load.results import SessionResult

_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Told apart by everybody (Okabe and Ito), again from the start for more levels."""
_CURVE_S = [step / 200 for step in range(81)]
"""Start buffers of the curve: up to 0.4 s."""


def plot(report: LoadReport, path: Path) -> None:
    """Draw three panels: time to the first frame, gaps, and continuity by start buffer.

    Raises:
        BenchError: the file cannot be written.

    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 4.0), layout="constrained")
    first, gaps, players = figure.subplots(1, 3)
    for number, level in enumerate(report.details):
        # Thinner from level to level: lines that lie on each other are seen.
        style = {
            "color": _COLOURS[number % len(_COLOURS)],
            "linewidth": max(1.0, 3.5 - number),
            "label": f"{level.asked} sessions",
        }
        utterances = [utterance for session in level.sessions for utterance in session.utterances]
        firsts_ms = [1e3 * u.first_frame_s for u in utterances if u.first_frame_s is not None]
        gaps_ms = [1e3 * gap_s for utterance in utterances for gap_s in utterance.gaps_s]
        _draw_shares(first, firsts_ms, style)
        _draw_shares(gaps, gaps_ms, style)
        _draw_players(players, level.sessions, style)
    first.set(xlabel="time to the first frame, ms", ylabel="share of texts, %")
    gaps.set(xlabel="gap between messages with sound, ms", ylabel="share of gaps, %")
    players.set(xlabel="start buffer of the player, ms", ylabel="sessions that never run dry, %")
    players.set(ylim=(-4, 104))
    for axes in (first, gaps):
        axes.set(ylim=(0, 104), xlim=(0, None))
    players.set_xticks([1e3 * buffer_s for buffer_s in (*START_BUFFERS_S, _CURVE_S[-1])])
    for axes in (first, gaps, players):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    if players.get_legend_handles_labels()[0]:  # else nobody spoke
        players.legend(fontsize="small", loc="lower right")
    model = f", {report.model}" if report.model else ""
    figure.suptitle(f"{report.url}, {report.mode}{model}", fontsize="small")
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise BenchError(f"{path}: cannot be written ({error.strerror or error})") from error


def _draw_shares(axes: Any, samples: Sequence[float], style: dict[str, Any]) -> None:
    """Draw which share of the samples is at most so large."""
    if samples:
        # From 0 up: without it the first of few samples would look as if it were the half of them.
        xs = [min(samples), *sorted(samples)]
        ys = [100 * at / len(samples) for at in range(len(samples) + 1)]
        axes.step(xs, ys, where="post", **style)


def _draw_players(axes: Any, sessions: Sequence[SessionResult], style: dict[str, Any]) -> None:
    shares = [continuity(sessions, buffer_s) for buffer_s in _CURVE_S]
    if shares[0] is None:
        return
    axes.step(
        [1e3 * buffer_s for buffer_s in _CURVE_S],
        [100 * (share or 0.0) for share in shares],
        where="post",
        **style,
    )
