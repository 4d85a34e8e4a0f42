"""A voice to upload: what is wrong with it yet, and what is sent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum, auto
from pathlib import Path

from app.engine.reference import Sample, read_sample
from app.session.voices import MAX_NAME_CHARS, NewVoice, VoiceList, normal


class NameFault(Enum):
    """Why a name cannot be given."""

    MISSING = auto()
    TOO_LONG = auto()
    BAD_CHARACTER = auto()
    """It would be a part of an address, which a slash divides."""
    TAKEN = auto()
    """By a speaker, or by an uploaded voice, which some servers would replace without a word."""


def name_fault(name: str, voices: VoiceList | None) -> NameFault | None:
    """Say why a new voice cannot be called ``name``; ``None`` if it can."""
    name = name.strip()
    if not name:
        return NameFault.MISSING
    if len(name) > MAX_NAME_CHARS:
        return NameFault.TOO_LONG
    if not name.isprintable() or set(name) & set("/\\") or not any(c.isalnum() for c in name):
        return NameFault.BAD_CHARACTER
    if not normal(name) or (voices is not None and (voices.is_speaker(name) or voices.is_uploaded(name))):
        return NameFault.TAKEN
    return None


@dataclass(frozen=True)
class Cloning:
    """What was filled in so far."""

    path: Path | None = None
    sample: Sample | None = None
    name: str = ""
    ref_text: str = ""
    consents: bool = False

    def is_ready(self, voices: VoiceList | None) -> bool:
        """Return whether it can be uploaded."""
        return self.sample is not None and self.consents and name_fault(self.name, voices) is None

    def new_voice(self, now: datetime) -> NewVoice:
        """Return what is uploaded; ``consent`` says that it was stated here, and when."""
        assert self.sample is not None
        assert self.consents
        stamp = now.astimezone(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        return NewVoice(self.name.strip(), self.sample.content, f"self-stated-{stamp}", self.ref_text.strip())


def read_recording(path: Path) -> tuple[Sample, str]:
    """Return the recording at ``path`` and a name to propose for its voice.

    Raises:
        SampleError: it cannot be used.

    """
    sample = read_sample(path)
    proposed = "".join(c if c.isalnum() or c in "_- " else "_" for c in path.stem).strip()
    return sample, proposed[:MAX_NAME_CHARS]
