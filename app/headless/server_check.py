"""``nearfield server check``: what is wrong with deploy files, in which line, and what to write instead."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from server.deploy.check import check
from server.deploy.findings import EXIT_OK, Finding, Report, Severity

_MARKS = {Severity.ERROR: ("✗", "red"), Severity.WARNING: ("!", "yellow"), Severity.NOTE: ("i", "cyan")}


def run(files: Sequence[Path], out: Console, *, as_json: bool = False) -> int:
    """Check files and print what was found; 0: use them, 1: one has errors, 2: one cannot be read."""
    reports = [check(path) for path in files]
    if as_json:
        text = json.dumps([as_dict(report) for report in reports], ensure_ascii=False)
        out.print(text, markup=False, highlight=False, soft_wrap=True)
    else:
        for report in reports:
            show(report, out)
    return max((report.exit_code for report in reports), default=EXIT_OK)


def show(report: Report, out: Console) -> None:
    """Print the verdict on a file, and below it a row for each finding."""
    colour = "red" if report.exit_code else "yellow" if report.of(Severity.WARNING) else "green"
    heading = Text.assemble(str(report.path), ": ", (in_words(report), colour))
    out.print(heading, soft_wrap=True)
    if not report.findings:
        return
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in report.findings:
        mark, colour = _MARKS[finding.severity]
        told = Text.assemble(finding.what, (f"\n→ {finding.advice}", "bold"))
        table.add_row(
            Text(f"{mark} {finding.severity.value}", style=colour), Text(where(finding, report)), told
        )
    out.print(table)


def where(finding: Finding, report: Report) -> str:
    """Return where a finding stands: the line and column, and the file if it is another one."""
    place = finding.place
    other = "" if place.path == report.path else f"{place.path}, "
    return f"{other}line {place.line}:{place.column}"


def in_words(report: Report) -> str:
    """Say in a few words how a file stands."""
    if not report.is_usable:
        return "cannot be read"
    counts = {severity: len(report.of(severity)) for severity in (Severity.ERROR, Severity.WARNING)}
    found = [
        f"{count} {severity.value}{'s' if count > 1 else ''}" for severity, count in counts.items() if count
    ]
    return " and ".join(found) or "nothing wrong"


def as_dict(report: Report) -> dict[str, Any]:
    """Return a report as plain values."""
    return {
        "file": str(report.path),
        "verdict": in_words(report),
        "exit_code": report.exit_code,
        "findings": [
            {
                "severity": finding.severity.value,
                "file": str(finding.place.path),
                "line": finding.place.line,
                "column": finding.place.column,
                "what": finding.what,
                "advice": finding.advice,
            }
            for finding in report.findings
        ],
    }
