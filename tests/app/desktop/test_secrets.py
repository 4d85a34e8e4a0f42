from __future__ import annotations

import json
import logging
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import keyring as keyring_library
import keyring.backend
import keyring.backends.fail
import keyring.backends.null
import keyring.errors
import pytest

from app.desktop.secrets import FILE_NAME, SERVICE, Place, Secrets, find_keyring
from app.errors import ConfigError
from tests.helpers.hygiene import no_task_is_left, no_thread_is_left

__all__ = ["no_task_is_left", "no_thread_is_left"]

KEY = "sk-very-secret"


class MemoryKeyring:
    """A keyring in memory. Unlike a real one it asks nobody for a password; it can hang and fail to order."""

    def __init__(self) -> None:
        self.keys: dict[tuple[str, str], str] = {}
        self.threads: set[threading.Thread] = set()
        self.failure: Exception | None = None
        self.answers = threading.Event()
        self.answers.set()

    def _turn(self) -> None:
        self.threads.add(threading.current_thread())
        self.answers.wait()
        if self.failure is not None:
            raise self.failure

    def get_password(self, service: str, username: str) -> str | None:
        self._turn()
        return self.keys.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._turn()
        self.keys[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._turn()
        if (service, username) not in self.keys:
            raise keyring.errors.PasswordDeleteError("no such password")
        del self.keys[service, username]


@pytest.fixture
def memory(no_thread_is_left: None) -> Iterator[MemoryKeyring]:
    made = MemoryKeyring()
    yield made
    made.answers.set()


def with_keyring(folder: Path, memory: MemoryKeyring, within_s: float = 30.0) -> Secrets:
    return Secrets(folder, lambda: (memory, "Memory"), within_s)


def without_keyring(folder: Path) -> Secrets:
    return Secrets(folder, lambda: None)


# -- with a keyring ----------------------------------------------------------------------------------------


async def test_a_key_is_kept_in_the_keyring_and_got_from_there(tmp_path: Path, memory: MemoryKeyring) -> None:
    secrets = with_keyring(tmp_path, memory)
    assert await secrets.keep("Lab", KEY) is Place.KEYRING
    assert memory.keys == {(SERVICE, "Lab"): KEY}
    assert not secrets.path.exists(), "and in no file"
    assert secrets.known("Lab") == KEY
    again = with_keyring(tmp_path, memory)
    assert again.known("Lab") == "", "nothing is asked before it is needed"
    assert await again.load("Lab") == KEY
    assert again.known("Lab") == KEY
    assert await again.load("Other") == ""
    assert again.problem == ""
    assert again.keyring_name == "Memory"


async def test_the_keyring_is_never_asked_in_the_event_loop(tmp_path: Path, memory: MemoryKeyring) -> None:
    secrets = with_keyring(tmp_path, memory)
    await secrets.keep("Lab", KEY)
    await secrets.forget("Lab")
    assert memory.threads
    assert threading.current_thread() not in memory.threads


async def test_a_key_is_asked_for_once(tmp_path: Path, memory: MemoryKeyring) -> None:
    secrets = with_keyring(tmp_path, memory)
    await secrets.load("Lab")
    memory.threads.clear()
    assert await secrets.load("Lab") == ""
    assert not memory.threads


async def test_forgetting_and_an_empty_key_remove_it(tmp_path: Path, memory: MemoryKeyring) -> None:
    secrets = with_keyring(tmp_path, memory)
    for name in ("Lab", "Other", "Third"):
        await secrets.keep(name, KEY)
    await secrets.forget("Lab")
    await secrets.keep("Other", "")
    await secrets.forget("was never there")
    assert memory.keys == {(SERVICE, "Third"): KEY}
    assert (secrets.known("Lab"), secrets.problem) == ("", "")


# -- a keyring that is locked, broken, or hangs ------------------------------------------------------------


async def test_a_keyring_that_hangs_is_given_up_and_the_file_takes_the_key(
    tmp_path: Path, memory: MemoryKeyring
) -> None:
    secrets = with_keyring(tmp_path, memory, within_s=0.05)
    memory.answers.clear()
    assert await secrets.load("Lab") == ""
    assert "did not answer" in secrets.problem
    assert await secrets.keep("Lab", KEY) is Place.FILE
    assert "still does not answer" in secrets.problem
    assert str(secrets.path) in secrets.problem
    assert len(memory.threads) == 1, "one thread at most hangs"
    assert await with_keyring(tmp_path, memory, within_s=0.05).load("Lab") == KEY


async def test_a_key_that_could_not_be_got_is_asked_for_again(tmp_path: Path, memory: MemoryKeyring) -> None:
    await with_keyring(tmp_path, memory).keep("Lab", KEY)
    secrets = with_keyring(tmp_path, memory)
    memory.failure = keyring.errors.KeyringLocked("Failed to unlock the collection!")
    assert await secrets.load("Lab") == ""
    assert "Failed to unlock" in secrets.problem
    assert "Lab" in secrets.problem
    memory.failure = None
    assert await secrets.load("Lab") == KEY
    assert secrets.problem == ""


@pytest.mark.parametrize(
    "failure", [keyring.errors.InitError("no D-Bus"), OSError("broken pipe"), KeyError(3)]
)
async def test_whatever_a_keyring_raises_the_key_is_kept(
    tmp_path: Path, memory: MemoryKeyring, failure: Exception
) -> None:
    secrets = with_keyring(tmp_path, memory)
    memory.failure = failure
    assert await secrets.keep("Lab", KEY) is Place.FILE
    memory.failure = None
    # What is in the file is newer than what is in the keyring.
    memory.keys[SERVICE, "Lab"] = "old"
    assert await with_keyring(tmp_path, memory).load("Lab") == KEY
    assert await secrets.keep("Lab", "newest") is Place.KEYRING
    assert not secrets.path.exists(), "one place for a key"


async def test_looking_for_a_keyring_may_fail(tmp_path: Path) -> None:
    def fail() -> None:
        raise RuntimeError("no session bus")

    secrets = Secrets(tmp_path, fail)
    assert await secrets.place() is Place.FILE
    assert await secrets.keep("Lab", KEY) is Place.FILE


async def test_a_key_that_may_be_left_in_the_keyring_is_told(tmp_path: Path, memory: MemoryKeyring) -> None:
    secrets = with_keyring(tmp_path, memory)
    await secrets.keep("Lab", KEY)
    memory.failure = keyring.errors.KeyringLocked("locked")
    await secrets.forget("Lab")
    assert "may still be in the keyring" in secrets.problem
    assert secrets.known("Lab") == ""


# -- without a keyring -------------------------------------------------------------------------------------


async def test_without_a_keyring_a_private_file_keeps_the_keys(tmp_path: Path) -> None:
    secrets = without_keyring(tmp_path / "nearfield")
    assert await secrets.place() is Place.FILE
    assert await secrets.keep("Büro", KEY) is Place.FILE
    await secrets.keep("Lab", "other")
    assert secrets.problem == "", "that is how it is, no fault"
    assert stat.S_IMODE(secrets.path.stat().st_mode) == 0o600
    assert json.loads(secrets.path.read_text("utf-8")) == {"Büro": KEY, "Lab": "other"}
    again = without_keyring(tmp_path / "nearfield")
    assert await again.load("Büro") == KEY
    await again.forget("Lab")
    assert json.loads(secrets.path.read_text("utf-8")) == {"Büro": KEY}
    await again.forget("Büro")
    assert not secrets.path.exists()


async def test_a_file_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_text(json.dumps({"Lab": KEY}))
    path.chmod(0o644)
    assert await without_keyring(tmp_path).load("Lab") == KEY
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [f'{{"Lab": "{KEY}', "[1]", '{"Lab": 5}', "\xff"])
async def test_a_broken_file_is_told_and_kept_aside(
    tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / FILE_NAME
    path.write_text(content, encoding="latin-1")
    secrets = without_keyring(tmp_path)
    assert await secrets.load("Lab") == ""
    assert str(path) in secrets.problem
    assert KEY not in secrets.problem + caplog.text
    await secrets.keep("Lab", "new")
    assert path.with_name(f"{FILE_NAME}.broken-1").read_text(encoding="latin-1") == content
    assert await without_keyring(tmp_path).load("Lab") == "new"


async def test_a_file_that_cannot_be_written_is_told_and_the_key_is_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    secrets = without_keyring(tmp_path / "file")
    with pytest.raises(ConfigError, match="cannot be kept"):
        await secrets.keep("Lab", KEY)
    assert secrets.known("Lab") == KEY


# -- what nobody may see, and who is told ------------------------------------------------------------------


async def test_no_key_is_in_a_repr_or_a_log(
    tmp_path: Path, memory: MemoryKeyring, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secrets = with_keyring(tmp_path, memory)
    await secrets.keep("Lab", KEY)
    memory.failure = OSError("broken pipe")
    await secrets.keep("Lab", KEY + "2")
    assert KEY not in repr(secrets) + str(secrets) + caplog.text + secrets.problem


async def test_listeners_hear_of_a_key_that_changed(tmp_path: Path, memory: MemoryKeyring) -> None:
    secrets = with_keyring(tmp_path, memory)
    told: list[str] = []
    secrets.subscribe(lambda name: 1 / 0)  # type: ignore[arg-type, return-value]
    end = secrets.subscribe(told.append)
    await secrets.load("none")
    await secrets.keep("Lab", KEY)
    await secrets.keep("Lab", KEY)
    await secrets.forget("Lab")
    end()
    await secrets.keep("Lab", KEY)
    assert told == ["Lab", "Lab"]


# -- the library -------------------------------------------------------------------------------------------


class RealKeyring(keyring.backend.KeyringBackend):
    """Registered with the library, as those of the desktops are."""

    priority = 5  # type: ignore[assignment]
    name = "Real"

    def get_password(self, service: str, username: str) -> str | None:
        return None

    def set_password(self, service: str, username: str, password: str) -> None: ...

    def delete_password(self, service: str, username: str) -> None: ...


@pytest.fixture
def chosen() -> Iterator[None]:
    before = keyring_library.get_keyring()
    yield
    keyring_library.set_keyring(before)


@pytest.mark.usefixtures("chosen")
def test_a_dummy_of_the_library_is_no_keyring() -> None:
    for dummy in (keyring.backends.fail.Keyring(), keyring.backends.null.Keyring()):
        keyring_library.set_keyring(dummy)
        assert find_keyring() is None
    real = RealKeyring()
    keyring_library.set_keyring(real)
    assert find_keyring() == (real, "Real")
