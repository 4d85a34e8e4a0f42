"""The choice by measurement: what may be chosen, what is kept, what is measured anew."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from decoder.streaming import backend, tune
from decoder.streaming.backend import Backend, ModulesBackend
from decoder.streaming.config import CodecConfig
from decoder.streaming.machine import Machine
from decoder.streaming.precision import HALF, Precision
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.random_weights import random_decoder
from decoder.streaming.tune import Choice, Trial, choose, measure, pick, thread_counts


class Clock:
    """Moves only when a backend of these tests takes a step."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Pretend:
    """Decodes exactly, takes a given time on a given clock, and may spoil the samples."""

    def __init__(
        self,
        decoder: Qwen3TTSTokenizerV2Decoder,
        clock: Clock,
        name: str,
        step_s: float,
        spoil: Callable[[torch.Tensor], torch.Tensor] = lambda pcm: pcm,
    ) -> None:
        self.name = name
        self._exact = ModulesBackend(decoder)
        self._clock = clock
        self._step_s = step_s
        self._spoil = spoil

    def new_state(self) -> Any:
        return self._exact.new_state()

    def step(self, codes: torch.Tensor, state: Any) -> torch.Tensor:
        self._clock.now_s += self._step_s
        return self._spoil(self._exact.step(codes, state))


Maker = Callable[[], Backend]


def slightly_off(pcm: torch.Tensor) -> torch.Tensor:
    return pcm * 1.01


def far_off(pcm: torch.Tensor) -> torch.Tensor:
    return pcm * 1.1


def broken(pcm: torch.Tensor) -> torch.Tensor:
    return pcm * math.nan


def refuses(pcm: torch.Tensor) -> torch.Tensor:
    raise RuntimeError("could not create a primitive")


@pytest.mark.parametrize(
    ("step_s", "spoil", "expected"),
    [
        (0.05, slightly_off, "fast"),  # 40 dB, twice as fast
        (0.05, far_off, "exact"),  # 20 dB
        (0.05, broken, "exact"),
        (0.05, refuses, "exact"),
        (0.09, slightly_off, "fast"),  # just a tenth
        (0.095, slightly_off, "exact"),
    ],
)
def test_float32_gives_way_to_what_is_faster_and_close(
    small_decoder: Qwen3TTSTokenizerV2Decoder,
    step_s: float,
    spoil: Callable[[torch.Tensor], torch.Tensor],
    expected: str,
) -> None:
    clock = Clock()
    makers: dict[str, Maker] = {
        "exact": lambda: Pretend(small_decoder, clock, "exact", 0.1),
        "fast": lambda: Pretend(small_decoder, clock, "fast", step_s, spoil),
    }
    choice = measure(small_decoder, makers, [1], clock=clock)
    assert choice.backend == expected
    assert [trial.backend for trial in choice.trials] == ["exact", "fast"]


def test_time_is_limited(small_decoder: Qwen3TTSTokenizerV2Decoder) -> None:
    """The default is always tried; no other trial starts after three seconds."""
    clock = Clock()
    makers: dict[str, Maker] = {
        "exact": lambda: Pretend(small_decoder, clock, "exact", 0.5),
        "fast": lambda: Pretend(small_decoder, clock, "fast", 0.3),
        "faster": lambda: Pretend(small_decoder, clock, "faster", 0.1),
    }
    choice = measure(small_decoder, makers, [1, 2], clock=clock)
    assert [trial.backend for trial in choice.trials] == ["exact", "fast"]
    assert choice.backend == "fast"


def test_threads_are_chosen_for_the_winner_and_left_as_they_were(
    small_decoder: Qwen3TTSTokenizerV2Decoder,
) -> None:
    clock = Clock()
    before = torch.get_num_threads()
    used: list[int] = []

    class Silent(Pretend):
        def step(self, codes: torch.Tensor, state: Any) -> torch.Tensor:
            clock.now_s += self._step_s
            return torch.zeros(len(codes))

    def maker() -> Backend:
        used.append(torch.get_num_threads())
        return Silent(small_decoder, clock, "exact", 0.1 / torch.get_num_threads())

    choice = measure(small_decoder, {"exact": maker}, [1, 2], clock=clock)
    assert used == [1, 2]
    assert choice.threads == 2
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("milliseconds", "expected"), [((100, 91, 92), 0), ((100, 80, 75), 2), ((100, 75, 80), 1), ((100,), 0)]
)
def test_the_default_stays_unless_something_is_clearly_faster(
    milliseconds: tuple[float, ...], expected: int
) -> None:
    trials = [Trial(f"b{i}", 1, ms, math.inf) for i, ms in enumerate(milliseconds)]
    assert pick(trials).backend == f"b{expected}"


@pytest.mark.parametrize(("milliseconds", "expected"), [(46, 2), (44, 1)])
def test_other_threads_have_to_be_clearly_faster_as_well(milliseconds: float, expected: int) -> None:
    trials = [Trial("exact", 2, 100, math.inf), Trial("fast", 2, 50, 40), Trial("fast", 1, milliseconds, 40)]
    choice = pick(trials)
    assert (choice.backend, choice.threads) == ("fast", expected)


@pytest.mark.parametrize(
    ("cpus", "default", "expected"),
    [(1, 1, [1]), (2, 2, [2, 1]), (2, 1, [1, 2]), (4, 3, [3, 4]), (8, 7, [7, 8, 3])],
)
def test_few_numbers_of_threads_are_tried(
    cpus: int, default: int, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tune, "usable_cpus", lambda: cpus)
    assert thread_counts(default) == expected


@pytest.mark.parametrize("precision", [HALF, None])
def test_what_this_machine_has_is_tried_and_what_is_never_faster_is_not(
    precision: Precision | None, small_decoder: Qwen3TTSTokenizerV2Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instructions for bfloat16 or not: halved weights pay without, and what is in ``fast`` was measured."""
    monkeypatch.setattr(backend, "reduced_precision", lambda: precision)
    assert list(tune.offered(small_decoder)) == ["exact", "fast"][: 1 if precision is None else 2]


@pytest.mark.parametrize(("told", "expected"), [("1", [1]), ("", [2, 4])])
def test_a_number_of_threads_that_was_told_is_the_only_one(
    told: str,
    expected: list[int],
    small_decoder: Qwen3TTSTokenizerV2Decoder,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", told)
    monkeypatch.setattr(tune, "thread_counts", lambda _: [2, 4])
    tried: list[list[int]] = []

    def pretend(decoder: object, makers: object, counts: list[int]) -> Choice:
        tried.append(counts)
        return Choice("exact", counts[0])

    monkeypatch.setattr(tune, "measure", pretend)
    choose(small_decoder, cache=tmp_path / "tuning.json")
    assert tried == [expected]


def test_threads_are_not_tried_where_another_device_decodes(
    small_config: CodecConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(tune, "thread_counts", lambda default: [default, 4])
    decoder = random_decoder(small_config, seed=0)
    assert len(tune.counts_to_try(decoder, None)) == 2
    assert len(tune.counts_to_try(decoder.to("meta"), None)) == 1


# -- what is kept ------------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "tuning.json"


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Measurements that were made, which are pretended."""
    made: list[str] = []

    def pretend(decoder: object, makers: object, counts: list[int]) -> Choice:
        made.append("measured")
        return Choice("exact", counts[0], (Trial("exact", counts[0], 1.0, math.inf),))

    monkeypatch.setattr(tune, "measure", pretend)
    return made


def test_it_is_measured_once(
    small_decoder: Qwen3TTSTokenizerV2Decoder, cache: Path, measured: list[str]
) -> None:
    first = choose(small_decoder, cache=cache)
    assert choose(small_decoder, cache=cache) == first
    assert len(measured) == 1
    assert choose(small_decoder, cache=cache, redo=True) == first
    assert len(measured) == 2
    assert [path.name for path in cache.parent.iterdir()] == ["tuning.json"]


def test_another_machine_version_shape_or_thread_count_is_measured_anew(
    small_decoder: Qwen3TTSTokenizerV2Decoder,
    demo_folder: Path,
    cache: Path,
    measured: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from decoder.streaming.checkpoint import load_checkpoint

    demo = load_checkpoint(demo_folder)
    choose(small_decoder, cache=cache)
    choose(small_decoder, cache=cache, threads=1)
    choose(demo, cache=cache)
    with monkeypatch.context() as patch:
        patch.setattr(tune, "version", lambda _: "99")
        choose(small_decoder, cache=cache)
    with monkeypatch.context() as patch:
        patch.setattr(tune, "_GENERATION", 99)
        choose(small_decoder, cache=cache)
    with monkeypatch.context() as patch:
        patch.setattr(torch, "__version__", "99")
        choose(small_decoder, cache=cache)
    other = Machine("another", (), 1, "Linux")
    with monkeypatch.context() as patch:
        patch.setattr(tune, "this_machine", lambda: other)
        choose(small_decoder, cache=cache)
    assert len(measured) == len(json.loads(cache.read_text())) == 7
    choose(small_decoder, cache=cache)
    assert len(measured) == 7


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", '{"KEY": {}}', '{"KEY": {"backend": "exact", "threads": 0, "trials": []}}'],
)
def test_a_broken_cache_is_redone(
    content: str, small_decoder: Qwen3TTSTokenizerV2Decoder, cache: Path, measured: list[str]
) -> None:
    choose(small_decoder, cache=cache)
    key = next(iter(json.loads(cache.read_text())))
    cache.write_text(content.replace("KEY", key))
    choose(small_decoder, cache=cache)
    assert len(measured) == 2
    choose(small_decoder, cache=cache)
    assert len(measured) == 2


def test_a_cache_that_cannot_be_written_is_no_error(
    small_decoder: Qwen3TTSTokenizerV2Decoder, tmp_path: Path, measured: list[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    choose(small_decoder, cache=tmp_path / "file" / "tuning.json")
    choose(small_decoder, cache=tmp_path / "file" / "tuning.json")
    assert len(measured) == 2


def test_the_users_cache_is_the_default(
    small_decoder: Qwen3TTSTokenizerV2Decoder,
    measured: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(tune.platformdirs, "user_cache_path", lambda *_, **__: tmp_path)
    assert choose(small_decoder, threads=1).backend == "exact"
    assert (tmp_path / "tuning.json").is_file()


def test_for_real(small_decoder: Qwen3TTSTokenizerV2Decoder, cache: Path) -> None:
    """Whatever this machine offers: the choice is one of it, and its numbers can be printed."""
    choice = choose(small_decoder, threads=1, cache=cache)
    assert choice.backend in tune.offered(small_decoder)
    assert choice.trials[0].backend == "exact"
    json.dumps(tune.as_dict(choice), allow_nan=False)
    assert choose(small_decoder, threads=1, cache=cache) == choice
