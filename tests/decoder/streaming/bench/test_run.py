"""The whole bench on a small decoder, a round or two; nothing here says how fast it is."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from decoder.errors import BenchError, CheckpointError
from decoder.streaming.backend import ModulesBackend
from decoder.streaming.bench import goals, run
from decoder.streaming.bench.checks import drift, stepped
from decoder.streaming.bench.footprint import footprint
from decoder.streaming.bench.official import official_forward
from decoder.streaming.bench.peak import find_peak
from decoder.streaming.bench.report import BenchReport
from decoder.streaming.bench.run import STREAM_STEP_FRAMES, BenchRequest, bench
from decoder.streaming.bench.subject import CodeSource, checkpoint_folder
from decoder.streaming.config import CodecConfig
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.random_weights import random_checkpoint
from decoder.streaming.snr import snr_db
from decoder.streaming.tune import Choice
from tests.decoder.streaming.measure import PARITY_DB


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, small_config: CodecConfig) -> Path:
    config = replace(small_config, upsample_rates=(4, 3), upsampling_ratios=(2,))
    return random_checkpoint(tmp_path_factory.mktemp("bench"), config, seed=3)


@pytest.fixture(autouse=True)
def small_convolutions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "find_peak", lambda dtype, device: find_peak(dtype, device, shrink=32))


def measured(folder: Path, **changes: object) -> BenchReport:
    settings: dict[str, object] = {"rounds": 1, "threads": 1, "footprint": False, **changes}
    return bench(BenchRequest(checkpoint=str(folder), **settings))  # type: ignore[arg-type]


def test_steps_are_measured_and_exact(folder: Path) -> None:
    told: list[str] = []
    request = BenchRequest(str(folder), threads=1, rounds=2, step_frames=(1, 12), footprint=False)
    report = bench(request, told.append)
    (exact,) = report.backends
    assert exact.name == "exact"
    assert exact.snr_db >= PARITY_DB
    assert [(row.frames, row.samples) for row in exact.steps] == [(1, 8), (12, 2)]
    assert all(0 < row.median_ms <= row.p95_ms < math.inf for row in exact.steps)
    assert exact.state_bytes > 0
    assert report.conv_peak_gflop_per_s["float32"] > 0
    assert report.threads == 1
    assert "round 2 of 2 done" in told
    json.dumps(report.to_dict(), allow_nan=False)


def test_threads_and_denormals_are_left_as_they_were(folder: Path) -> None:
    before = torch.get_num_threads()
    measured(folder, step_frames=(1,))
    assert torch.get_num_threads() == before
    assert (torch.tensor([1e-39]) * 0.5).item() > 0


def test_backends_are_named(folder: Path) -> None:
    report = measured(folder, step_frames=(1,), backends=("modules", "exact"))
    assert [backend.name for backend in report.backends] == ["modules", "exact"]
    with pytest.raises(BenchError, match="cannot decode with 'abacus'; it can with modules, exact"):
        measured(folder, backends=("abacus",))


def test_auto_is_measured_beside_exact(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On as many threads as were chosen with it."""
    monkeypatch.setattr(run, "choose", lambda decoder, threads: Choice("modules", threads or 2))
    report = measured(folder, step_frames=(1,), precision="auto", threads=None)
    assert [backend.name for backend in report.backends] == ["exact", "modules"]
    assert report.threads == 2


def test_the_official_code_is_compared_with(folder: Path) -> None:
    """In the same run: its one frame, its whole forward, and the described scheme."""
    report = measured(folder, official=True)
    assert [(row.name, row.new_frames) for row in report.official] == [
        (goals.OFFICIAL_ONE, 1),
        (goals.OFFICIAL_WHOLE, 125),
        (goals.DESCRIBED, 25),
    ]
    names = [goal.name for goal in report.goals]
    assert "exact: 1-frame step ÷ official 1-frame forward" in names
    assert "exact: 25-frame steps ÷ described scheme" in names


def test_the_official_code_computes_the_same(
    small_decoder: Qwen3TTSTokenizerV2Decoder, random: torch.Generator
) -> None:
    """What is compared with has our weights."""
    codes = torch.randint(small_decoder.config.codebook_size, (20, 16), generator=random)
    with torch.inference_mode():
        ours = small_decoder(codes)
    assert snr_db(ours, official_forward(small_decoder)(codes)) >= PARITY_DB


def test_without_the_official_code_it_says_how_to_install_it(
    small_decoder: Qwen3TTSTokenizerV2Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    for name in [name for name in sys.modules if name.partition(".")[0] == "qwen_tts"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BenchError, match=r"pip install --no-deps qwen-tts==0\.1\.1"):
        official_forward(small_decoder)


def test_many_streams(folder: Path) -> None:
    """In turn, and those that align together."""
    report = measured(folder, step_frames=(1,), streams=3)
    assert [(row.name, row.frames) for row in report.streams] == [
        (name, frames)
        for name in ("exact, in turn", "float32, all in one step")
        for frames in STREAM_STEP_FRAMES
    ]
    assert all(row.streams == 3 and row.real_time_streams > 0 for row in report.streams)


def test_a_process_of_its_own_tells_its_load_and_memory(folder: Path) -> None:
    found = footprint(folder, backend="modules", threads=1, also=("decoder.tape",))
    assert 0 < found.load_s < 60
    assert found.import_s > 0
    assert found.warm_up_s > 0
    assert found.resident_bytes is None or found.resident_bytes > 1 << 24


def test_a_process_that_fails_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"failed.*no_such_module"):
        footprint(tmp_path, backend="exact", threads=1, also=("no_such_module",))


def test_late_steps_are_held_against_early_ones(small_decoder: Qwen3TTSTokenizerV2Decoder) -> None:
    backend = ModulesBackend(small_decoder)
    assert 0 < drift(backend, CodeSource(small_decoder), late_frames=30, early_frames=2, rounds=1) < 100


def test_steps_of_changing_lengths_cover_everything(
    small_decoder: Qwen3TTSTokenizerV2Decoder, random: torch.Generator
) -> None:
    codes = torch.randint(small_decoder.config.codebook_size, (31, 16), generator=random)
    assert stepped(ModulesBackend(small_decoder), codes).shape == (31 * 1920,)


def test_codes_are_the_same_in_every_run(small_decoder: Qwen3TTSTokenizerV2Decoder) -> None:
    first, second = CodeSource(small_decoder), CodeSource(small_decoder)
    assert torch.equal(first.take(5), second.take(5))
    assert not torch.equal(first.take(5), first.take(5))


def test_a_checkpoint_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError), checkpoint_folder(str(tmp_path)):
        pass
