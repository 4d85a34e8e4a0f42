"""Where the frozen programs begin. Nothing may be imported before ``freeze_support``."""

import multiprocessing

multiprocessing.freeze_support()

import runpy  # noqa: E402
import sys  # noqa: E402

# Measurements that a crash must not take along start this program anew, as ``python -m`` would.
OWN_PROCESSES = ("app.headless.doctor.speed", "decoder.streaming.bench.footprint")

if sys.argv[1:2] == ["-m"] and sys.argv[2:3] and sys.argv[2] in OWN_PROCESSES:
    name = sys.argv[2]
    del sys.argv[1:3]
    runpy.run_module(name, run_name="__main__", alter_sys=True)
else:
    from app.cli import entry

    entry()
