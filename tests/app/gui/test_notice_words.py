"""What the engine and the player tell is known to the translators, all of it."""

from __future__ import annotations

import ast
from pathlib import Path

from PySide6.QtWidgets import QApplication

from app.engine.events import Notice, Severity
from app.gui.language import Language
from app.gui.notice_words import TEMPLATES, in_words

ROOT = Path(__file__).parents[3] / "app"
TOLD_BY = ("of", "_tell")
"""Methods that take a severity and a template."""


def strings(node: ast.expr, names: dict[str, list[str]]) -> list[str]:
    """All texts that an argument may be."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.IfExp():
            return strings(node.body, names) + strings(node.orelse, names)
        case ast.Name():
            return names.get(node.id, [])
    return []


def templates_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    names: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names.setdefault(node.targets[0].id, []).extend(strings(node.value, names))
    found: set[str] = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in TOLD_BY
            and len(node.args) >= 2
            and ast.unparse(node.args[0]).startswith("Severity.")
        ):
            texts = strings(node.args[1], names)
            assert texts, f"{path}:{node.lineno}: which text is this?"
            found.update(texts)
    return found


def test_every_template_is_in_the_list_and_no_other() -> None:
    used: set[str] = set()
    for path in [*(ROOT / "engine").glob("*.py"), *(ROOT / "desktop").glob("*.py")]:
        used |= templates_in(path)
    assert used == set(TEMPLATES)


def test_a_notice_is_told_in_the_language_of_the_window(qapp: QApplication) -> None:
    notice = Notice.of(Severity.WARNING, "the decoder left out {0} samples", 12)
    language = Language(qapp)
    try:
        language.show("en")
        assert in_words(notice) == notice.text == "the decoder left out 12 samples"
        language.show("zh_CN")
        assert "12" in in_words(notice)
        assert "decoder" not in in_words(notice)
        assert in_words(Notice(Severity.ERROR, "disk {full}")) == "disk {full}"
    finally:
        language.show("en")
