"""Everything the client raises on purpose, in one tree. Texts say what happened and what to do next.

::

    NearfieldError
    ├── ConfigError          a key, value or file of the configuration that cannot be used
    ├── SessionError         the server cannot be used
    │   ├── Unreachable      nothing answers, or not now: trying again later may help
    │   └── Refused          it answered no: key, address, certificate; trying again does not help
    ├── OutputError          a sound device cannot be opened or used
    └── RecordingError       a sound file cannot be written
"""

from __future__ import annotations


class NearfieldError(Exception):
    """The root: a front end shows its text and the program goes on, or ends with ``exit_code``."""

    exit_code = 1


class ConfigError(NearfieldError):
    """A key, value or file of the configuration that cannot be used; the text lists what is known."""

    exit_code = 2


class SessionError(NearfieldError):
    """The server cannot be used."""

    exit_code = 2


class Unreachable(SessionError):
    """Nothing answers at the address, or not now; trying again later may help."""


class Refused(SessionError):
    """The server answered no (key, path, certificate, protocol); trying again does not help."""


class OutputError(NearfieldError):
    """A sound device that cannot be opened or used; the text names the device and the likely cause."""


class RecordingError(NearfieldError):
    """A sound file that cannot be written; the text names the path and the reason."""

    exit_code = 2
