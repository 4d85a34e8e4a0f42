"""``nearfield fetch``: download the decoder's part of a checkpoint, with a progress bar."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from decoder.streaming.fetch import fetch


def run(repo: str, revision: str | None) -> int:
    """Fetch ``repo`` and print where it lies.

    Raises:
        CheckpointError: it cannot be fetched; the text says what to do.

    """
    columns = (TextColumn(repo), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("decoder", total=None)
        folder = fetch(repo, revision, lambda done, total: progress.update(task, completed=done, total=total))
    print(folder)
    return 0
