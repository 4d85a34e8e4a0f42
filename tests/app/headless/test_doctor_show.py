"""Findings as people and programs read them."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from io import StringIO

from rich.console import Console

from app.headless.doctor.finding import Finding, Verdict
from app.headless.doctor.show import as_json, as_report, show

FINDINGS = [
    Finding("versions", Verdict.OK, "nearfield 1", facts={"torch": "2.13", "list": ["a", 1, None]}),
    Finding("sound", Verdict.PROBLEM, "[no device]", "plug one in"),
]


def shown(width: int = 80) -> str:
    out = StringIO()
    show(FINDINGS, Console(file=out, width=width))
    return out.getvalue()


def test_the_table_has_a_row_for_each_its_next_step_and_the_verdict() -> None:
    """What looks like markup is text."""
    lines = [line.rstrip() for line in shown().splitlines()]
    assert lines == [
        "✓ ok       versions  nearfield 1",
        "✗ problem  sound     [no device]",
        "                     → plug one in",
        "",
        "not healthy: look at sound first",
    ]


def test_a_narrow_terminal_loses_nothing() -> None:
    assert "plug" in shown(30)
    assert all(len(line) <= 30 for line in shown(30).splitlines())


def test_json_is_one_line_with_everything() -> None:
    text = as_json(FINDINGS)
    assert "\n" not in text
    values = json.loads(text)
    assert (values["verdict"], values["exit_code"]) == ("problem", 1)
    assert values["checks"][0]["facts"] == {"torch": "2.13", "list": ["a", 1, None]}
    assert values["checks"][1] == {
        "check": "sound",
        "verdict": "problem",
        "summary": "[no device]",
        "advice": "plug one in",
        "facts": {},
    }


def test_the_report_is_for_people_and_has_every_fact() -> None:
    text = as_report(FINDINGS, datetime(2026, 1, 2, 3, 4, tzinfo=timezone.utc))
    assert "2026-01-02 03:04 UTC: **not healthy: look at sound first**." in text
    assert "## sound: problem" in text
    assert "Next: plug one in" in text
    (block,) = [part for part in text.split("```") if part.startswith("json")]
    assert json.loads(block.removeprefix("json")) == FINDINGS[0].facts
