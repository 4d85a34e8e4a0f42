"""Every text of the window is translated, and the files that are loaded are made of those that are edited."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QTranslator

ROOT = Path(__file__).parents[3]
LANGUAGES = ["zh_CN"]
_PLACE = re.compile(r"\{\d*\}|%n|%\d")


def tool(name: str, *arguments: str) -> None:
    """Run one of Qt's tools."""
    script = Path(sys.executable).with_name(f"pyside6-{name}")
    subprocess.run([str(script), "-silent", *arguments], check=True, timeout=120, cwd=ROOT)


def messages(path: Path) -> dict[tuple[str, str], ElementTree.Element]:
    """Return the messages of a .ts file by context and source text."""
    found = {}
    for context in ElementTree.parse(path).getroot().iter("context"):
        name = context.findtext("name") or ""
        for message in context.iter("message"):
            found[name, message.findtext("source") or ""] = message
    return found


def translations(message: ElementTree.Element) -> list[str]:
    element = message.find("translation")
    assert element is not None
    forms = [form.text or "" for form in element.iter("numerusform")]
    return forms or [element.text or ""]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, str]]:
    """The texts that the code has now."""
    path = tmp_path_factory.mktemp("ts") / "now.ts"
    files = [str(f.relative_to(ROOT)) for f in sorted((ROOT / "app" / "gui").rglob("*.py"))]
    tool("lupdate", *files, "-ts", str(path))
    return set(messages(path))


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_is_missing_and_none_is_left_over(language: str, sources: set[tuple[str, str]]) -> None:
    known = messages(ROOT / "assets" / "translations" / f"nearfield_{language}.ts")
    assert len(sources) > 100
    assert sources - set(known) == set(), "run packaging/translations.sh, then translate"
    assert set(known) - sources == set(), "run packaging/translations.sh"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_is_translated_with_the_same_places_to_fill_in(language: str) -> None:
    for (context, source), message in messages(
        ROOT / "assets" / "translations" / f"nearfield_{language}.ts"
    ).items():
        element = message.find("translation")
        assert element is not None
        assert element.get("type") is None, f"{context}: {source!r} is {element.get('type')}"
        for text in translations(message):
            assert text.strip(), f"{context}: {source!r} has no translation"
            assert sorted(_PLACE.findall(text)) == sorted(_PLACE.findall(source)), f"{context}: {source!r}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_file_that_is_loaded_is_made_of_the_one_that_is_edited(language: str, tmp_path: Path) -> None:
    folder = ROOT / "assets" / "translations"
    fresh = tmp_path / "fresh.qm"
    tool("lrelease", str(folder / f"nearfield_{language}.ts"), "-qm", str(fresh))
    made, kept = QTranslator(), QTranslator()
    assert made.load(str(fresh))
    assert kept.load(str(folder / f"nearfield_{language}.qm"))
    for context, source in messages(folder / f"nearfield_{language}.ts"):
        assert kept.translate(context, source, None, 1) == made.translate(context, source, None, 1)
