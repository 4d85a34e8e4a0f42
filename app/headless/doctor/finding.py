"""What a check found, and what all of them mean together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

EXIT_HEALTHY = 0
EXIT_ILL = 1
EXIT_UNUSABLE = 2

Fact = str | int | float | bool | None | Sequence["Fact"] | Mapping[str, "Fact"]
"""Plain values, as JSON has them."""


class Verdict(Enum):
    """How it stands."""

    OK = "ok"
    WARNING = "warning"
    """It works, and something is worth knowing."""
    PROBLEM = "problem"
    """Nobody would hear anything, or not well."""


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    check: str
    """What was looked at, such as ``server``."""
    verdict: Verdict
    summary: str
    """What was found, in a line."""
    advice: str = ""
    """The next step; empty if none is needed."""
    facts: Mapping[str, Fact] = field(default_factory=dict)
    """What was seen, for whoever is asked for help."""
    is_fatal: bool = False
    """Whether nothing would even start."""


def overall(findings: Sequence[Finding]) -> Verdict:
    """Return the worst verdict."""
    order = list(Verdict)
    return max((finding.verdict for finding in findings), key=order.index, default=Verdict.OK)


def exit_code(findings: Sequence[Finding]) -> int:
    """Return 0 if a text would be heard here, 1 if not, 2 if nothing would even start."""
    if any(finding.is_fatal for finding in findings):
        return EXIT_UNUSABLE
    return EXIT_ILL if overall(findings) is Verdict.PROBLEM else EXIT_HEALTHY


def in_words(findings: Sequence[Finding]) -> str:
    """Say the overall verdict in a sentence."""
    problems = [finding.check for finding in findings if finding.verdict is Verdict.PROBLEM]
    warnings = [finding.check for finding in findings if finding.verdict is Verdict.WARNING]
    if problems:
        return f"not healthy: look at {_listed(problems)} first"
    if warnings:
        return f"healthy, but look at {_listed(warnings)}"
    return "healthy: a text would be heard"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
