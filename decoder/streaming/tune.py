"""Choice by measurement: which backend and how many threads decode fastest here, and are still right.

Takes some seconds at full size, once: the choice is kept in the user's cache folder for this CPU, these
versions and this checkpoint's shape. Only ``precision: auto`` asks for it, and ``nearfield bench --tune``
redoes it.

Float32 is the default and has to be beaten by a tenth. What computes otherwise must also stay within 35 dB of
it, measured here. What it consists of was measured before (``backend.reduced_precision``): types that this
CPU has no instructions for, which would be many times slower, are not part of it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import platformdirs
import torch
from torch import Tensor

from decoder.streaming.backend import Backend, backends
from decoder.streaming.cost import macs_per_frame
from decoder.streaming.machine import Machine, this_machine, usable_cpus
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.snr import snr_db
from decoder.streaming.threads import choose_threads, told_threads

logger = logging.getLogger(__name__)

SNR_FLOOR_DB = 35.0
"""Against float32; less is audible beside it."""
GAIN = 0.9
"""What replaces the default may take at most this share of its time."""
BUDGET_S = 3.0
"""Of steps, for all trials; making each backend's weights, which a load has to do anyway, comes on top. The
default is always tried."""

_GENERATION = 2
"""Of what the names stand for: raise it when one changes so much that an earlier choice may be wrong."""
_DEFAULT = "exact"
_UNTUNED = frozenset({"modules"})
"""Never faster, so never tried."""
_STEP_FRAMES = 4
_TIMED_STEPS = 3
_NOT_HALVED = (1, 3)
"""Of other numbers half as many threads are tried, too: two CPUs may be one core with two threads."""


@dataclass(frozen=True)
class Trial:
    """What was measured of one way to decode."""

    backend: str
    threads: int
    step_ms: float
    """The fastest of a few steps of 4 frames; infinite if it failed."""
    snr_db: float
    """Of the same samples against the default's; infinite for the default's own."""


@dataclass(frozen=True)
class Choice:
    """What to decode with, and why."""

    backend: str
    threads: int
    trials: tuple[Trial, ...] = ()
    """In the order they were made."""


def choose(
    decoder: Qwen3TTSTokenizerV2Decoder,
    *,
    threads: int | None = None,
    redo: bool = False,
    cache: Path | None = None,
) -> Choice:
    """Return what to decode with: from the cache, or measured now and kept there.

    Args:
        decoder: on the device that will decode.
        threads: fixed; None chooses them as well, unless ``OMP_NUM_THREADS`` does.
        redo: measure whatever the cache says.
        cache: the file; None takes the user's.

    """
    path = cache or default_cache()
    machine = this_machine()
    key = _key(decoder, machine, threads)
    if not redo and (known := _read(path).get(key)) is not None:
        return known
    choice = measure(decoder, offered(decoder), counts_to_try(decoder, threads))
    _write(path, key, choice)
    logger.info("decoding with %s on %d threads, by measurement", choice.backend, choice.threads)
    return choice


def default_cache() -> Path:
    """Return the user's cache file."""
    return platformdirs.user_cache_path("nearfield", appauthor=False) / "tuning.json"


def offered(decoder: Qwen3TTSTokenizerV2Decoder) -> dict[str, Callable[[], Backend]]:
    """Return what is worth a trial."""
    return {name: make for name, make in backends(decoder).items() if name not in _UNTUNED}


def counts_to_try(decoder: Qwen3TTSTokenizerV2Decoder, threads: int | None) -> list[int]:
    """Return one number where it is fixed, or decides nothing because another device decodes."""
    default = choose_threads(threads, macs_per_frame=macs_per_frame(decoder))
    fixed = threads or told_threads() or decoder.pre_conv.conv.weight.device.type != "cpu"
    return [default] if fixed else thread_counts(default)


def thread_counts(default: int) -> list[int]:
    """Return the numbers of threads to try, the default first."""
    cpus = usable_cpus()
    half = default if default in _NOT_HALVED else default // 2
    return list(dict.fromkeys(n for n in (default, cpus, half) if n <= cpus))


def measure(
    decoder: Qwen3TTSTokenizerV2Decoder,
    makers: Mapping[str, Callable[[], Backend]],
    counts: Sequence[int],
    *,
    clock: Callable[[], float] = time.perf_counter,
) -> Choice:
    """Try the default, each other one in turn with it, then the winner on other numbers of threads.

    Two backends are in memory at a time: what else the machine does meets both alike when their steps
    alternate. No new trial starts when the time is up.

    Raises:
        RuntimeError: not even the default can decode here.

    """
    left_s = BUDGET_S
    codes = _codes(decoder)
    before = torch.get_num_threads()

    def race(*contenders: Backend) -> list[tuple[float, Tensor]]:
        nonlocal left_s
        start = clock()
        results = _race(contenders, codes, clock)
        left_s -= clock() - start
        return results

    try:
        torch.set_num_threads(counts[0])
        default = makers[_DEFAULT]()
        ((best_s, reference),) = race(default)
        rivals: list[Trial] = []
        for name in makers:
            if name == _DEFAULT or left_s <= 0:
                continue
            try:
                (again_s, _), (rival_s, pcm) = race(default, makers[name]())
            except RuntimeError as error:
                logger.warning("%s cannot decode here: %s", name, error)
                rivals.append(Trial(name, counts[0], math.inf, -math.inf))
                continue
            best_s = min(best_s, again_s)
            rivals.append(Trial(name, counts[0], rival_s * 1e3, snr_db(reference, pcm)))
        del default
        trials = [Trial(_DEFAULT, counts[0], best_s * 1e3, math.inf), *rivals]
        for threads in counts[1:]:
            if left_s > 0:
                torch.set_num_threads(threads)
                name = pick(trials).backend
                ((seconds, pcm),) = race(makers[name]())
                trials.append(Trial(name, threads, seconds * 1e3, snr_db(reference, pcm)))
    finally:
        torch.set_num_threads(before)
    return pick(trials)


def pick(trials: Sequence[Trial]) -> Choice:
    """Choose: the first trial is the default; what replaces it is clearly faster, and close enough.

    Another number of threads has to be clearly faster than the first one for the same backend, too.
    """
    default = trials[0]
    fit = [trial for trial in trials[1:] if trial.snr_db >= SNR_FLOOR_DB]
    best = default
    for trial in fit:
        clearly = best is default or trial.backend == best.backend
        rival_ms = best.step_ms * GAIN if clearly else best.step_ms
        if trial.step_ms <= rival_ms:
            best = trial
    return Choice(best.backend, best.threads, tuple(trials))


def as_dict(choice: Choice) -> dict[str, Any]:
    """Return a choice as plain values for JSON; what is infinite becomes None."""
    values = asdict(choice)
    for trial in values["trials"]:
        trial.update({key: None for key, value in trial.items() if value in (math.inf, -math.inf)})
    return values


def _codes(decoder: Qwen3TTSTokenizerV2Decoder) -> list[Tensor]:
    random = torch.Generator().manual_seed(0)
    shape = (_STEP_FRAMES, decoder.config.num_quantizers)
    size = decoder.config.codebook_size
    return [torch.randint(size, shape, generator=random) for _ in range(1 + _TIMED_STEPS)]


def _race(
    contenders: Sequence[Backend], codes: Sequence[Tensor], clock: Callable[[], float]
) -> list[tuple[float, Tensor]]:
    """Let them decode the same, step by step in turn.

    Returns for each the seconds of its fastest step after the first, and the samples of all.
    """
    states = [backend.new_state() for backend in contenders]
    times: list[list[float]] = [[] for _ in contenders]
    pieces: list[list[Tensor]] = [[] for _ in contenders]
    for piece in codes:
        for number, backend in enumerate(contenders):
            start = clock()
            pieces[number].append(backend.step(piece, states[number]).cpu())
            times[number].append(clock() - start)
    return [(min(of[1:]), torch.cat(samples)) for of, samples in zip(times, pieces, strict=True)]


def _key(decoder: Qwen3TTSTokenizerV2Decoder, machine: Machine, threads: int | None) -> str:
    """Digest everything that the choice depends on."""
    try:
        program = version("nearfield")
    except PackageNotFoundError:
        program = "unknown"
    device = decoder.pre_conv.conv.weight.device
    facts = [
        asdict(machine),
        torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        torch.__version__,
        program,
        _GENERATION,
        asdict(decoder.config),
        threads or told_threads(),
    ]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _read(path: Path) -> dict[str, Choice]:
    """Return the choices of the cache; none of a file that is missing or broken, which is then redone."""
    try:
        data = json.loads(path.read_text("utf-8"))
        return {key: _choice(value) for key, value in data.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        logger.info("%s is measured anew (%s)", path, error)
        return {}


def _choice(value: Any) -> Choice:
    choice = Choice(value["backend"], value["threads"], tuple(Trial(**trial) for trial in value["trials"]))
    if not isinstance(choice.backend, str) or not isinstance(choice.threads, int) or choice.threads < 1:
        raise ValueError("not a choice")
    return choice


def _write(path: Path, key: str, choice: Choice) -> None:
    """Add a choice; a new file takes the old one's place whole. What cannot be written is not kept."""
    choices = {**_read(path), key: choice}
    text = json.dumps({key: asdict(value) for key, value in choices.items()}, indent=1)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, part = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            Path(part).replace(path)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise
    except OSError as error:
        logger.info("the choice is not kept: %s", error)
