"""Names of actions and controls without the mark of the key that leads to them."""

from __future__ import annotations

import re

_MARK = re.compile(r"\(&\w\)|&")
"""``&`` before a letter of the word; languages without the keyboard's letters have ``(&X)`` behind it."""


def without_mnemonic(text: str) -> str:
    """Return ``text`` as it is read aloud or shown where no key is marked; ``&&`` becomes ``&``."""
    return _MARK.sub("", text.replace("&&", "\0")).replace("\0", "&")
