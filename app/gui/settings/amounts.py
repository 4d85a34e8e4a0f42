"""Numbers as people read them."""

from __future__ import annotations


def size_text(size_bytes: float) -> str:
    """Return a number of bytes in the units of disks and networks."""
    if size_bytes >= 1e9:
        return f"{size_bytes / 1e9:.2f} GB"
    return f"{size_bytes / 1e6:.0f} MB" if size_bytes >= 1e6 else f"{size_bytes / 1e3:.0f} kB"
