from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config import KioskConfig
from app.errors import ConfigError
from app.headless.http.faults import Fault
from app.headless.http.guard import Guard, require_safe

LOCAL = Guard.of(KioskConfig())
OPEN = Guard.of(KioskConfig(http_host="0.0.0.0", http_token="sesame"))
LISTED = Guard.of(KioskConfig(allowed_origins=("https://Home.example", "http://10.0.0.7:8123/")))


def refusal(check: Callable[[], None]) -> Fault | None:
    try:
        check()
    except Fault as fault:
        return fault
    return None


def admits(guard: Guard, method: str = "POST", **headers: str) -> bool:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    fault = refusal(lambda: guard.check_origin(method, sent))
    assert fault is None or (fault.status, fault.code) == (403, "foreign_origin")
    return fault is None


def knows_host(guard: Guard, header: str | None) -> bool:
    fault = refusal(lambda: guard.check_host(header))
    assert fault is None or (fault.status, fault.code) == (403, "wrong_host")
    return fault is None


# -- where to listen ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost", "LOCALHOST"])
def test_this_machine_needs_no_token(host: str) -> None:
    require_safe(KioskConfig(http_host=host))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "kiosk.local", "*"])
def test_others_do_not_get_in_without_a_token(host: str) -> None:
    with pytest.raises(ConfigError, match="NEARFIELD_KIOSK_HTTP_TOKEN"):
        require_safe(KioskConfig(http_host=host))
    require_safe(KioskConfig(http_host=host, http_token="sesame"))


@pytest.mark.parametrize("token", ["ein öl", "two\nlines", "\x00"])
def test_a_token_that_no_header_can_carry_is_refused(token: str) -> None:
    with pytest.raises(ConfigError, match="http_token"):
        require_safe(KioskConfig(http_token=token))


@pytest.mark.parametrize(
    "origin", ["*", "null", "home.example", "https://home.example/page", "ftp://h", "http://h:x"]
)
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(ConfigError, match="no origin"):
        require_safe(KioskConfig(allowed_origins=(origin,)))


# -- Host --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "local", "is_open"),
    [
        ("localhost:8181", True, True),
        ("127.0.0.1:8181", True, True),
        ("[::1]:8181", True, True),
        ("localhost.", True, True),
        ("192.168.1.5:8181", False, True),
        ("[fe80::1]", False, True),
        ("evil.example:8181", False, False),
        ("127.0.0.1.evil.example", False, False),
        ("localhost.evil.example", False, False),
        ("[::1", False, False),
        ("", False, False),
        (None, False, False),
    ],
)
def test_a_name_of_somebody_elses_is_not_this_server(host: str | None, local: bool, is_open: bool) -> None:
    """A domain that was made to point here (DNS rebinding) is told by its name."""
    assert knows_host(LOCAL, host) is local
    assert knows_host(OPEN, host) is is_open


def test_the_name_of_a_listed_origin_may_be_asked_for() -> None:
    """A proxy in front passes its own name on."""
    assert knows_host(LISTED, "home.example")
    assert not knows_host(LISTED, "example")


# -- Origin ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "is_admitted"),
    [
        ({}, True),
        ({"Origin": "http://127.0.0.1:8181", "Host": "127.0.0.1:8181"}, True),
        ({"Origin": "http://localhost:8181", "Host": "localhost:8181"}, True),
        ({"Origin": "https://localhost", "Host": "localhost"}, True),
        ({"Origin": "https://localhost", "Host": "localhost:443"}, True),
        ({"Origin": "http://localhost:3000", "Host": "localhost:8181"}, False),
        ({"Origin": "http://localhost:8181", "Host": "127.0.0.1:8181"}, False),
        ({"Origin": "https://evil.example", "Host": "127.0.0.1:8181"}, False),
        ({"Origin": "null", "Host": "127.0.0.1:8181"}, False),
        ({"Origin": "", "Host": ""}, False),
        ({"Origin": "http://[::1", "Host": "[::1"}, False),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, False),
    ],
)
def test_a_page_from_elsewhere_changes_nothing(headers: dict[str, str], is_admitted: bool) -> None:
    assert admits(LOCAL, "POST", **headers) is is_admitted


def test_a_link_from_elsewhere_may_open_the_page() -> None:
    assert admits(LOCAL, "GET", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")


def test_a_page_from_elsewhere_cannot_take_up_readers_places() -> None:
    """A GET without CORS carries no Origin; what fetched it does."""
    assert not admits(LOCAL, "GET", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")


@pytest.mark.parametrize(
    "origin", ["https://home.example", "https://HOME.example:443", "http://10.0.0.7:8123"]
)
def test_listed_origins_may_ask(origin: str) -> None:
    assert admits(LISTED, Origin=origin, Host="127.0.0.1:8181", Sec_Fetch_Site="cross-site")


@pytest.mark.parametrize(
    "origin", ["http://home.example", "https://home.example:8443", "https://a.home.example"]
)
def test_what_is_nearly_a_listed_origin_may_not(origin: str) -> None:
    assert not admits(LISTED, Origin=origin, Host="127.0.0.1:8181")


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_header_however_odd_breaks_the_rules(origin: str, host: str) -> None:
    for guard in (LOCAL, LISTED):
        knows_host(guard, host)
        if admits(guard, Origin=origin, Host=host):
            assert origin.strip().lower().startswith("http")


# -- token -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "is_known"),
    [
        ("Bearer sesame", True),
        ("bearer sesame", True),
        ("Bearer  sesame ", True),
        ("Bearer sesam", False),
        ("Bearer sesame2", False),
        ("Bearer ", False),
        ("Basic sesame", False),
        ("sesame", False),
        ("Bearer s\udcffsame", False),
        ("Bearer öl", False),
        (None, False),
        ("", False),
    ],
)
def test_only_the_token_opens(header: str | None, is_known: bool) -> None:
    assert OPEN.knows(header) is is_known
    if is_known:
        OPEN.check_token(header)
    else:
        with pytest.raises(Fault) as refused:
            OPEN.check_token(header)
        assert refused.value.status == 401
        assert refused.value.headers["WWW-Authenticate"].startswith("Bearer")


def test_without_a_token_nobody_is_asked_for_one() -> None:
    LOCAL.check_token(None)
    assert not LOCAL.knows("Bearer "), "an empty token is no token"


def test_the_token_is_not_shown_where_a_guard_is_printed() -> None:
    assert "sesame" not in repr(OPEN)
    assert "sesame" not in repr(replace(OPEN))
