"""The decoder: whether its checkpoint is whole, and how fast this machine decodes with it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import assets
from app.config import DecoderConfig
from app.headless.doctor.finding import Fact, Finding, Verdict
from decoder.errors import CheckpointError
from decoder.spec import CodecSpec
from decoder.streaming.config import CodecConfig
from decoder.streaming.header import read_header
from decoder.streaming.location import CONFIG_NAME, WEIGHTS_NAME, find_checkpoint
from decoder.wire.events import Mode

CHECKPOINT = "checkpoint"
SPEED = "decoder"
CHECKPOINT_LIMIT_S = 30.0
"""A folder may be on a network drive."""
SPEED_LIMIT_S = 180.0
"""Importing torch and loading half a gigabyte takes a minute on a slow card."""
CLOSE_TO_REAL_TIME = 0.7
"""Above this RTF there is little left for anything else that the machine does."""
DEMO = "demo_voice"
_HOME = Path(assets.__file__).resolve().parents[1]
"""Where this program's packages are: Python looks first where a module is started, and many a project that
somebody stands in has a folder of the name ``app``."""


def check_checkpoint(decoder: DecoderConfig, mode: Mode) -> Finding:
    """Find the checkpoint and compare its table of contents with its size; no weight is read.

    A server that decodes itself, in ``mode``, needs none.
    """
    is_needed = mode is not Mode.PCM
    try:
        folder = find_checkpoint(decoder.checkpoint)
        return _intact(folder)
    except CheckpointError as error:
        verdict = Verdict.PROBLEM if is_needed else Verdict.WARNING
        text = str(error) if is_needed else f"{error}; the server decodes itself and needs none"
        advice = (
            "set decoder.checkpoint to a whole one, or use a server that decodes itself" if is_needed else ""
        )
        return Finding(CHECKPOINT, verdict, text, advice, {"checkpoint": decoder.checkpoint})


def _intact(folder: Path) -> Finding:
    path = folder / WEIGHTS_NAME
    spec = CodecConfig.from_file(folder / CONFIG_NAME).spec
    try:
        header = read_header(path)
        size_bytes = path.stat().st_size
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: {error}") from error
    ours = sum(1 for name in header.tensors if name.startswith("decoder."))
    facts: dict[str, Fact] = {
        "folder": str(folder),
        "bytes": size_bytes,
        "tensors": len(header.tensors),
        "of the decoder": ours,
        "codebooks": spec.codebooks,
        "sample_rate_hz": spec.sample_rate_hz,
    }
    if not ours:
        raise CheckpointError(f"{path} has no tensor of a decoder in it")
    text = f"whole: {ours} tensors, {size_bytes / 1e6:.0f} MB, {spec.sample_rate_hz} Hz, in {folder}"
    return Finding(CHECKPOINT, Verdict.OK, text, facts=facts)


def spec_of(decoder: DecoderConfig) -> CodecSpec:
    """Return the codec of the checkpoint, or the published ones' if there is none to ask."""
    try:
        return CodecConfig.from_file(find_checkpoint(decoder.checkpoint) / CONFIG_NAME).spec
    except CheckpointError:
        return CodecSpec()


def check_speed(decoder: DecoderConfig, mode: Mode) -> Finding:
    """Decode for a moment in a process of its own: what crashes there does not take the doctor along."""
    try:
        folder, is_own = find_checkpoint(decoder.checkpoint), True
    except CheckpointError:
        folder, is_own = assets.folder(DEMO), False
    command = [
        *(sys.executable, "-m", "app.headless.doctor.speed", str(folder.resolve())),
        *(decoder.device, str(decoder.threads), decoder.precision),
    ]
    try:
        done = subprocess.run(  # noqa: S603  # this very program
            command, cwd=_HOME, capture_output=True, text=True, timeout=SPEED_LIMIT_S - 5.0, check=False
        )
    except subprocess.TimeoutExpired:
        text = f"the decoder was not ready after {SPEED_LIMIT_S - 5.0:.0f} s"
        return Finding(
            SPEED, Verdict.PROBLEM, text, "a smaller machine needs a server that decodes itself (PCM)"
        )
    if done.returncode:
        return crashed(done.returncode, done.stderr)
    return judged_speed(json.loads(done.stdout), decoder, mode, is_own=is_own)


def crashed(code: int, said: str) -> Finding:
    """Say why the measurement ended with ``code``, having ``said`` something; below 0 it was a signal."""
    last = said.strip().splitlines()[-1:] or ["no message"]
    # Below zero it was a signal: torch has instructions that this CPU does not.
    reason = f"signal {-code}" if code < 0 else last[0]
    advice = "install a torch that is made for this machine: README, What it depends on" if code < 0 else ""
    return Finding(SPEED, Verdict.PROBLEM, f"the decoder does not run here: {reason}", advice)


def judged_speed(
    found: dict[str, float | int | str], decoder: DecoderConfig, mode: Mode, *, is_own: bool
) -> Finding:
    """Judge a step of 1 and of 12 frames against real time; ``found`` is what `speed` prints."""
    frame_s = CodecSpec().frame_s
    short, long = (float(found[f"step_{frames}_s"]) / (frames * frame_s) for frames in (1, 12))
    facts: dict[str, Fact] = {**found, "rtf_1": round(short, 4), "rtf_12": round(long, 4)}
    what = f"RTF {short:.2f} a frame at a time, {long:.2f} in steps of 12"
    where = f"{found['device']}, {found['threads']} thread{'s' * (found['threads'] != 1)}, {found['backend']}"
    text = f"{what} ({where})"
    if not is_own:
        text += "; measured with the demo's small decoder, the real one is slower"
        return Finding(SPEED, Verdict.WARNING, text, f"nearfield fetch {decoder.checkpoint}", facts)
    if not str(found["device"]).startswith(decoder.device):
        text = f"{decoder.device} was asked for and is not there; {text}"
        advice = "install a torch with CUDA and the driver, or set decoder.device: cpu"
        return Finding(SPEED, Verdict.WARNING if long < 1.0 else Verdict.PROBLEM, text, advice, facts)
    faster = "; ".join(_ways_to_speed(decoder))
    if long >= 1.0 and mode is not Mode.PCM:
        return Finding(SPEED, Verdict.PROBLEM, f"slower than real time: {text}", faster, facts)
    if long >= CLOSE_TO_REAL_TIME:
        return Finding(SPEED, Verdict.WARNING, f"close to real time: {text}", faster, facts)
    return Finding(SPEED, Verdict.OK, f"faster than real time: {text}", facts=facts)


def _ways_to_speed(decoder: DecoderConfig) -> Sequence[str]:
    ways = ["end what else computes here"]
    if decoder.precision == "exact":
        ways.append("try decoder.precision: auto")
    if decoder.threads:
        ways.append("leave decoder.threads to the measurement (0)")
    return [*ways, "or let the server decode (PCM)"]
