"""What people write as an address, and what follows from it."""

from __future__ import annotations

import pytest

from app.config import Config
from app.errors import ConfigError
from app.session.address import STREAM_PATH, proxy_of, server_address, without_password


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("ws://127.0.0.1:8001", f"ws://127.0.0.1:8001{STREAM_PATH}"),
        ("box", f"ws://box{STREAM_PATH}"),
        ("box:8001/", f"ws://box:8001{STREAM_PATH}"),
        ("  http://box:8001  ", f"ws://box:8001{STREAM_PATH}"),
        ("https://speech.example.com", f"wss://speech.example.com{STREAM_PATH}"),
        ("WSS://Speech.Example.com/v2/stream?tenant=a", "wss://Speech.Example.com/v2/stream?tenant=a"),
        ("[::1]:8001", f"ws://[::1]:8001{STREAM_PATH}"),
        ("ws://box/v2/stream#part", "ws://box/v2/stream"),
        ("bücher.example", f"ws://bücher.example{STREAM_PATH}"),
    ],
)
def test_the_path_and_the_scheme_may_be_left_out(written: str, meant: str) -> None:
    assert server_address(written).url == meant


@pytest.mark.parametrize(
    "written",
    [
        "", " ", "ws://", "ftp://box", "ws://[::1", "box:99999", "box:port", "ws://:8001", "a b", "ws://a..b",
        "ws://" + "a" * 64 + ".example", "file:///etc/passwd",
    ],
)  # fmt: skip
def test_what_is_no_address_is_a_configuration_error_that_quotes_it(written: str) -> None:
    with pytest.raises(ConfigError, match="is not a server address"):
        server_address(written)


def test_a_password_in_the_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigError, match=r"server\.api_key") as error:
        server_address("ws://user:hunter2@127.0.0.1:8001")
    assert "hunter2" not in str(error.value)


def test_the_default_address_needs_no_name_look_up() -> None:
    """A "localhost" would be tried over IPv6 first, which costs seconds on some systems."""
    address = server_address(Config().server.url)
    assert address.host == "127.0.0.1"
    assert address.is_loopback


@pytest.mark.parametrize(
    "url", ["ws://192.168.1.5", "ws://box.lan", "ws://8.8.8.8", "http://speech.example.com"]
)
def test_a_key_never_travels_in_the_clear_to_another_machine_unasked(url: str) -> None:
    with pytest.raises(ConfigError, match="unencrypted"):
        server_address(url, api_key="sesame")
    assert server_address(url, api_key="sesame", allow_insecure_key=True).api_key == "sesame"
    assert server_address(url).api_key == ""


@pytest.mark.parametrize(
    "url", ["ws://127.0.0.1:8001", "ws://localhost", "ws://[::1]:8001", "wss://speech.example.com"]
)
def test_a_key_may_travel_within_this_machine_or_encrypted(url: str) -> None:
    assert server_address(url, api_key=" sesame\n").api_key == "sesame"


@pytest.mark.parametrize("key", ["ses\nHost: evil", "sésame", "a\x00b"])
def test_a_key_that_can_be_none_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(ConfigError, match="API key") as error:
        server_address("ws://127.0.0.1", api_key=key)
    assert key not in str(error.value)


def test_a_key_is_not_shown_with_the_address() -> None:
    assert "sesame" not in repr(server_address("ws://127.0.0.1", api_key="sesame"))


@pytest.mark.parametrize(
    ("host", "near", "loopback"),
    [
        ("127.0.0.1", True, True),
        ("127.8.9.1", True, True),
        ("localhost", True, True),
        ("[::1]", True, True),
        ("10.0.0.4", True, False),
        ("192.168.0.4", True, False),
        ("[fe80::1]", True, False),
        ("jetson", True, False),
        ("jetson.local", True, False),
        ("8.8.8.8", False, False),
        ("speech.example.com", False, False),
    ],
)
def test_which_servers_are_near(host: str, near: bool, loopback: bool) -> None:
    address = server_address(f"ws://{host}:8001")
    assert (address.is_near, address.is_loopback) == (near, loopback)


FAR = server_address("ws://speech.example.com")
FAR_TLS = server_address("wss://speech.example.com")


@pytest.mark.parametrize(
    ("proxies", "plain", "encrypted"),
    [
        ({}, None, None),
        ({"http": "http://p:1"}, "http://p:1", None),
        ({"http": "http://p:1", "https": "http://q:2"}, "http://q:2", "http://q:2"),
        ({"https": "http://q:2", "socks": "http://s:3"}, "socks5h://s:3", "socks5h://s:3"),
        ({"https": "http://q:2", "wss": "http://w:4", "ws": "http://v:5"}, "http://v:5", "http://w:4"),
        ({"all": "socks5://a:6"}, "socks5://a:6", "socks5://a:6"),
    ],
)
def test_which_proxy_leads_to_a_far_server(
    proxies: dict[str, str], plain: str | None, encrypted: str | None
) -> None:
    assert proxy_of(FAR, proxies) == plain
    assert proxy_of(FAR_TLS, proxies) == encrypted
    assert proxy_of(server_address("ws://127.0.0.1"), proxies) is None


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://user:pw@proxy:3128", "http://proxy:3128"),
        ("http://proxy", "http://proxy"),
        ("proxy", "proxy"),
    ],
)
def test_a_proxys_password_is_not_shown(url: str, shown: str) -> None:
    assert without_password(url) == shown


@pytest.mark.parametrize(
    ("url", "port", "numeric"),
    [
        ("ws://127.0.0.1:8001", 8001, True),
        ("ws://[::1]", 80, True),
        ("wss://[fe80::1%eth0]:9", 9, True),
        ("wss://speech.example.com", 443, False),
        ("localhost:5", 5, False),
    ],
)
def test_what_is_dialled(url: str, port: int, numeric: bool) -> None:
    address = server_address(url)
    assert (address.port, address.is_numeric) == (port, numeric)
