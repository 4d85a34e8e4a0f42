"""A picture of latency against chunk size, for the README and for reports. Needs matplotlib, not torch."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from assets.bundle import advice
from decoder.errors import BenchError
from decoder.streaming.bench.report import FRAME_S, BenchReport

ENDINGS = (".png", ".svg")


def check_plot(path: Path) -> None:
    """Find out before the measurement whether its picture can be written.

    Raises:
        BenchError: matplotlib is missing, the file's ending is of another kind, or there is no such folder.

    """
    if path.suffix.lower() not in ENDINGS:
        raise BenchError(f"{path}: a picture's name ends with {' or '.join(ENDINGS)}")
    if not path.parent.is_dir():
        raise BenchError(f"{path}: there is no folder {path.parent}")
    if importlib.util.find_spec("matplotlib") is None:
        install = advice("install it with: pip install 'nearfield[bench]'", "no bundle has it")
        raise BenchError(f"drawing needs matplotlib; {install}")


def plot(report: BenchReport, path: Path) -> None:
    """Draw the time of a step against its length, beside the sound it makes.

    Raises:
        BenchError: as ``check_plot``, or the file cannot be written.

    """
    check_plot(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for backend in report.backends:
        frames = [row.frames for row in backend.steps]
        medians = [row.median_ms for row in backend.steps]
        worst = [row.p95_ms - row.median_ms for row in backend.steps]
        axes.errorbar(
            frames,
            medians,
            [[0.0] * len(worst), worst],
            marker="o",
            capsize=3,
            label=f"Nearfield, {backend.name}",
        )
    for row in report.official:
        axes.plot([row.new_frames], [row.median_ms], marker="x", linestyle="none", label=row.name)
    lengths = {row.frames for backend in report.backends for row in backend.steps}
    every = sorted(lengths | {row.new_frames for row in report.official})
    ends = [every[0], every[-1]]
    axes.plot(ends, [n * FRAME_S * 1e3 for n in ends], "--", color="grey", label="real time")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="frames decoded at once (80 ms of sound each)",
        ylabel="time of a step, ms (median, bar to 95 %)",
    )
    axes.set_xticks(every, [str(n) for n in every])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    axes.set_title(f"{report.machine}\n{report.versions}, {report.threads} threads", fontsize="x-small")
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise BenchError(f"{path}: cannot be written ({error.strerror or error})") from error
