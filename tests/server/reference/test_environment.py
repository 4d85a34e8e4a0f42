"""The environment of the reference talker: one set of versions, wherever they are named."""

from __future__ import annotations

import re
from importlib.metadata import requires

import pytest

from decoder.streaming.bench.official import INSTALL as BENCH_INSTALL
from server.reference.official import INSTALL
from tests.helpers.reference_rig import ROOT

FOLDER = ROOT / "server" / "reference"


@pytest.mark.parametrize("package", ["qwen-tts", "transformers"])
def test_a_version_is_the_same_wherever_it_is_named(package: str) -> None:
    files = [FOLDER / "requirements.txt", FOLDER / "README.md", ROOT / "pyproject.toml",
             ROOT / "packaging" / "bootstrap.sh", ROOT / "server" / "README.md"]  # fmt: skip
    texts = [*(path.read_text("utf-8") for path in files), INSTALL, BENCH_INSTALL]
    named = {version for text in texts for version in re.findall(rf"{package}==([\d.]+\d)", text)}
    assert len(named) == 1


def test_what_qwen_tts_pins_is_pinned_alike() -> None:
    ours = (FOLDER / "requirements.txt").read_text("utf-8").splitlines()
    theirs = [line for line in requires("qwen-tts") or [] if "==" in line]
    assert theirs
    assert not set(theirs) - set(ours)
