"""The one event loop of the window: asyncio on Qt's."""

from __future__ import annotations

import asyncio

import qasync
from PySide6.QtWidgets import QApplication

from app.gui.executor import Background


def open_loop(app: QApplication) -> asyncio.AbstractEventLoop:
    """Make the loop, and make it the thread's own."""
    loop: asyncio.AbstractEventLoop = qasync.QEventLoop(app)
    loop.set_default_executor(Background())
    asyncio.set_event_loop(loop)
    return loop


def close_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what is left in the loop, let it end, and close the loop."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    asyncio.set_event_loop(None)
    loop.close()
