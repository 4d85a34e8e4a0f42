"""Each in a fresh process: in this one torch is loaded already."""

from __future__ import annotations

import subprocess
import sys

TICKS = """
import gc, sys, threading, time
from decoder.streaming.preload import import_torch

longest_s, last_s = 0.0, time.perf_counter()
thread = threading.Thread(target=import_torch)
thread.start()
while thread.is_alive():
    time.sleep(0.01)
    now_s = time.perf_counter()
    longest_s, last_s = max(longest_s, now_s - last_s), now_s
assert "torch" in sys.modules
assert gc.isenabled()
assert gc.get_freeze_count() > 10_000
print(longest_s)
"""


def run(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_other_threads_go_on_while_torch_is_imported() -> None:
    """E5: against a plain import, each the best of three in turn, for other programs may be busy."""
    plain = TICKS.replace("target=import_torch", "target=lambda: __import__('torch')").replace(
        "assert gc.get_freeze_count() > 10_000\n", ""
    )
    gaps_s = [(float(run(TICKS)), float(run(plain))) for _ in range(3)]
    assert min(ours for ours, _ in gaps_s) < min(theirs for _, theirs in gaps_s) / 2, gaps_s


def test_a_head_start_changes_nothing_but_the_time() -> None:
    code = (
        "from decoder.streaming.preload import import_torch, open_libraries\n"
        "open_libraries(); open_libraries()\n"
        "import sys; assert 'torch' not in sys.modules\n"
        "import_torch(); import_torch()\n"
        "import torch; print(int(torch.ones(3).sum()))\n"
    )
    assert run(code).strip() == "3"


def test_the_door_of_the_decoder_uses_it_and_keeps_what_the_collector_was_set_to() -> None:
    code = (
        "import gc; gc.disable()\n"
        "from decoder.streaming import load_decoder\n"
        "assert not gc.isenabled(); print(gc.get_freeze_count() > 10_000)\n"
    )
    assert run(code).strip() == "True"
