"""What a profile may be; pure but for a look whether a file is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

from app.config import DEMO, Profile
from app.errors import ConfigError
from app.session.address import server_address

MOST_NAME_CHARS = 60


class Fault(Enum):
    """What is wrong with a profile."""

    NO_NAME = "a profile needs a name"
    LONG_NAME = f"the name is longer than {MOST_NAME_CHARS} characters"
    NAME_TAKEN = "another profile has this name"
    ADDRESS = "this is not a server address"
    LOGIN = "name and password do not belong into an address"
    KEY = "this cannot be an API key"
    KEY_IN_CLEAR = "the key would travel unencrypted to another machine"
    CA_FILE = "the file of the certificate authority is not there"


class ProfileError(ConfigError):
    """A profile that cannot be used."""

    def __init__(self, fault: Fault, detail: str = "") -> None:
        super().__init__(detail or fault.value)
        self.fault = fault


def checked(profile: Profile, key: str, others: Sequence[Profile]) -> Profile:
    """Return ``profile`` without the white space around what was typed.

    Args:
        profile: as it was typed.
        key: its API key, empty for none.
        others: the other saved profiles.

    Raises:
        ProfileError: it cannot be used.

    """
    name, url = " ".join(profile.name.split()), profile.url.strip()
    if not name:
        raise ProfileError(Fault.NO_NAME)
    if len(name) > MOST_NAME_CHARS:
        raise ProfileError(Fault.LONG_NAME)
    if _is_taken(name, others):
        raise ProfileError(Fault.NAME_TAKEN)
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise ProfileError(Fault.LOGIN)
    ca_file = profile.ca_file.strip()
    for fault, used_key, is_allowed in (
        (Fault.ADDRESS, "", True),
        (Fault.KEY, key, True),
        (Fault.KEY_IN_CLEAR, key, profile.allow_insecure_key),
    ):
        try:
            server_address(url, used_key, ca_file, is_allowed)
        except ConfigError as error:
            raise ProfileError(fault, str(error)) from None
    if ca_file and not Path(ca_file).is_file():
        raise ProfileError(Fault.CA_FILE, f"there is no file {ca_file}")
    return replace(profile, name=name, url=url, ca_file=ca_file)


def free_profile_name(url: str, others: Sequence[Profile]) -> str:
    """Return a name for the server at ``url``, made of its host, that no other profile has."""
    host = (urlsplit(url if "://" in url else f"ws://{url}").hostname or "server")[: MOST_NAME_CHARS - 5]
    names = (host if number == 1 else f"{host} {number}" for number in count(1))
    return next(name for name in names if not _is_taken(name, others))


def _is_taken(name: str, others: Sequence[Profile]) -> bool:
    return name.casefold() in (DEMO.casefold(), *(other.name.casefold() for other in others))
