from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.gui.instance import Instance, Place, Request, claim, hand_over, place

_OTHER = """
import sys
from pathlib import Path
from app.gui.instance import Request, claim, hand_over, place
where = place()
assert where is not None
assert claim(where) is None, "the place was free"
print(hand_over(where, Request(sys.argv[1], text=sys.argv[2], token="t")))
"""

_CRASHES = """
import os
from PySide6.QtCore import QCoreApplication
from app.gui.instance import Instance, claim, place
app = QCoreApplication([])
where = place()
lock = claim(where)
assert lock is not None
instance = Instance(where)
assert instance.is_listening
os._exit(9)
"""


@pytest.fixture(autouse=True)
def own_runtime_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def here() -> Place:
    where = place()
    assert where is not None
    return where


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_second_process_hands_its_request_to_the_first(qtbot: QtBot) -> None:
    where = here()
    lock = claim(where)
    assert lock is not None
    instance = Instance(where)
    asked: list[Request] = []
    instance.serve(asked.append)
    other = start(_OTHER, Request.SPEAK, "Grüße, 世界\nsecond line")
    qtbot.waitUntil(lambda: other.poll() is not None, timeout=20_000)
    out, err = other.communicate()
    assert out.strip() == "True", err
    assert asked == [Request(Request.SPEAK, "Grüße, 世界\nsecond line", "t")]
    instance.close()
    lock.unlock()


def test_what_is_asked_too_early_is_done_later(qtbot: QtBot) -> None:
    where = here()
    lock = claim(where)
    instance = Instance(where)
    other = start(_OTHER, Request.RAISE, "")
    qtbot.waitUntil(lambda: other.poll() is not None, timeout=20_000)
    other.communicate()
    asked: list[Request] = []
    instance.serve(asked.append)
    assert [request.do for request in asked] == [Request.RAISE]
    instance.close()
    assert lock is not None
    lock.unlock()


def test_what_a_crash_left_is_no_window(qtbot: QtBot) -> None:
    crashed = start(_CRASHES)
    _, err = crashed.communicate(timeout=20)
    assert crashed.returncode == 9, err
    where = here()
    assert Path(where.socket).exists()
    assert not hand_over(where, Request(Request.RAISE))
    lock = claim(where)
    assert lock is not None
    instance = Instance(where)
    assert instance.is_listening
    instance.close()
    lock.unlock()


def test_without_a_window_nobody_is_waited_for() -> None:
    started_s = time.perf_counter()
    assert not hand_over(here(), Request(Request.SPEAK_CLIPBOARD))
    assert time.perf_counter() - started_s < 1


def test_only_the_user_can_reach_the_socket() -> None:
    where = here()
    instance = Instance(where)
    assert Path(where.socket).stat().st_mode & 0o077 == 0
    assert Path(where.socket).parent.stat().st_mode & 0o077 == 0
    instance.close()
    assert not Path(where.socket).exists()


def test_a_folder_that_others_may_write_in_is_not_trusted(own_runtime_folder: Path) -> None:
    folder = own_runtime_folder / "nearfield"
    folder.mkdir()
    folder.chmod(0o777)
    assert place() is None


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_a_link_in_the_place_of_the_folder_is_not_followed(own_runtime_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (own_runtime_folder / "nearfield").symlink_to(tmp_path / "elsewhere")
    assert place() is None


def test_another_configuration_is_another_window(tmp_path: Path) -> None:
    assert place(tmp_path / "a.yaml") != place(tmp_path / "b.yaml") != place()


@pytest.mark.parametrize("line", [b"", b"\n", b"{}", b"[1]", b'{"do": "format"}', b"\xff\n", b'{"do": 1}'])
def test_what_is_no_request_is_none(line: bytes) -> None:
    assert Request.parse(line) is None


def test_a_request_survives_its_way() -> None:
    for request in (Request(Request.RAISE, token="x"), Request(Request.SPEAK, 'a "b"\n\u2028')):
        assert Request.parse(request.line()) == request
        assert request.line().count(b"\n") == 1
