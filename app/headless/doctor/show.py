"""Findings as a table, as JSON, and as a report to send to somebody."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.headless.doctor.finding import Finding, Verdict, exit_code, in_words, overall

_MARKS = {Verdict.OK: ("✓", "green"), Verdict.WARNING: ("!", "yellow"), Verdict.PROBLEM: ("✗", "red")}


def show(findings: Sequence[Finding], out: Console) -> None:
    """Print a table with a row for each finding, the next step below it, and the overall verdict."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        mark, colour = _MARKS[finding.verdict]
        told = Text(finding.summary)
        if finding.advice:
            told.append(f"\n→ {finding.advice}", style="bold")
        table.add_row(Text(f"{mark} {finding.verdict.value}", style=colour), Text(finding.check), told)
    out.print(table)
    out.print()
    out.print(Text(in_words(findings), style=_MARKS[overall(findings)][1]))


def as_dict(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return everything as plain values."""
    return {
        "verdict": overall(findings).value,
        "summary": in_words(findings),
        "exit_code": exit_code(findings),
        "checks": [
            {
                "check": finding.check,
                "verdict": finding.verdict.value,
                "summary": finding.summary,
                "advice": finding.advice,
                "facts": finding.facts,
            }
            for finding in findings
        ],
    }


def as_json(findings: Sequence[Finding]) -> str:
    """Return `as_dict` in one line."""
    return json.dumps(as_dict(findings), ensure_ascii=False)


def as_report(findings: Sequence[Finding], made_at: datetime) -> str:
    """Return a text for people, Markdown, with every fact that was seen."""
    lines = [
        "# Nearfield: what the doctor found",
        "",
        f"{made_at:%Y-%m-%d %H:%M %Z}".strip() + f": **{in_words(findings)}**.",
    ]
    for finding in findings:
        lines += ["", f"## {finding.check}: {finding.verdict.value}", "", finding.summary]
        if finding.advice:
            lines += ["", f"Next: {finding.advice}"]
        if finding.facts:
            lines += [
                "",
                "```json",
                json.dumps(finding.facts, ensure_ascii=False, indent=1),
                "```",
            ]
    return "\n".join(lines) + "\n"
