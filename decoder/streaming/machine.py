"""What this machine is, as far as it decides how fast a decoder can be. Needs no torch."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")

_FLAGS = (
    # x86
    "avx2",
    "fma",
    "avx512f",
    "avx512_bf16",
    "avx512_vnni",
    "avx_vnni",
    "amx_tile",
    "amx_bf16",
    "amx_int8",
    # Arm
    "asimd",
    "asimddp",
    "bf16",
    "i8mm",
    "sve",
)
"""As Linux spells them; the others say nothing about the arithmetic here."""

_BF16_FLAGS = frozenset({"avx512_bf16", "amx_bf16", "bf16"})


@dataclass(frozen=True)
class Machine:
    """A CPU, as one process sees it."""

    cpu: str
    """Model name, or the architecture's if nothing better is told."""
    flags: tuple[str, ...]
    """Instruction sets that matter here."""
    cpus: int
    """That this process may run on."""
    system: str
    """Operating system and architecture."""

    @property
    def has_bf16(self) -> bool:
        """Whether products of bfloat16 are instructions; else they are many times slower than float32."""
        return not _BF16_FLAGS.isdisjoint(self.flags)

    def describe(self) -> str:
        """Return it in one line."""
        cores = "1 CPU" if self.cpus == 1 else f"{self.cpus} CPUs"
        return f"{self.cpu}, {cores} usable, {' '.join(self.flags) or 'no known flags'}, {self.system}"


def this_machine() -> Machine:
    """Look at the machine that this runs on."""
    try:
        text = _CPUINFO.read_text("utf-8", errors="replace")
    except OSError:
        text = ""
    model, flags = parse_cpuinfo(text)
    return Machine(
        cpu=model or platform.processor() or platform.machine() or "unknown CPU",
        flags=flags,
        cpus=usable_cpus(),
        system=f"{platform.system()} {platform.machine()}",
    )


def parse_cpuinfo(text: str) -> tuple[str, tuple[str, ...]]:
    """Take the model name (may be empty) and the flags that matter from Linux's ``/proc/cpuinfo``."""
    model = ""
    present: set[str] = set()
    for line in text.splitlines():
        key, _, value = line.partition(":")
        match key.strip():
            case "model name" | "Model" | "Hardware" if not model:
                model = " ".join(value.split())
            case "flags" | "Features" if not present:
                present = set(value.split())
    return model, tuple(flag for flag in _FLAGS if flag in present)


def usable_cpus() -> int:
    """Return the CPUs that this process may run on (``taskset`` and cpusets count, quotas do not)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
