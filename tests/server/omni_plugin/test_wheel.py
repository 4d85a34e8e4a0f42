"""The plug-in as it is installed beside a vLLM-Omni: one wheel, numpy, and nothing of the client."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.omni_rig import PLUGIN, omni_server
from tests.helpers.omni_server.scene import true_frames
from tests.server.omni_plugin.talk import TEXT, say

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]

SCRIPT = """
import json, sys
sys.path[:0] = sys.argv[1:]
before = set(sys.modules)
from importlib.metadata import entry_points
(point,) = entry_points(group="vllm.general_plugins")
register = point.load()
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
import logging
logging.basicConfig(format="%(message)s", stream=sys.stderr)
register()
register()
from decoder.spec import CodecSpec
from decoder.wire.packets import unpack
from decoder.wire.server import ServerSession
session = ServerSession(CodecSpec())
session.receive_text('{"type": "session.config", "output_mode": "codec_tokens"}', 0.0)
session.receive_text('{"type": "input.text", "text": "Hello."}', 0.0)
(asked,) = session.receive_text('{"type": "input.done"}', 0.0)
session.start_unit(asked.text)
session.send_frames([[5] * 16])
start, packet = session.data_to_send()
print(json.dumps({
    "name": point.name,
    "value": point.value,
    "loaded": sorted(loaded & {"torch", "vllm", "vllm_omni", "numpy", "app"}),
    "files": [sys.modules[name].__file__ for name in ("nearfield_omni", "decoder.wire.server")],
    "frames": unpack(packet, 16).codes.tolist(),
}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built without an index or a network."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [*PIP, "wheel", "--no-index", "--no-deps", "--no-build-isolation", "-w", str(folder), str(PLUGIN)]
    subprocess.run(build, check=True, capture_output=True, timeout=120)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    install = [*PIP, "install", "--no-index", "--no-deps", "--target", str(folder), str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=120)
    return folder


def test_it_asks_for_the_releases_it_is_for_and_for_nothing_of_the_client(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith("METADATA"))
        about = Parser().parsestr(archive.read(metadata).decode())
    assert about.get_all("Requires-Dist") == [
        "numpy>=1.26",
        "vllm-omni<0.31,>=0.30",
        "vllm<0.31,>=0.30",
    ]
    assert about["License-Expression"] == "Apache-2.0"
    top = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    assert top == {"nearfield_omni", "decoder"}
    inside = {name for name in names if name.startswith("decoder/") and name.count("/") > 1}
    assert {name.split("/")[1] for name in inside} == {"wire"}
    assert "nearfield_omni/LICENSE" in names


def test_it_loads_and_speaks_the_wire_with_numpy_alone(installed: Path, tmp_path: Path) -> None:
    """Without vLLM-Omni it says so in one line, however often it is called, and raises nothing."""
    numpy_only = tmp_path / "libraries"
    numpy_only.mkdir()
    packages = Path(np.__file__).parents[1]
    for name in ("numpy", "numpy.libs"):
        if (packages / name).exists():
            (numpy_only / name).symlink_to(packages / name)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", SCRIPT, str(installed), str(numpy_only)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == ["nearfield-omni does nothing: vllm-omni is not installed"]
    told = json.loads(done.stdout)
    assert (told["name"], told["value"]) == ("nearfield_omni", "nearfield_omni:register")
    assert told["loaded"] == []
    assert all(file.startswith(str(installed)) for file in told["files"])
    assert told["frames"] == [[5] * 16]


async def test_the_installed_wheel_serves_through_its_entry_point(installed: Path) -> None:
    with omni_server(plugin=installed, talker_only=True) as server:
        heard = await say(server, seed=9)
        expected = true_frames(server.scene, TEXT, voice="vivian", seed=9)
    np.testing.assert_array_equal(heard.codes, expected)
