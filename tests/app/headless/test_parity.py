"""``nearfield parity`` as a user types it, on a small decoder, with servers over real sockets."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.cli import main
from decoder.spec import CodecSpec
from decoder.streaming import load_decoder
from decoder.streaming.random_weights import random_checkpoint
from decoder.tape import Tape
from decoder.wire.packets import Codes
from decoder.wire.server import ServerTraits
from server.emulator import Emulator, Scenario, SyntheticTalker
from tests.decoder.streaming.conftest import SMALL
from tests.helpers.load_servers import TwoStageServer
from tests.helpers.own_loop import in_own_loop

TEXT = "Amber Bay."
SPEC = CodecSpec(codebook_size=SMALL.codebook_size)
FAST = Scenario(pace=0)
NARROW = 80

Parity = Callable[..., int]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_checkpoint(tmp_path_factory.mktemp("parity"), SMALL, seed=3)


@pytest.fixture
def parity(folder: Path) -> Parity:
    def run(*arguments: str) -> int:
        return main(["parity", "--checkpoint", str(folder), "--threads", "1", *arguments])

    return run


@pytest.fixture(autouse=True)
def _nothing_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", str(NARROW))


def emulator() -> Emulator:
    return Emulator(SyntheticTalker(SPEC), FAST)


def two_stage(folder: Path, **changes: Any) -> TwoStageServer:
    """A server that decodes what the emulator says, with the same weights."""
    decoder = load_decoder(folder, threads=1)

    def decode(codes: Codes) -> Any:
        return decoder.new_stream().decode(codes)

    return TwoStageServer(talker=SyntheticTalker(SPEC), decode=decode, **changes)


def test_random_codes_are_compared_in_tables_that_fit(
    parity: Parity, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parity("--frames", "14", "--seed", "4") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "codes: random, seed 4; 14 frames"
    text = "\n".join(lines)
    for part in (
        "ours, 1 frame at a time",
        "ours, 1, 12, 25 and 4 in turn",
        "reached",
        "0 to 1 s",
        "1 to 1.12 s",
    ):
        assert part in text
    assert all(len(line) <= NARROW for line in lines[2:])
    assert lines[-1] == "ours: at least 80 dB wanted, reached"


def test_a_threshold_that_is_missed_is_an_exit_code(
    parity: Parity, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parity("--frames", "5", "--threshold-db", "300") == 1
    assert "at least 300 dB wanted, missed" in capsys.readouterr().out


def test_json_is_one_object_and_the_picture_is_of_the_same_run(
    parity: Parity, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib", reason="the optional extra bench is not installed")
    assert parity("--frames", "5", "--json", "--plot", str(tmp_path / "parity.svg")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["servers"] is None
    assert found["decoder"]["has_passed"] is True
    assert found["decoder"]["frames"] == 5
    assert (tmp_path / "parity.svg").stat().st_size > 1000


def test_a_tape_is_decoded_by_the_decoder_that_it_is_for(
    parity: Parity, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    codes = SyntheticTalker(SPEC).codes(TEXT)
    Tape(TEXT, SPEC, codes).save(tmp_path / "good.npz")
    Tape(TEXT, CodecSpec(), codes).save(tmp_path / "other.npz")
    assert parity("--tape", str(tmp_path / "good.npz")) == 0
    assert f"{len(codes)} frames" in capsys.readouterr().out
    assert parity("--tape", str(tmp_path / "other.npz")) == 1
    assert "16 below 64: name with --checkpoint what it was recorded for" in capsys.readouterr().err
    assert parity("--tape", str(tmp_path / "none.npz")) == 1
    assert "is not a tape" in capsys.readouterr().err


def test_a_servers_codes_are_decoded(parity: Parity, capsys: pytest.CaptureFixture[str]) -> None:
    with in_own_loop(emulator()) as server:
        assert parity("--server", server.url, "--text", TEXT, "--seed", "9") == 0
        (utterance,) = server.utterances
    assert (utterance.text, utterance.config.seed) == (TEXT, 9)
    out = capsys.readouterr().out
    assert f"“{TEXT}” from {server.url}, seed 9" in out


def test_a_two_stage_server_is_compared_as_far_as_it_says_the_same(
    parity: Parity, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It sends no tokens: how far they agree shows in the sound, and is called no more than that."""
    with (
        in_own_loop(emulator()) as server,
        in_own_loop(two_stage(folder, other_from_frame=9).running()) as url,
    ):
        assert parity("--server", server.url, "--text", TEXT, "--two-stage", url, "--json") == 0
        servers = json.loads(capsys.readouterr().out)["servers"]
        assert servers["tokens"] is None
        assert servers["prefix_frames"] == 9
        assert servers["snr_db"] > 20
        assert servers["codes_s"] == servers["pcm_s"] == len(SyntheticTalker(SPEC).codes(TEXT)) * 0.08
        assert parity("--server", server.url, "--text", TEXT, "--two-stage", url, "--two-stage-db", "90") == 1
    out = capsys.readouterr().out
    assert "not known, the other sends none" in out
    assert "note: the other server sends no tokens" in out


def test_a_two_stage_server_that_can_also_send_tokens_is_compared_by_them(
    parity: Parity, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = two_stage(folder, traits=ServerTraits(), other_from_frame=9)
    with in_own_loop(emulator()) as server, in_own_loop(other.running()) as url:
        assert parity("--server", server.url, "--text", TEXT, "--two-stage", url) == 0
    out = capsys.readouterr().out
    count = len(SyntheticTalker(SPEC).codes(TEXT))
    assert f"the first 9 of {count} frames" in out
    assert "9 frames (0.72 s)" in out
    assert "the same samples" in out


def test_a_two_stage_server_that_wavers_shares_no_prefix_and_that_is_said(
    parity: Parity, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with in_own_loop(emulator()) as server, in_own_loop(two_stage(folder, wavers=True).running()) as url:
        assert parity("--server", server.url, "--text", TEXT, "--two-stage", url) == 0
        assert parity("--server", server.url, "--text", TEXT, "--two-stage", url, "--two-stage-db", "1") == 1
    out = capsys.readouterr().out
    assert "0 frames (0.00 s)" in out
    assert "differs from run to run" in out


def test_servers_that_cannot_be_used_are_told_in_a_line(
    parity: Parity, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parity("--server", "ws://127.0.0.1:9", "--text", TEXT) == 2
    assert "cannot reach" in capsys.readouterr().err
    with in_own_loop(Emulator(SyntheticTalker(SPEC), Scenario(pace=0, kind="stock"))) as server:
        assert parity("--server", server.url, "--text", TEXT) == 2
    error = capsys.readouterr().err
    assert "decodes itself and sends no codes" in error
    assert error.count("\n") == 1


def test_without_the_official_code_it_says_how_to_install_it(
    parity: Parity, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "qwen_tts"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert parity("--frames", "5") == 1
    assert "pip install --no-deps qwen-tts==0.1.1" in capsys.readouterr().err


def test_the_configured_checkpoint_is_taken_if_asked(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARFIELD_DECODER_CHECKPOINT", str(folder))
    assert main(["parity", "--configured", "--frames", "3", "--threads", "1"]) == 0
    assert f"weights: {folder}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ("--two-stage", "ws://x"),
        ("--server", "ws://x"),
        ("--two-stage-db", "20"),
        ("--configured",),
        ("--frames", "0"),
        ("--text", "a", "--tape", "b"),
    ],
)
def test_nonsense_is_refused(arguments: tuple[str, ...], parity: Parity) -> None:
    with pytest.raises(SystemExit) as end:
        parity(*arguments)
    assert end.value.code == 2


def test_codes_that_are_fetched_are_those_that_are_decoded(
    parity: Parity, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server that decodes exactly the emulator's codes agrees with them to the last frame."""
    with in_own_loop(emulator()) as server, in_own_loop(two_stage(folder).running()) as url:
        assert parity("--server", server.url, "--text", TEXT, "--two-stage", url, "--json") == 0
    servers = json.loads(capsys.readouterr().out)["servers"]
    assert servers["prefix_frames"] == len(SyntheticTalker(SPEC).codes(TEXT))
    assert np.isclose(servers["codes_s"], servers["pcm_s"])
    assert servers["snr_db"] > 60


@pytest.mark.slow
def test_full_size_reaches_what_small_sizes_do(capsys: pytest.CaptureFixture[str]) -> None:
    """The default of the command, a little shorter; the described scheme falls off where its window ends."""
    assert main(["parity", "--frames", "120", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["decoder"]
    assert found["weights"] == "random, full size"
    (scheme,) = (way for way in found["ways"] if not way["is_ours"])
    assert scheme["each_second_db"][4] > 80 > 40 > scheme["each_second_db"][8]
