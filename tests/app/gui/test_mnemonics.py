"""Names without the mark of their key, in languages with and without letters for it."""

from __future__ import annotations

import pytest

from app.gui.mnemonics import without_mnemonic


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("&Speak", "Speak"),
        ("Cu&t", "Cut"),
        ("朗读(&S)", "朗读"),
        ("打开文本(&O)…", "打开文本…"),
        ("Cut && paste (all)", "Cut & paste (all)"),
        ("", ""),
    ],
)
def test_only_the_mark_goes(marked: str, plain: str) -> None:
    assert without_mnemonic(marked) == plain
