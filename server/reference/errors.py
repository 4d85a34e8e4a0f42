"""Why the reference talker cannot start.

::

    NotReady
    ├── NotInstalled    a package is missing, or another version
    └── NotLoaded       the checkpoint cannot be used
"""

from __future__ import annotations


class NotReady(Exception):
    """The server cannot start; the text is for whoever starts it and says what to do."""


class NotInstalled(NotReady):
    """A package is missing or another version; the text says what brings it."""


class NotLoaded(NotReady):
    """The checkpoint cannot be used; the text names it and says why."""
