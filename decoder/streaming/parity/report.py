"""What parity came to, as plain values. Needs no torch."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from decoder.spec import CodecSpec
from decoder.streaming.parity.agreement import Agreement

EXACT_DB = 80.0
"""What float32 has to reach; its rounding leaves 88 dB and more."""
REDUCED_DB = 35.0
"""What reduced precision has to reach."""


@dataclass(frozen=True)
class Way:
    """One way to decode the same codes, held against the official whole forward."""

    name: str
    is_ours: bool
    """Judged by the threshold; other ways are only shown."""
    snr_db: float
    each_second_db: tuple[float, ...]
    """The same, second by second of sound; the last one may be shorter."""

    @property
    def worst_second_db(self) -> float:
        """The least of them."""
        return min(self.each_second_db)


@dataclass(frozen=True)
class ParityReport:
    """The same codes in all ways."""

    codes: str
    """Where they are from."""
    frames: int
    weights: str
    """Where they are from."""
    versions: str
    threads: int
    backend: str
    threshold_db: float
    ways: list[Way]

    @property
    def sound_s(self) -> float:
        """Seconds of sound."""
        return self.frames * CodecSpec().frame_s

    @property
    def has_passed(self) -> bool:
        """Whether all of ours reach the threshold."""
        return all(way.snr_db >= self.threshold_db for way in self.ways if way.is_ours)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; what is infinite becomes None."""
        values: dict[str, Any] = _plain(asdict(self))
        return {**values, "has_passed": self.has_passed}


@dataclass(frozen=True)
class ServersReport:
    """One text and seed from two servers: codes of one, decoded here, and the sound of the other."""

    text: str
    seed: int
    codes_s: float
    """Duration of the codes, decoded here."""
    pcm_s: float
    """Duration of the other server's sound."""
    codes_repeat: Agreement
    """The first server's codes against those of a second run with the same seed."""
    pcm_repeats: bool
    """The other server sent the same samples in a second run with the same seed."""
    tokens: Agreement | None
    """Codes of one against codes of the other; None where the other gives none."""
    prefix_frames: int
    """Over which the sounds are compared: where the codes agree, or else the sounds evidently do."""
    shift_samples: int
    """How much later the other's sound is; it is taken out before the comparison."""
    snr_db: float | None
    """Of the other's sound over the prefix; None if there is no prefix."""
    each_second_db: tuple[float, ...]
    """The same, second by second of the prefix."""
    each_frame_db: tuple[float, ...]
    """Frame by frame, past the prefix as well: where the two part is where it falls."""
    notes: tuple[str, ...]
    """What could not be compared, and why."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; what is infinite becomes None."""
        values: dict[str, Any] = _plain(asdict(self))
        return values


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
