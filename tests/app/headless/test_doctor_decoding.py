"""Whether a checkpoint is whole, and what a speed means."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import assets
from app.config import DecoderConfig
from app.headless.doctor import decoding
from app.headless.doctor.decoding import check_checkpoint, check_speed, judged_speed, spec_of
from app.headless.doctor.finding import Finding, Verdict
from decoder.spec import CodecSpec
from decoder.wire.events import Mode

FRAME_S = CodecSpec().frame_s


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """Return a folder with a copy of the demo's checkpoint, to be spoilt."""
    found = assets.folder("demo_voice") / "speech_tokenizer"
    return Path(shutil.copytree(found, tmp_path / "checkpoint"))


def at(folder: Path, mode: Mode = Mode.CODEC) -> Finding:
    return check_checkpoint(DecoderConfig(checkpoint=str(folder)), mode)


def test_a_whole_checkpoint(demo: Path) -> None:
    found = at(demo)
    assert found.verdict is Verdict.OK
    assert found.summary.startswith("whole: 214 tensors")
    assert found.facts["codebooks"] == 16


def test_a_truncated_one_names_the_tensor_and_the_next_step(demo: Path) -> None:
    """Found by its table of contents, without reading half a gigabyte."""
    weights = demo / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    found = at(demo)
    assert found.verdict is Verdict.PROBLEM
    assert "truncated: tensor" in found.summary
    assert str(weights) in found.summary
    assert found.advice


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"version https://git-lfs", "git lfs pull"), (b"<html>", "HTML"), (b"", "empty")],
)
def test_what_is_no_checkpoint_is_told_as_what_it_is(demo: Path, content: bytes, said: str) -> None:
    (demo / "model.safetensors").write_bytes(content)
    assert said in at(demo).summary


def test_a_checkpoint_of_something_else(demo: Path) -> None:
    (demo / "config.json").write_text("{}")
    assert at(demo).verdict is Verdict.PROBLEM


def test_none_at_all_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    found = check_checkpoint(DecoderConfig(checkpoint="nobody/has-this"), Mode.UNKNOWN)
    assert found.verdict is Verdict.PROBLEM
    assert "nearfield fetch nobody/has-this" in found.summary


def test_a_server_that_decodes_needs_none(tmp_path: Path) -> None:
    found = at(tmp_path, Mode.PCM)
    assert found.verdict is Verdict.WARNING
    assert "needs none" in found.summary


def test_the_codec_is_the_checkpoints_own(demo: Path, tmp_path: Path) -> None:
    assert spec_of(DecoderConfig(checkpoint=str(demo))).codebook_size == 1024
    assert spec_of(DecoderConfig(checkpoint=str(tmp_path / "nothing"))) == CodecSpec()


def judged(
    rtf_1: float,
    rtf_12: float,
    decoder: DecoderConfig | None = None,
    mode: Mode = Mode.CODEC,
    *,
    is_own: bool = True,
) -> Finding:
    found: dict[str, float | int | str] = {
        "step_1_s": rtf_1 * FRAME_S,
        "step_12_s": rtf_12 * 12 * FRAME_S,
        "device": "cpu",
        "threads": 2,
        "backend": "exact",
    }
    return judged_speed(found, decoder or DecoderConfig(), mode, is_own=is_own)


@pytest.mark.parametrize(
    ("rtf_1", "rtf_12", "verdict", "said"),
    [
        (0.6, 0.3, Verdict.OK, "faster than real time: RTF 0.60 a frame at a time, 0.30 in steps of 12"),
        (1.3, 0.6, Verdict.OK, "faster than real time"),
        (1.3, 0.8, Verdict.WARNING, "close to real time"),
        (2.0, 1.1, Verdict.PROBLEM, "slower than real time"),
    ],
)
def test_what_keeps_up_is_decided_by_long_steps(
    rtf_1: float, rtf_12: float, verdict: Verdict, said: str
) -> None:
    """Single frames may be slower than real time: the decoder takes longer steps by itself then."""
    found = judged(rtf_1, rtf_12)
    assert found.verdict is verdict
    assert said in found.summary
    assert bool(found.advice) == (verdict is not Verdict.OK)
    assert found.facts["rtf_12"] == rtf_12


def test_a_decoder_that_is_not_needed_may_be_slow() -> None:
    assert judged(2.0, 1.1, mode=Mode.PCM).verdict is Verdict.WARNING


def test_the_demos_decoder_says_little() -> None:
    found = judged(0.1, 0.05, is_own=False)
    assert found.verdict is Verdict.WARNING
    assert "the real one is slower" in found.summary
    assert "nearfield fetch" in found.advice


def test_a_device_that_is_not_there_is_never_silent() -> None:
    """E7: with the speed of what is there instead."""
    found = judged(0.6, 0.3, DecoderConfig(device="cuda"))
    assert found.verdict is Verdict.WARNING
    assert "cuda was asked for and is not there" in found.summary
    assert judged(2.0, 1.5, DecoderConfig(device="cuda")).verdict is Verdict.PROBLEM


def test_ways_to_speed_are_only_those_that_are_left() -> None:
    assert "auto" in judged(2.0, 1.1).advice
    assert "auto" not in judged(2.0, 1.1, DecoderConfig(precision="fast")).advice
    assert "decoder.threads" in judged(2.0, 1.1, DecoderConfig(threads=1)).advice


def test_the_demos_decoder_is_measured_here(demo: Path) -> None:
    """In a process of its own, with the real decoder."""
    found = check_speed(DecoderConfig(checkpoint=str(demo), threads=1), Mode.CODEC)
    assert found.facts["threads"] == 1
    assert found.facts["backend"] == "exact"
    rtf = found.facts["rtf_12"]
    assert isinstance(rtf, float)
    assert 0.0 < rtf < 5.0


def test_it_is_this_program_that_is_measured_wherever_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many a project has a folder of the name ``app``."""
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").write_text("raise ImportError('not this one')")
    monkeypatch.chdir(tmp_path)
    assert (
        "rtf_1" in check_speed(DecoderConfig(checkpoint=str(assets.folder("demo_voice"))), Mode.CODEC).facts
    )


def test_a_decoder_that_cannot_be_loaded_is_a_finding(demo: Path) -> None:
    weights = demo / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    found = check_speed(DecoderConfig(checkpoint=str(demo)), Mode.CODEC)
    assert found.verdict is Verdict.PROBLEM
    assert "truncated" in found.summary


@pytest.mark.parametrize(
    ("code", "said", "summary", "advice"),
    [
        (-4, "", "signal 4", "a torch that is made for this machine"),
        (1, "Traceback\nOSError: no space", "OSError: no space", ""),
        (1, "", "no message", ""),
    ],
)
def test_a_crash_is_a_finding(code: int, said: str, summary: str, advice: str) -> None:
    """torch on a CPU that is too old for it ends its process."""
    found = decoding.crashed(code, said)
    assert found.verdict is Verdict.PROBLEM
    assert summary in found.summary
    assert advice in found.advice
