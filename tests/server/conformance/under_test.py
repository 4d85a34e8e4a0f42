"""What the conformance suite knows of a server: where it is, what it is asked, and what is true of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from decoder.wire.packets import Codes


def _unknown(text: str, config: Mapping[str, Any]) -> Codes | None:
    return None


def _unseen() -> int | None:
    return None


@dataclass(frozen=True)
class ServerUnderTest:
    """One running server. Where PROTOCOL lets servers differ, the difference is a field here.

    Rigs make one, as a context manager, with as short time-outs as the server allows.
    """

    url: str
    """Address of the stream, ``ws://…/v1/audio/speech/stream``."""
    http_url: str
    """Root of the HTTP paths, without a slash at the end."""
    config_timeout_s: float
    """Seconds after which a client without ``session.config`` is dropped."""
    idle_timeout_s: float
    """Seconds after which a silent client is dropped."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Fields that every correct ``session.config`` needs here, say a voice; the tests add ``output_mode``."""
    voices: tuple[str, ...] = ()
    """Names that ``/v1/audio/voices`` gives, in any order."""
    text: str = "A sentence of some length, so that there are frames."
    """A text of one unit, spoken at once and within a second or two."""
    long_text: str = "It goes on and on. " * 60
    """A text that is spoken so long that a cancel lands in the middle of its generation."""
    frames: Callable[[str, Mapping[str, Any]], Codes | None] = _unknown
    """The true frames of one unit of a text under a whole ``session.config``, int16 ``[frames, codebooks]``.
    ``None``: not known from outside, but the same text and ``seed`` give the same frames again."""
    generating: Callable[[], int | None] = _unseen
    """Generations that run inside the server now; ``None`` if that cannot be seen."""
    api_key: str | None = None
    """The key the server asks for; the tests send it unless they test its absence."""
    sends_context: Mapping[str, Any] | None = None
    """Config fields under which the server has reference codes to send; ``None`` if it never has any."""
    sentences: tuple[str, str] = ("Here is the first sentence.", "And this one is the second.")
    """Two texts, each a sentence by itself; together, with a space in between, two units."""
    speaks_pcm: bool = True
    """``output_mode`` "pcm" is spoken; otherwise it is refused with an ``error``."""
    oversize_closes_with: int | None = 1009
    """Close code after a message beyond 4 MiB; ``None``: it is answered with an ``error``."""
