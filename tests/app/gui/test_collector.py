from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.gui.collector import Collector


@pytest.fixture
def collector() -> Iterator[Collector]:
    gc.collect()
    gc.enable()
    collector = Collector()
    yield collector
    collector.close()
    assert gc.isenabled()


class Cycle(QObject):
    """Garbage as windows make it: it refers to itself."""

    def __init__(self) -> None:
        super().__init__()
        self.itself = self


def test_cycles_end_in_the_thread_of_the_window_whoever_makes_objects(
    collector: Collector, qtbot: QtBot
) -> None:
    ended_in: list[threading.Thread] = []
    cycle = Cycle()
    weakref.finalize(cycle, lambda: ended_in.append(threading.current_thread()))
    del cycle
    kept: list[list[object]] = []
    others = threading.Thread(target=lambda: kept.extend([] for _ in range(100_000)))
    others.start()
    others.join()
    assert not ended_in
    qtbot.waitUntil(lambda: bool(ended_in))
    assert ended_in == [threading.main_thread()]


def test_nothing_is_collected_before_it_is_due(collector: Collector) -> None:
    done: list[int] = []

    def note(phase: str, about: dict[str, int]) -> None:
        if phase == "start":
            done.append(about["generation"])

    gc.callbacks.append(note)
    try:
        gc.collect(0)
        done.clear()
        collector.look()
        assert done == []
        kept = [[] for _ in range(2 * gc.get_threshold()[0])]
        collector.look()
        assert done == [0]
        assert kept
        for _ in range(gc.get_threshold()[1] + 1):
            gc.collect(0)
        done.clear()
        collector.look()
        assert done == [1]
    finally:
        gc.callbacks.remove(note)
