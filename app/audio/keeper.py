"""Keeps an output open: falls back when there is none, reopens what was lost, says so once."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from app.audio.devices import DeviceChoice
from app.audio.null import NOTHING, NullOutput
from app.audio.output import BufferedSource, OpenError, Output, OutputInfo, SampleSource
from app.audio.sound_server import likely_cause, sound_fingerprint
from app.audio.watch import DeviceWatch, ReopenPolicy

_log = logging.getLogger("nearfield.audio")

_T = TypeVar("_T")

_POLL_S = 0.25
# So long a lost device is waited for with the samples kept; then they go to nowhere, in time.
_HOLD_S = 5.0
_BUSY_RETRIES = 3
_BUSY_PAUSE_S = 0.5
_CLOSE_WITHIN_S = 1.8


@dataclass(frozen=True)
class OutputOpened:
    """Samples go to this device from now on."""

    info: OutputInfo


@dataclass(frozen=True)
class OutputLost:
    """The device was lost, or had to be closed; it is being opened again and nothing is skipped."""

    info: OutputInfo
    reason: str
    hint: str


@dataclass(frozen=True)
class OutputMissing:
    """There is no device: samples go nowhere, in real time, until one appears."""

    reason: str
    hint: str


OutputEvent = OutputOpened | OutputLost | OutputMissing


class _OffLoop(Protocol):
    def __call__(self, call: Callable[[], _T], /) -> Awaitable[_T]: ...


class OutputKeeper:
    """Owns the open output. Used from one event loop; exactly one output reads the source at a time.

    Attributes are read-only. Everything that may block runs off the loop; opening, time and sleep
    are handed in, so that a test needs neither device nor patience.
    """

    def __init__(
        self,
        source: SampleSource,
        open_output: Callable[[SampleSource, DeviceChoice | None], Output],
        on_event: Callable[[OutputEvent], None],
        *,
        choice: DeviceChoice | None = None,
        open_null: Callable[[SampleSource], Output] = NullOutput,
        fingerprint: Callable[[], object] = sound_fingerprint,
        cause: Callable[[], str] = likely_cause,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        off_loop: _OffLoop = asyncio.to_thread,
    ) -> None:
        """``choice`` is the device to open, or the default one.

        ``open_output`` and ``fingerprint`` may block; ``cause`` explains a missing device.
        """
        self._source = source
        self._open_output = open_output
        self._on_event = on_event
        self._choice = choice
        self._open_null = open_null
        self._fingerprint = fingerprint
        self._cause = cause
        self._clock = clock
        self._sleep = sleep
        self._off_loop = off_loop

        self._output: Output | None = None
        self._gate: _Gate | None = None
        self._on_device = False
        self._opened_under: object = None
        self._past_underflows = 0
        self._watch = DeviceWatch(self._clock())
        self._policy = ReopenPolicy()
        self._lost_s = -math.inf
        self._changing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._opening: asyncio.Future[tuple[Output, object]] | None = None
        self._closing = False

    @property
    def info(self) -> OutputInfo | None:
        """Where samples go now; None while a lost device is being opened again."""
        return self._output.info if self._output else None

    @property
    def underflows(self) -> int:
        """How often a device was served too late, since `start`."""
        return self._past_underflows + (self._output.underflows if self._output else 0)

    async def start(self) -> None:
        """Open the device, or nothing in its place, and watch it until `aclose`. Never fails."""
        await self._finish(self._start())
        if not self._closing:
            self._spawn(self._keep())

    async def use(self, device: str) -> None:
        """Go on at ``device``, named as in the configuration, with the very next sample.

        One that is absent is told and the default one used, as at the start; if it cannot be opened at all,
        that is told and the present device goes on. Never fails.
        """
        if not self._closing:
            await self._finish(self._use(DeviceChoice.parse(device)))

    async def drop(self) -> None:
        """Have what was handed to the device and not heard yet thrown away. Never fails."""
        output = self._output
        if output is None or self._closing:
            return
        try:
            await self._off_loop(output.drop)
        except Exception as error:
            # It asks for nothing any more, which is noticed as with any device that was lost.
            _log.warning("the sound device did not go on after it was emptied: %s", error)

    async def between_utterances(self) -> None:
        """Follow the system's default device, if that changed; call once the last sample was heard."""
        if not self._closing:
            await self._finish(self._follow_default())

    async def aclose(self) -> None:
        """Stop, in less than two seconds; repeatable."""
        self._closing = True
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        opening, self._opening = self._opening, None
        if opening is not None:
            # What it still comes to is nobody's concern; unasked, asyncio would complain about it.
            opening.add_done_callback(lambda done: done.cancelled() or done.exception())
        if opening is not None and opening.done() and not opening.cancelled() and not opening.exception():
            # It was opened in the very moment of closing. If it still opens, it closes itself.
            self._output = opening.result()[0]
        await asyncio.wait({asyncio.ensure_future(self._exchange(None))}, timeout=_CLOSE_WITHIN_S)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _finish(self, work: Coroutine[Any, Any, None]) -> None:
        # Its own task: a caller that is cancelled must not leave an exchange of outputs half done.
        task = self._spawn(work)
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()

    async def _start(self) -> None:
        async with self._changing:
            error = await self._try_patiently()
            if error is not None:
                self._policy.failed(self._clock())
                await self._go_without(error)

    async def _use(self, choice: DeviceChoice | None) -> None:
        async with self._changing:
            if self._on_device and choice == self._choice:
                return
            previous, self._choice = self._choice, choice
            had_device = self._on_device
            if had_device:
                # PortAudio looks for devices only while none is open, and many a card opens only once.
                await self._exchange(None)
            error = await self._try_patiently()
            if error is None:
                return
            if had_device:
                self._choice = previous
                second_error = await self._try_device(note=f"{error}; the sound stays where it was")
                if second_error is None:
                    return
            self._policy.failed(self._clock())
            await self._go_without(error)

    async def _try_patiently(self) -> OpenError | None:
        """Open the device, a few times if another program holds it; or say why not."""
        error = await self._try_device()
        for _ in range(_BUSY_RETRIES):
            if error is None or not error.busy:
                break
            await self._sleep(_BUSY_PAUSE_S)
            error = await self._try_device()
        return error

    async def _keep(self) -> None:
        while True:
            await self._sleep(_POLL_S)
            async with self._changing:
                await self._look()

    async def _look(self) -> None:
        now_s = self._clock()
        if self._output is not None and self._on_device:
            complaint = self._watch.complaint(self._output, now_s)
            if complaint is None or (complaint.can_wait and not self._policy.may_reopen(now_s)):
                return
            self._emit(OutputLost(self._output.info, complaint.text, "opening it again"))
            await self._exchange(None)
            self._policy.lost(now_s)
            self._lost_s = now_s
        due_s = self._policy.next_s
        if self._output is None:
            due_s = min(due_s, self._lost_s + _HOLD_S)
        if now_s < due_s:
            return
        error = await self._try_device()
        if error is not None:
            now_s = self._clock()
            self._policy.failed(now_s)
            if self._output is None and now_s - self._lost_s >= _HOLD_S:
                await self._go_without(error)

    async def _follow_default(self) -> None:
        async with self._changing:
            if self._output is None or await self._off_loop(self._fingerprint) == self._opened_under:
                return
            if self._on_device:
                # PortAudio looks for devices only while none is open.
                await self._exchange(None)
            error = await self._try_device()
            if error is not None and self._output is None:
                await self._go_without(error)

    async def _try_device(self, note: str = "") -> OpenError | None:
        """Open the device beside what is open, then let it read instead; or say why not.

        ``note`` is told with it.
        """
        gate, choice = _Gate(self._source), self._choice

        def opened() -> tuple[Output, object]:
            # Before opening: a change in between must not go unnoticed.
            fingerprint = self._fingerprint()
            output = self._open_output(gate, choice)
            if self._closing:
                output.close()
            return output, fingerprint

        self._opening = asyncio.ensure_future(self._off_loop(opened))
        try:
            # A thread cannot be cancelled: `aclose` sees to what comes out of it.
            output, fingerprint = await asyncio.shield(self._opening)
        except OpenError as error:
            return error
        except Exception as error:
            _log.debug("opening the sound device failed in an unexpected way", exc_info=True)
            return OpenError(f"the sound device cannot be opened ({type(error).__name__}: {error})")
        self._opening = None
        self._opened_under = fingerprint
        self._watch = DeviceWatch(self._clock())
        self._policy.opened()
        await self._exchange(output, gate)
        self._on_device = True
        notes = "; ".join(part for part in (note, output.info.note) if part)
        self._emit(OutputOpened(replace(output.info, note=notes)))
        return None

    async def _go_without(self, error: OpenError) -> None:
        gate = _Gate(self._source)
        await self._exchange(self._open_null(gate), gate)
        self._emit(OutputMissing(error.reason, error.hint or self._cause()))

    async def _exchange(self, output: Output | None, gate: _Gate | None = None) -> None:
        """Let ``output`` read the source once the present one cannot any more."""
        if self._gate is not None:
            # At once: closing may hang, and then the old output lives on.
            self._gate.is_open = False
        old, self._output, self._gate = self._output, output, gate
        self._on_device = False
        if old is not None:
            self._past_underflows += old.underflows
            await self._off_loop(old.close)
        if gate is not None:
            gate.is_open = True

    def _emit(self, event: OutputEvent) -> None:
        level, text = _as_log_line(event)
        _log.log(level, text)
        try:
            self._on_event(event)
        except Exception:
            # Whoever listens must not end the watch.
            _log.exception("a listener failed on %r", event)


class _Gate:
    """A source for one output: silence until it is that output's turn."""

    def __init__(self, source: SampleSource) -> None:
        self._source = source
        self.rate_hz = source.rate_hz
        self.is_open = False

    def read_into(self, out: NDArray[np.float32], dac_s: float) -> None:
        if self.is_open:
            self._source.read_into(out, dac_s)
        else:
            out.fill(0.0)

    def readable_samples(self) -> int:
        # Only an output that is not paced asks, and it is only given a source that can say.
        return cast(BufferedSource, self._source).readable_samples() if self.is_open else 0


def _as_log_line(event: OutputEvent) -> tuple[int, str]:
    if isinstance(event, OutputMissing):
        return logging.WARNING, f"no sound: {event.reason}" + (f"; {event.hint}" if event.hint else "")
    info = event.info
    if isinstance(event, OutputLost):
        return logging.WARNING, f'sound device "{info.name}" lost: {event.reason}; {event.hint}'
    text = f'sound goes to "{info.name}" at {info.rate_hz} Hz'
    if info.note:
        text += f"; {info.note}"
    if not info.audible and info.name != NOTHING:
        text += "; nobody can hear it: the sound server has only a dummy output"
    as_wished = (info.audible or info.name == NOTHING) and not info.note
    return (logging.INFO if as_wished else logging.WARNING), text
