"""From single findings to one verdict and an exit code."""

from __future__ import annotations

import pytest

from app.headless.doctor.finding import Finding, Verdict, exit_code, in_words, overall

OK = Finding("versions", Verdict.OK, "all there")
WARNING = Finding("decoder", Verdict.WARNING, "close to real time")
PROBLEM = Finding("sound", Verdict.PROBLEM, "no device")
FATAL = Finding("configuration", Verdict.PROBLEM, "unknown key", is_fatal=True)


@pytest.mark.parametrize(
    ("findings", "verdict", "code", "words"),
    [
        ([], Verdict.OK, 0, "healthy: a text would be heard"),
        ([OK], Verdict.OK, 0, "healthy: a text would be heard"),
        ([WARNING, OK], Verdict.WARNING, 0, "healthy, but look at decoder"),
        ([OK, PROBLEM, WARNING], Verdict.PROBLEM, 1, "not healthy: look at sound first"),
        ([FATAL, PROBLEM], Verdict.PROBLEM, 2, "not healthy: look at configuration and sound first"),
    ],
)
def test_the_worst_decides(findings: list[Finding], verdict: Verdict, code: int, words: str) -> None:
    """A warning is healthy; what does not even start is worse than what is not heard."""
    assert overall(findings) is verdict
    assert exit_code(findings) == code
    assert in_words(findings) == words
