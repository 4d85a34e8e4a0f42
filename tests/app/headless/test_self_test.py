from __future__ import annotations

import json

import numpy as np
import pytest

import assets
from app.headless import self_test


def test_everything_works_where_everything_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    """F1: imports torch, decodes, writes and reads a WAV, prints OK."""
    assert self_test.run(as_json=False) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "self-test: OK"
    assert [line[:8] for line in lines[:-1]] == ["ok      "] * 7


def test_a_window_that_does_not_load_is_one_failure_among_the_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert self_test.run(as_json=True, why_no_qt=lambda: "libEGL is missing") == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["passed"]
    assert [t["test"] for t in found["tests"] if not t["passed"]] == ["window"]
    assert "libEGL is missing" in found["tests"][-1]["text"]


@pytest.mark.parametrize("precision", sorted(self_test.LEAST_DB))
def test_a_decoder_that_sounds_otherwise_is_found(precision: str) -> None:
    pcm = np.load(assets.folder("self_test", self_test.SOUND))["pcm"]
    with pytest.raises(ValueError, match="dB are needed"):
        self_test.decode(precision, {"pcm": np.roll(pcm, 1)})
    with pytest.raises(ValueError, match="samples instead of"):
        self_test.decode(precision, {"pcm": pcm[:-1]})
