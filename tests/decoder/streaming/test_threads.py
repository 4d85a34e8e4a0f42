"""Threads: never more than the CPUs of this process, and what the user says."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
import torch

from decoder.streaming import threads
from decoder.streaming.threads import choose_threads, prepare_decode_thread


@pytest.fixture
def cpus(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(threads, "usable_cpus", lambda: request.param)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


@pytest.mark.parametrize(("cpus", "expected"), [(1, 1), (2, 2), (4, 3), (8, 7), (64, 8)], indirect=["cpus"])
def test_the_choice_leaves_room(cpus: None, expected: int) -> None:
    """Of more than two CPUs one is left to the audio callback, and beyond eight threads none help."""
    assert choose_threads() == expected


@pytest.mark.parametrize("cpus", [4], indirect=True)
def test_a_small_decoder_takes_one_thread(cpus: None) -> None:
    """A second thread would wait for the first."""
    assert choose_threads(macs_per_frame=5e7) == 1


@pytest.mark.parametrize("cpus", [2], indirect=True)
def test_the_user_is_limited_by_the_cpus_only(cpus: None) -> None:
    """What is asked for is used, up to what there is; nonsense is refused."""
    assert (choose_threads(1), choose_threads(2), choose_threads(16)) == (1, 2, 2)
    with pytest.raises(ValueError, match="at least 1"):
        choose_threads(0)


@pytest.mark.parametrize("cpus", [4], indirect=True)
@pytest.mark.parametrize(("told", "expected"), [("2", 2), ("16", 4), ("2,1", 2), ("0", 3), ("x", 3), ("", 3)])
def test_omp_num_threads_is_respected(
    cpus: None, told: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As every OpenMP program reads it; what is no number is ignored."""
    monkeypatch.setenv("OMP_NUM_THREADS", told)
    assert choose_threads() == expected
    assert choose_threads(1) == 1


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no CPU affinity on this system")
def test_affinity_is_obeyed_in_a_fresh_process() -> None:
    """Pinned to one CPU, one thread decodes (CASES E1)."""
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from decoder.streaming.threads import choose_threads, prepare_decode_thread\n"
        "import torch; prepare_decode_thread(choose_threads(8)); print(torch.get_num_threads())"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "1"


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("OMP_WAIT_POLICY", None, "PASSIVE"),
        ("OMP_WAIT_POLICY", "ACTIVE", "ACTIVE"),
        ("THP_MEM_ALLOC_ENABLE", None, "1"),
        ("THP_MEM_ALLOC_ENABLE", "0", "0"),
    ],
)
def test_torch_is_set_up_unless_the_user_says_otherwise(name: str, before: str | None, after: str) -> None:
    """Spinning threads fight the thread that they wait for; weights are read faster from large pages."""
    environment = {key: value for key, value in os.environ.items() if key != name}
    if before is not None:
        environment[name] = before
    code = f"import os, decoder.streaming; print(os.environ[{name!r}])"
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == after


def test_another_threads_number_does_not_replace_the_own() -> None:
    """torch sets a thread up when it is first asked there, with whatever any thread was given last."""
    before = torch.get_num_threads()
    prepared, disturbed = threading.Event(), threading.Event()
    seen = []

    def decode_thread() -> None:
        prepare_decode_thread(2)
        prepared.set()
        disturbed.wait(10)
        seen.append(torch.get_num_threads())

    thread = threading.Thread(target=decode_thread)
    thread.start()
    try:
        assert prepared.wait(10)
        torch.set_num_threads(1)
        disturbed.set()
        thread.join()
    finally:
        torch.set_num_threads(before)
    assert seen == [2]


def test_preparing_concerns_the_calling_thread_only() -> None:
    """Denormals become zero in the decode thread, and stay what they are elsewhere."""
    small = torch.tensor([1e-39])
    seen = []

    def decode_thread() -> None:
        prepare_decode_thread(1)
        seen.append((torch.get_num_threads(), (small * 0.5).item()))

    thread = threading.Thread(target=decode_thread)
    thread.start()
    thread.join()
    flushed = torch.set_flush_denormal(False)  # tells whether this CPU can at all
    assert seen[0][0] == 1
    assert seen[0][1] == (0.0 if flushed else pytest.approx(5e-40))
    assert (small * 0.5).item() > 0
