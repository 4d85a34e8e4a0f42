"""Whether this program is a frozen bundle, and what helps there: decided here alone."""

from __future__ import annotations

import sys

NOT_WHOLE = "this bundle is not whole: unpack it again, or install its package again"


def is_bundle() -> bool:
    """Return whether this is a bundle, to which no Python package can be added."""
    return bool(getattr(sys, "frozen", False))


def advice(elsewhere: str, in_a_bundle: str = NOT_WHOLE) -> str:
    """Return the advice that helps here; what every bundle has is missing only in a broken one."""
    return in_a_bundle if is_bundle() else elsewhere
