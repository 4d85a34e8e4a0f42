"""Everything the client raises on purpose, in one tree. Texts say what happened and what to do next.

::

    NearfieldError
    ├── ConfigError          a key, value or file of the configuration that cannot be used
    ├── SessionError         the server cannot be used
    │   ├── Unreachable      nothing answers, or not now: trying again later may help
    │   └── Refused          it answered no: key, address, certificate; trying again does not help
    ├── OutputError          a sound device cannot be opened or used
    ├── RecordingError       a sound file cannot be written or read
    ├── ReportError          a report cannot be written
    ├── DocumentError        a text file cannot be opened
    │   ├── NotText          it is something else
    │   └── TooLong          it is no text that anybody reads aloud in one go
    └── RequestError         a program asked for what the desk does not take
        ├── BadField         a field has a value that it cannot have
        ├── NothingToSay     there is no letter and no number in the text
        ├── TextTooLong      more than is taken in one request
        ├── QueueFull        too many wait: later it may be taken
        └── DeskClosing      the program is about to end
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
    """A sound file that cannot be written or read; the text names the path and the reason."""

    exit_code = 2


class ReportError(NearfieldError):
    """The doctor's report cannot be written; the text names the path and the reason."""

    exit_code = 2


class DocumentError(NearfieldError):
    """A text file that cannot be opened; the text names it and the reason."""


class NotText(DocumentError):
    """The file is something else than text."""


class TooLong(DocumentError):
    """The file is larger than anything that is read aloud in one go."""


class RequestError(NearfieldError):
    """A request that the desk does not take; programs compare ``code``, people read the text."""

    code = "bad_request"


class BadField(RequestError):
    """A field has a value that it cannot have."""

    code = "bad_field"

    def __init__(self, field: str, fault: str) -> None:
        super().__init__(f"{field}: {fault}")
        self.field = field


class NothingToSay(RequestError):
    """There is no letter and no number in the text."""

    code = "nothing_to_say"


class TextTooLong(RequestError):
    """The text is longer than what is taken in one request."""

    code = "text_too_long"


class QueueFull(RequestError):
    """As many requests wait as may; later it may be taken."""

    code = "queue_full"


class DeskClosing(RequestError):
    """The program is about to end."""

    code = "closing"
