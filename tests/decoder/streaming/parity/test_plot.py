"""The picture of the SNR over time."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from decoder.errors import BenchError
from decoder.streaming.parity.agreement import Agreement
from decoder.streaming.parity.plot import plot
from decoder.streaming.parity.report import ParityReport, ServersReport, Way

REPORT = ParityReport(
    codes="random",
    frames=30,
    weights="small",
    versions="torch",
    threads=1,
    backend="exact",
    threshold_db=80.0,
    ways=[
        Way("ours, 1 frame at a time", True, 95.0, (95.0, 96.0, math.inf)),
        Way("official, 25 new frames with 72 old", False, 30.0, (math.inf, 30.0, -math.inf)),
    ],
)
SERVERS = ServersReport(
    text="Hello",
    seed=1,
    codes_s=2.4,
    pcm_s=2.4,
    codes_repeat=Agreement(30, 30, 30, 30, 1.0),
    pcm_repeats=True,
    tokens=None,
    prefix_frames=30,
    shift_samples=0,
    snr_db=28.0,
    each_second_db=(30.0, 26.0, 28.0),
    each_frame_db=(30.0, math.inf, 28.0, -math.inf),
    notes=(),
)


@pytest.mark.parametrize("servers", [None, SERVERS, replace(SERVERS, each_frame_db=(), snr_db=None)])
def test_it_is_drawn_with_what_is_infinite(servers: ServersReport | None, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the optional extra bench is not installed")
    plot(REPORT, servers, tmp_path / "parity.png")
    assert (tmp_path / "parity.png").read_bytes().startswith(b"\x89PNG")


def test_a_file_that_cannot_be_written_is_an_error_in_words(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the optional extra bench is not installed")
    with pytest.raises(BenchError, match="cannot be written"):
        plot(REPORT, None, tmp_path / "no" / "parity.png")


def test_the_sound_is_as_long_as_its_frames() -> None:
    """Three seconds, of which the last is shorter: its point is drawn where the sound ends."""
    assert REPORT.sound_s == pytest.approx(2.4)
    assert len(REPORT.ways[0].each_second_db) == math.ceil(REPORT.sound_s)


def test_plain_values_have_nothing_infinite() -> None:
    assert REPORT.to_dict()["ways"][1]["each_second_db"] == [None, 30.0, None]
    assert REPORT.to_dict()["has_passed"] is True
    assert SERVERS.to_dict()["codes_repeat"]["prefix_frames"] == 30
