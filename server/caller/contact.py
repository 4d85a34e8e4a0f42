"""The first words with a server: who decodes, and frames of which codec come."""

from __future__ import annotations

from dataclasses import dataclass

from decoder.spec import CodecSpec
from decoder.wire import messages as m
from decoder.wire.events import Mode
from server.caller.caller import Caller, CallError, Dial

CONTACT_TEXT = "One, two, three."
"""Spoken first of all: it shows which codec a server has, and whether it has one, and warms it up."""


@dataclass(frozen=True)
class Contact:
    """What a first text shows of a server."""

    mode: Mode
    spec: CodecSpec
    """Of its frames; where it decodes itself, the published codec's."""
    model: str
    """What it calls itself; may be empty."""


async def make_contact(
    dial: Dial, config: m.SessionConfig, *, mode: Mode = Mode.UNKNOWN, limit_s: float = 60.0
) -> Contact:
    """Have a few words spoken to learn who decodes, and frames of which codec come.

    Raises:
        CallError: it is not reached, or the words are not spoken.

    """
    spec = CodecSpec()
    for _ in range(2):
        caller = await Caller.call(dial, spec, config, mode=mode)
        try:
            heard = await caller.ask(CONTACT_TEXT, limit_s)
        finally:
            await caller.hang_up()
        if heard.is_complete:
            model = caller.announced.model if caller.announced else None
            return Contact(caller.mode, spec, model or "")
        theirs = None if caller.announced is None else spec_of(caller.announced)
        if theirs is None or theirs == spec:
            break
        spec = theirs  # another codec of the same packets: ask again as its client
    raise CallError(f"“{CONTACT_TEXT}” was not spoken: {heard.reason or 'no reason was given'}")


def spec_of(start: m.CodecStart) -> CodecSpec | None:
    """Return the codec that ``codec.start`` announces; ``None`` if its packets are none of ours."""
    if start.sample_rate <= 0 or start.frame_rate_hz <= 0:
        return None
    spec = CodecSpec(
        decoder_id=start.decoder_id,
        codebooks=start.codebooks,
        codebook_size=start.codebook_size,
        sample_rate_hz=start.sample_rate,
        samples_per_frame=round(start.sample_rate / start.frame_rate_hz),
    )
    return spec if start.mismatch(spec) is None else None
