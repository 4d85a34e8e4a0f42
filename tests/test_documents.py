"""The documents are finished, and what they link to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.slow_link import (
    FRAME_BYTES,
    PACKET_HEADER_BYTES,
    SEGMENT_OVERHEAD_BYTES,
    message_bytes,
    wire_bytes,
)

ROOT = Path(__file__).parents[1]
DOCUMENTS = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "packaging/README.md",
    "packaging/container/README.md",
    "packaging/jetson/README.md",
    "packaging/macos/README.md",
    "packaging/pyinstaller/README.md",
    "packaging/speech-dispatcher/README.md",
    "packaging/systemd/README.md",
    "packaging/windows/README.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "server").glob("**/*.md")),
]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_nothing_is_left_to_fill_in_and_no_link_is_dead(name: str) -> None:
    path = ROOT / name
    text = path.read_text("utf-8")
    assert "@@" not in text
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert not [link for link in links if "://" not in link and not (path.parent / link).exists()]


def test_the_two_commands_of_the_readme_are_what_ci_runs() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    assert "packaging/bootstrap.sh --test && .venv/bin/pytest\n" in readme
    assert "packaging/bootstrap.sh --test\n" in ci
    assert ci.endswith(".venv/bin/pytest\n")


def test_the_table_of_slow_links_is_right() -> None:
    """Each figure is what a packet of so many frames costs on the wire."""
    readme = (ROOT / "README.md").read_text("utf-8")
    row_of = r"^\| (\d+) \| 400 \| (\d+) \| (\d+) \| (\d+) \| ([\d.]+) kbit/s \| (\d+) ms \|$"
    rows = re.findall(row_of, readme, re.MULTILINE)
    assert [int(row[0]) for row in rows] == [1, 2, 4, 8, 12, 25]
    for row in rows:
        frames = int(row[0])
        per_s = 12.5 / frames
        framing_bytes = message_bytes(frames) - PACKET_HEADER_BYTES - frames * FRAME_BYTES
        assert frames * FRAME_BYTES * per_s == 400
        for shown, cost_bytes in zip(
            row[1:4], (PACKET_HEADER_BYTES, framing_bytes, SEGMENT_OVERHEAD_BYTES), strict=True
        ):
            assert int(shown) == round(cost_bytes * per_s)
        assert float(row[4]) == round(8 * wire_bytes(message_bytes(frames)) * per_s / 1000, 1)
        assert int(row[5]) == 80 * (frames - 1)
