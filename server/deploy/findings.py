"""What the checker of deploy files has to say, and where."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

EXIT_OK = 0
EXIT_PROBLEMS = 1
EXIT_UNUSABLE = 2


class Severity(Enum):
    """How much it matters."""

    ERROR = "error"
    """The server would not start, would not do what the file says, or would speak badly."""
    WARNING = "warning"
    """It works, and is probably not what was meant."""
    NOTE = "note"
    """Nothing is wrong; something else has to be there."""


@dataclass(frozen=True, order=True)
class Place:
    """Where something stands in a file."""

    path: Path
    line: int
    """From 1, as editors count: lines end at a line feed."""
    column: int = 1
    """From 1, in characters."""


@dataclass(frozen=True)
class Finding:
    """One thing that somebody should know about a file."""

    severity: Severity
    place: Place
    what: str
    """What is wrong, and what comes of it."""
    advice: str
    """What to write instead."""


def error(place: Place, what: str, advice: str) -> Finding:
    """Return a finding that keeps the file from being used as it is."""
    return Finding(Severity.ERROR, place, what, advice)


def warning(place: Place, what: str, advice: str) -> Finding:
    """Return a finding that is worth a second look."""
    return Finding(Severity.WARNING, place, what, advice)


def note(place: Place, what: str, advice: str) -> Finding:
    """Return a finding about what the file needs."""
    return Finding(Severity.NOTE, place, what, advice)


@dataclass(frozen=True)
class Report:
    """All that was found in one file and in the files that it is based on."""

    path: Path
    findings: tuple[Finding, ...]
    """By file and line."""
    is_usable: bool = True
    """Whether the file could be read to its end; if not, its one error says why."""

    def of(self, severity: Severity) -> list[Finding]:
        """Return the findings of one kind."""
        return [finding for finding in self.findings if finding.severity is severity]

    @property
    def exit_code(self) -> int:
        """0: use it. 1: it has errors. 2: it cannot be read."""
        if not self.is_usable:
            return EXIT_UNUSABLE
        return EXIT_PROBLEMS if self.of(Severity.ERROR) else EXIT_OK
