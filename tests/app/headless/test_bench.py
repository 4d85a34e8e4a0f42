"""``nearfield bench`` as a user types it, on a small decoder."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from app.cli import main
from app.headless.bench import _ALSO
from decoder.streaming import tune
from decoder.streaming.bench import peak, run
from decoder.streaming.bench.report import Footprint
from decoder.streaming.config import CodecConfig
from decoder.streaming.random_weights import random_checkpoint

TINY = CodecConfig(
    codebook_size=16,
    codebook_dim=16,
    latent_dim=16,
    hidden_size=16,
    intermediate_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    num_key_value_heads=2,
    head_dim=8,
    decoder_dim=32,
    upsample_rates=(4, 3),
    upsampling_ratios=(2,),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_checkpoint(tmp_path_factory.mktemp("bench"), TINY, seed=3)


@pytest.fixture
def bench(folder: Path) -> Callable[..., int]:
    """The command, one round on one thread."""

    def run_bench(*arguments: str) -> int:
        return main(["bench", "--checkpoint", str(folder), "--threads", "1", "--rounds", "1", *arguments])

    return run_bench


@pytest.fixture(autouse=True)
def _small_and_nothing_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(tune, "default_cache", lambda: tmp_path / "tuning.json")
    monkeypatch.setattr(peak, "_SHAPES", ((32, 64),))
    monkeypatch.setattr(run, "footprint", lambda *_, **__: Footprint(1.0, 0.5, 2.0, 900_000_000, None))


def test_tables_begin_with_the_machine(bench: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("--streams", "2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "usable" in lines[0]
    text = "\n".join(lines)
    for part in (
        "25 frames",
        "convolution peak",
        "SNR",
        "resident 0.90 GB, peak unknown",
        "2 streams side by side",
        "reached",
    ):
        assert part in text
    assert len(max(lines[4:], key=len)) <= 140


def test_the_process_that_is_measured_loads_what_a_kiosk_does() -> None:
    for name in _ALSO:
        assert importlib.util.find_spec(name) is not None


def test_json_is_one_object(
    bench: Callable[..., int], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The picture is drawn from the same run."""
    pytest.importorskip("matplotlib", reason="the optional extra bench is not installed")
    assert bench("--json", "--plot", str(tmp_path / "bench.svg")) == 0
    report = json.loads(capsys.readouterr().out)
    assert [row["frames"] for row in report["backends"][0]["steps"]] == [1, 2, 4, 12, 25]
    assert report["backends"][0]["footprint"]["load_s"] > 0
    assert report["threads"] == 1
    assert {goal["name"] for goal in report["goals"]} >= {"exact: load, file in the page cache"}
    assert (tmp_path / "bench.svg").stat().st_size > 1000


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_tuning_is_redone_and_printed(
    arguments: tuple[str, ...],
    bench: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    assert bench("--tune", *arguments) == 0
    out = capsys.readouterr().out
    if arguments:
        assert json.loads(out)["trials"][0]["backend"] == "exact"
    else:
        assert "chosen for decoder.precision: auto:" in out
    assert (tmp_path / "tuning.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--backend", "abacus"), "cannot decode with 'abacus'"),
        (("--plot", "picture.gif"), "ends with .png or .svg"),
        (("--precision", "low"), "decoder.precision"),
        (("--decoder-device", "toaster"), "decoder.device"),
        pytest.param(
            ("--decoder-device", "cuda", "--tune"),
            "no CUDA device here",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is one"),
        ),
    ],
)
def test_what_cannot_be_measured_is_said_in_a_line(
    arguments: tuple[str, ...],
    message: str,
    bench: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert bench(*arguments) != 0
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("arguments", [("--rounds", "0"), ("--streams", "x"), ("--against", "nobody")])
def test_nonsense_is_refused(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["bench", *arguments])
    assert end.value.code == 2
