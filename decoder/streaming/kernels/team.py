"""Who works: one thread by default, all of them for what is worth waking them.

A step is some hundred operations of 5 to 500 microseconds, and threads that sleep while they wait (they
must, see ``decoder.streaming``) cost 60 microseconds to wake. Measured on 2 idle cores: 61,000 products of
two numbers take 6 microseconds on one thread, 63 on two. Changing torch's number of threads costs 0.1.
"""

from __future__ import annotations

import threading
from types import TracebackType

import torch

_MIN_MACS = 8e6
"""Multiply-adds that take a thread about 0.15 ms."""
_MIN_WEIGHTS = 5e5
"""Weights that several rows share: reading them takes as long, and gains from a second thread."""


class _Team(threading.local):
    threads = 1


_team = _Team()


class Alone:
    """``with Alone():`` everything on the calling thread, except for what is inside ``together``.

    Inside another one, there is no exception.
    """

    def __enter__(self) -> None:
        self._outside = _team.threads
        self._threads = _team.threads = torch.get_num_threads()
        torch.set_num_threads(1)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        torch.set_num_threads(self._threads)
        _team.threads = self._outside


class _Together:
    def __enter__(self) -> None:
        torch.set_num_threads(_team.threads)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        torch.set_num_threads(1)


class _AsItIs:
    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass


_TOGETHER, _AS_IT_IS = _Together(), _AsItIs()


def size() -> int:
    """Return how many threads there are for whoever is ``Alone``; else 1."""
    return _team.threads


def together(rows: int, weights: int) -> _Together | _AsItIs:
    """Return what to compute a product in: ``rows`` columns times so many weights."""
    if _team.threads > 1 and (rows * weights >= _MIN_MACS or (rows > 1 and weights >= _MIN_WEIGHTS)):
        return _TOGETHER
    return _AS_IT_IS
