"""Who is told of a change; none of them can do harm."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import Generic, ParamSpec

log = logging.getLogger("nearfield.desktop")

_P = ParamSpec("_P")


class Listeners(Generic[_P]):
    """Calls every listener with every change, in the order in which they came."""

    def __init__(self, to: str) -> None:
        """``to`` says in the log what they listen to; what they are told stays out: it may be secret."""
        self._to = to
        self._listeners: list[Callable[_P, object]] = []

    def add(self, listener: Callable[_P, object]) -> Callable[[], None]:
        """Have ``listener`` called from now on; returns what ends that, which may be called again."""
        self._listeners.append(listener)

        def end() -> None:
            with contextlib.suppress(ValueError):
                self._listeners.remove(listener)

        return end

    def tell(self, *values: _P.args, **named: _P.kwargs) -> None:
        """Call the listeners; one that raises is logged, and the others do not notice."""
        for listener in tuple(self._listeners):
            try:
                listener(*values, **named)
            except Exception:
                log.exception("a listener to %s failed", self._to)
