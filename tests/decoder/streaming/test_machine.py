"""What a machine is, from what Linux says of it."""

from __future__ import annotations

import os

import pytest

from decoder.streaming.machine import Machine, parse_cpuinfo, this_machine, usable_cpus

X86 = """processor\t: 0
model name\t: Some  CPU @ 2.60GHz
flags\t\t: fpu sse avx2 fma avx512f avx512_bf16 avx512_vnni erms

processor\t: 1
model name\t: Some  CPU @ 2.60GHz
flags\t\t: fpu sse avx2 fma avx512f avx512_bf16 avx512_vnni erms
"""
ARM = """processor\t: 0
BogoMIPS\t: 62.50
Features\t: fp asimd asimddp sve
CPU implementer\t: 0x41

Model\t\t: Some Board
"""
OLD = "processor: 0\nmodel name: Old CPU\nflags: fpu sse sse2 avx2 fma\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (X86, ("Some CPU @ 2.60GHz", ("avx2", "fma", "avx512f", "avx512_bf16", "avx512_vnni"))),
        (ARM, ("Some Board", ("asimd", "asimddp", "sve"))),
        (OLD, ("Old CPU", ("avx2", "fma"))),
        ("", ("", ())),
        ("no colon\n: no key\n", ("", ())),
    ],
)
def test_model_and_flags_are_read(text: str, expected: tuple[str, tuple[str, ...]]) -> None:
    assert parse_cpuinfo(text) == expected


@pytest.mark.parametrize(("text", "bf16"), [(X86, True), (ARM, False), (OLD, False)])
def test_reduced_arithmetic_needs_instructions(text: str, bf16: bool) -> None:
    assert Machine(*parse_cpuinfo(text), cpus=2, system="Linux").has_bf16 == bf16


def test_it_is_described_in_a_line() -> None:
    assert Machine("CPU", ("avx2",), 2, "Linux x86_64").describe() == "CPU, 2 CPUs usable, avx2, Linux x86_64"
    assert "1 CPU usable, no known flags" in Machine("CPU", (), 1, "Linux").describe()


def test_this_one_has_a_name() -> None:
    machine = this_machine()
    assert machine.cpu
    assert machine.cpus == usable_cpus() >= 1
    assert machine.describe().count("\n") == 0


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no CPU affinity on this system")
def test_only_usable_cpus_count() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert usable_cpus() == 1
    finally:
        os.sched_setaffinity(0, before)
