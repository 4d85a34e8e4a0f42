"""What a sound output is, for those who feed one and for those who make one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.errors import OutputError


class SampleSource(Protocol):
    """What an output asks for samples, from its own real-time thread."""

    @property
    def rate_hz(self) -> int:
        """Samples per second that ``read_into`` delivers."""
        ...

    def read_into(self, out: NDArray[np.float32], dac_s: float) -> None:
        """Fill all of ``out`` (mono, ±1), with silence where there is nothing to play.

        ``dac_s`` is the instant, on ``time.perf_counter``'s scale, at which ``out[0]`` becomes
        audible. Never raises, never blocks, never allocates more than a few objects.
        """
        ...


class BufferedSource(SampleSource, Protocol):
    """A source that can say how much it holds, for an output without a clock of its own."""

    def readable_samples(self) -> int:
        """Count the samples that ``read_into`` would deliver now before it had to add silence."""
        ...


@dataclass(frozen=True)
class OutputInfo:
    """What was opened."""

    name: str
    """The device as a person knows it, with its host API; ``none`` if there is no device."""
    rate_hz: int
    """The device's own rate; the source is resampled if it differs."""
    channels: int
    latency_s: float
    """From the callback to the DAC, as the device reports it."""
    audible: bool
    """False for a dummy sink or no device at all: nobody hears anything."""
    note: str = ""
    """What the user should know, such as that the device they chose is absent; mostly empty."""


class OpenError(OutputError):
    """An output that could not be opened.

    ``reason`` says what happened, ``hint`` what to do (empty if unknown), ``busy`` that another
    program holds the device, so that trying again soon may help.
    """

    def __init__(self, reason: str, hint: str = "", *, busy: bool = False) -> None:
        super().__init__(f"{reason}; {hint}" if hint else reason)
        self.reason = reason
        self.hint = hint
        self.busy = busy


class Output(Protocol):
    """An open output: it calls its source until it is closed."""

    @property
    def info(self) -> OutputInfo:
        """What was opened."""
        ...

    @property
    def last_callback_s(self) -> float:
        """``time.perf_counter`` at the newest callback; stands still when the device is gone."""
        ...

    @property
    def failure(self) -> BaseException | None:
        """What ended the callback, if anything did."""
        ...

    @property
    def underflows(self) -> int:
        """How often the device said that it was served too late."""
        ...

    def drop(self) -> None:
        """Throw away what the device was given and has not played yet, and go on asking. May block."""
        ...

    def close(self) -> None:
        """Stop and release the device, within two seconds, whatever state it is in; repeatable."""
        ...
