"""What two servers say of one text, fetched to be compared. The comparison itself needs the decoder."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from decoder.spec import CodecSpec
from decoder.wire.events import Mode
from decoder.wire.messages import SessionConfig
from decoder.wire.packets import Codes
from server.caller import Caller, CallError, Dial


@dataclass(frozen=True)
class SpokenCodes:
    """An utterance as codes."""

    codes: Codes
    """int16 ``[frames, codebooks]``."""
    context: Codes
    """Reference frames that are decoded first and not heard; mostly there are none."""


@dataclass(frozen=True)
class SpokenPcm:
    """An utterance as a server decoded it."""

    pcm: NDArray[np.float32]
    """±1."""
    rate_hz: int


@dataclass(frozen=True)
class SpokenByBoth:
    """One text and seed, from a server that sends codes and from one that decodes, each twice."""

    codes: tuple[SpokenCodes, SpokenCodes]
    other_codes: SpokenCodes | None
    """Of the server that decodes, if it can send codes as well."""
    pcm: tuple[SpokenPcm, SpokenPcm]


async def fetch_codes(
    dial: Dial, spec: CodecSpec, config: SessionConfig, text: str, limit_s: float
) -> SpokenCodes:
    """Have ``text`` spoken as codes, as one unit.

    Raises:
        CallError: the server is not reached, speaks another codec, decodes itself, or does not finish.

    """
    spoken = await _ask(dial, spec, config, text, limit_s, "the server")
    if isinstance(spoken, SpokenPcm):
        raise CallError("the server decodes itself and sends no codes: name one that sends codec tokens")
    return spoken


async def fetch_both(
    dial: Dial, other: Dial, spec: CodecSpec, config: SessionConfig, text: str, limit_s: float
) -> SpokenByBoth:
    """Have ``text`` spoken by both, twice each, and once more as codes by ``other`` if it can do that.

    Raises:
        CallError: as ``fetch_codes``; of ``other`` also that it sends no PCM.

    """
    codes = [await fetch_codes(dial, spec, config, text, limit_s) for _ in range(2)]
    first = await _ask(other, spec, config, text, limit_s, "the two-stage server")
    other_codes = first if isinstance(first, SpokenCodes) else None
    pcm = [first] if isinstance(first, SpokenPcm) else []
    while len(pcm) < 2:
        spoken = await _ask(other, spec, config, text, limit_s, "the two-stage server", Mode.PCM)
        if isinstance(spoken, SpokenCodes):
            raise CallError("the two-stage server sends codes where it was asked for PCM")
        pcm.append(spoken)
    return SpokenByBoth((codes[0], codes[1]), other_codes, (pcm[0], pcm[1]))


async def _ask(
    dial: Dial,
    spec: CodecSpec,
    config: SessionConfig,
    text: str,
    limit_s: float,
    who: str,
    mode: Mode = Mode.UNKNOWN,
) -> SpokenCodes | SpokenPcm:
    # One unit: each unit is decoded from a new state, and the comparison knows only one.
    caller = await Caller.call(dial, spec, replace(config, split_granularity=None), mode=mode)
    try:
        heard = await caller.ask(text, limit_s)
    finally:
        await caller.hang_up()
    if not heard.is_complete:
        raise CallError(f"{who} did not speak the text to its end: {heard.reason}")
    if heard.rate_hz:
        return SpokenPcm(heard.pcm, heard.rate_hz)
    return SpokenCodes(heard.codes(spec.codebooks), heard.context(spec.codebooks))
