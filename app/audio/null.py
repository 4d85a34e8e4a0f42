"""An output without a device: it keeps time like one, or takes samples as fast as they come."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import cast

import numpy as np

from app.audio.output import BufferedSource, OutputInfo, SampleSource

_BLOCK_S = 0.02
# How soon an unpaced output looks again when there was nothing to take.
_LOOK_AGAIN_S = 0.005
# A thread that comes this late does not catch up with a burst: a device would have lost that time.
_TOO_LATE_S = 1.0
_CLOSE_WITHIN_S = 1.5


NOTHING = "none"
"""The name of the output that is no device."""


class NullOutput:
    """Where the samples go when nobody can hear them; name ``none``, not audible.

    Paced, it is a device with a clock: blocks of 20 ms in real time, silence included. Not paced,
    it is for writing files only: it reads whatever a `BufferedSource` holds, at once, and never
    makes the source add silence.
    """

    def __init__(
        self,
        source: SampleSource,
        *,
        paced: bool = True,
        clock: Callable[[], float] = time.perf_counter,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        """``wait`` sleeps for some seconds and returns True when the output shall end."""
        if not paced and not hasattr(source, "readable_samples"):
            raise TypeError("an output that is not paced needs a source with readable_samples()")
        self._source = source
        self._clock = clock
        self._closing = threading.Event()
        self._wait = self._closing.wait if wait is None else wait
        self._block = np.zeros(max(1, round(_BLOCK_S * source.rate_hz)), np.float32)
        self._last_callback_s = clock()
        self._failure: BaseException | None = None
        self._info = OutputInfo(
            name=NOTHING,
            rate_hz=source.rate_hz,
            channels=1,
            latency_s=_BLOCK_S if paced else 0.0,
            audible=False,
        )
        self._thread = threading.Thread(
            target=self._run,
            args=(self._keep_time if paced else self._take_all,),
            name="null output",
            daemon=True,
        )
        self._thread.start()

    @property
    def info(self) -> OutputInfo:
        """Name ``none``, the source's rate, not audible."""
        return self._info

    @property
    def last_callback_s(self) -> float:
        """When the source was last asked, or found empty."""
        return self._last_callback_s

    @property
    def failure(self) -> BaseException | None:
        """What the source raised; it is not asked again."""
        return self._failure

    @property
    def underflows(self) -> int:
        """Always 0: nothing is served too late here."""
        return 0

    def drop(self) -> None:
        """Nothing is held here."""

    def close(self) -> None:
        """Ask the source no more."""
        self._closing.set()
        self._thread.join(_CLOSE_WITHIN_S)

    def _run(self, body: Callable[[], None]) -> None:
        try:
            body()
        except BaseException as failure:
            self._failure = failure

    def _keep_time(self) -> None:
        block_s = len(self._block) / self._source.rate_hz
        due_s = self._clock()
        while not self._closing.is_set():
            now_s = self._clock()
            if now_s < due_s:
                if self._wait(due_s - now_s):
                    return
                continue
            if now_s - due_s > _TOO_LATE_S:
                due_s = now_s
            self._last_callback_s = now_s
            self._source.read_into(self._block, due_s + block_s)
            due_s += block_s

    def _take_all(self) -> None:
        source = cast(BufferedSource, self._source)
        while not self._closing.is_set():
            count = min(source.readable_samples(), len(self._block))
            self._last_callback_s = self._clock()
            if count:
                source.read_into(self._block[:count], self._last_callback_s)
            elif self._wait(_LOOK_AGAIN_S):
                return
