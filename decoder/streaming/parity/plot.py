"""A picture of the SNR over time. Needs matplotlib, not torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from decoder.errors import BenchError
from decoder.spec import CodecSpec
from decoder.streaming.parity.report import ParityReport, ServersReport

_BOTTOM_DB = -10.0
"""Where what has nothing in common is drawn."""
_TOP_DB = 160.0
"""Where what is equal is drawn; float32 leaves less."""


def plot(report: ParityReport, servers: ServersReport | None, path: Path) -> None:
    """Draw the SNR of each second, and below it that of the other server's sound if there is one.

    Raises:
        BenchError: the file cannot be written.

    """
    from matplotlib.figure import Figure

    has_both = servers is not None and bool(servers.each_frame_db)
    figure = Figure(figsize=(7.5, 7.0 if has_both else 4.5), layout="constrained")
    rows: Any = figure.subplots(2 if has_both else 1, 1, squeeze=False)
    axes = rows[0, 0]
    for way in report.ways:
        style = {"marker": "o"} if way.is_ours else {"marker": "x", "color": "black"}
        _draw(axes, way.each_second_db, report.sound_s, label=f"{way.name}: {_db(way.snr_db)}", **style)
    axes.axhline(
        report.threshold_db, color="grey", linestyle="--", label=f"wanted: {report.threshold_db:g} dB"
    )
    title = f"against the official whole forward; {report.frames} frames\nweights: {report.weights}"
    axes.set_title(title, fontsize="small")
    axes.set_ylim(bottom=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    if servers is not None and has_both:
        _draw_servers(rows[1, 0], servers)
    for each in rows[:, 0]:
        each.set(xlabel="seconds of sound", ylabel="SNR, dB")
        each.grid(alpha=0.3)
        each.legend(fontsize="x-small")
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise BenchError(f"{path}: cannot be written ({error.strerror or error})") from error


def _draw(axes: Any, each_second_db: Sequence[float], sound_s: float, **style: Any) -> None:
    """Draw a point where each second ends; the last one may be shorter."""
    ends_s = [min(second, sound_s) for second in range(1, len(each_second_db) + 1)]
    drawn = [min(max(value, 0.0), _TOP_DB) for value in each_second_db]
    axes.plot(ends_s, drawn, markersize=4, linewidth=1, **style)


def _draw_servers(axes: Any, servers: ServersReport) -> None:
    """Draw every frame, and where the prefix ends."""
    frame_s = CodecSpec().frame_s
    drawn = [min(max(value, _BOTTOM_DB), _TOP_DB) for value in servers.each_frame_db]
    axes.plot([at * frame_s for at in range(len(drawn))], drawn, color="#0072b2", linewidth=1)
    said = "nothing is compared" if servers.snr_db is None else f"{_db(servers.snr_db)} up to there"
    axes.axvline(servers.prefix_frames * frame_s, color="black", linestyle=":", label=f"the two part; {said}")
    axes.set_title(
        "a two-stage server's sound, against the codes of the first, decoded here", fontsize="small"
    )


def _db(value: float) -> str:
    return "equal" if value == float("inf") else f"{value:.0f} dB"
