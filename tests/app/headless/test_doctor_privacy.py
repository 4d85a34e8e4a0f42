"""What a report may say, and what never leaves the machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.config import Config
from app.headless.doctor.finding import Finding, Verdict
from app.headless.doctor.privacy import Discreet, secret_keys, secrets_of

CONFIG = Config()
CONFIG = replace(
    CONFIG,
    server=replace(CONFIG.server, api_key="sk-1234567890"),
    kiosk=replace(CONFIG.kiosk, http_token="sk-123"),
)
DISCREET = Discreet.about(CONFIG, Path("/home/mia"))


def test_what_is_a_secret_is_said_where_it_is_declared() -> None:
    """A key that is added later with ``repr=False`` is one without a word here."""
    assert secret_keys() == {"server.api_key", "kiosk.http_token"}
    assert secrets_of(CONFIG) == {"sk-1234567890", "sk-123"}
    assert secrets_of(Config()) == frozenset()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("refused: Bearer sk-1234567890", "refused: Bearer •••"),
        ("token sk-123.", "token •••."),
        ("/home/mia/.config/nearfield/config.yaml", "~/.config/nearfield/config.yaml"),
        ('cannot read "/home/mia", sorry', 'cannot read "~", sorry'),
        ("/home/mian/x and /mnt/home/mia/x", "/home/mian/x and /mnt/home/mia/x"),
        ("wss://host/stream?key=abc is gone", "wss://host/stream?••• is gone"),
        ("through http://mia:pw@proxy:3128: refused", "through http://•••@proxy:3128: refused"),
        ("is it ws:// instead of wss://?", "is it ws:// instead of wss://?"),
        ("who decodes? nobody", "who decodes? nobody"),
    ],
)
def test_texts(text: str, shown: str) -> None:
    assert DISCREET.text(text) == shown


def test_every_part_of_a_finding_is_looked_at() -> None:
    found = Finding(
        "server",
        Verdict.PROBLEM,
        "sk-123 in /home/mia/x",
        "chmod 600 /home/mia/x",
        {"path": "/home/mia/x", "deep": [{"sk-123": "sk-1234567890"}], "count": 3, "none": None, "yes": True},
    )
    assert DISCREET.finding(found) == Finding(
        "server",
        Verdict.PROBLEM,
        "••• in ~/x",
        "chmod 600 ~/x",
        {"path": "~/x", "deep": [{"•••": "•••"}], "count": 3, "none": None, "yes": True},
    )


def test_a_configuration_that_cannot_be_read_has_no_secrets_to_know() -> None:
    """Errors of reading never quote a line; the home folder is replaced all the same."""
    assert Discreet.about(None, Path("/home/mia/")).text("/home/mia/a: unknown key") == "~/a: unknown key"
