"""Files that travel with the program: the demo voice and the tapes."""

from __future__ import annotations

from pathlib import Path


def folder(*parts: str) -> Path:
    """Return a path below ``assets/``, in a checkout, an installed wheel and a frozen bundle alike."""
    return Path(__file__).resolve().parent.joinpath(*parts)
