"""The scenario as a value and as command-line options."""

from __future__ import annotations

import argparse

import pytest

from server.emulator.scenario import Scenario, add_scenario_arguments, scenario_from


def parsed(*argv: str) -> Scenario:
    parser = argparse.ArgumentParser()
    add_scenario_arguments(parser)
    return scenario_from(parser.parse_args(argv))


def test_no_option_is_the_default_scenario() -> None:
    assert parsed() == Scenario()


def test_every_kind_of_field_has_its_option() -> None:
    argv = (
        "--kind stock --pace 0 --packet-frames-max 40 --cut-at-frame 3 --cut-code 1012 --drop-packets 2 5 "
        "--announce codebook_size=4096 --announce decoder_id=other --bad-code -1 --endless"
    )
    assert parsed(*argv.split()) == Scenario(
        kind="stock",
        pace=0.0,
        packet_frames_max=40,
        cut_at_frame=3,
        cut_code=1012,
        drop_packets=(2, 5),
        announce={"codebook_size": 4096, "decoder_id": "other"},
        bad_code=-1,
        endless=True,
    )


@pytest.mark.parametrize("argv", ["--kind odd", "--pace fast", "--announce codebooks", "--no-such-option"])
def test_what_cannot_be_parsed_ends_the_program(argv: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parsed(*argv.split())
    assert caught.value.code == 2
    assert "error" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"kind": "odd"}, "known are codec, stock"),
        ({"eos": "never"}, "known are own, last, none"),
        ({"pace": -1.0}, "pace is -1.0, it cannot be negative"),
        ({"pace": float("nan")}, "pace is nan"),
        ({"drop_packets": (1, -1)}, "drop_packets"),
        ({"packet_frames": 0}, "packets have 1..65535 frames"),
        ({"packet_frames": 5, "packet_frames_max": 4}, "not 5..4"),
        ({"packet_frames": 70_000}, "1..65535"),
        ({"bad_code": 40_000}, "int16"),
        ({"bad_code_codebook": 16}, "there are 16"),
        ({"cut_code": 1004}, "cut_code is 1004"),
        ({"handshake_status": 200}, "expected 400..599"),
        ({"announce": {"colour": 1}}, "codec.start has no colour; it has version, "),
    ],
)
def test_a_value_out_of_range_is_named(values: dict, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Scenario(**values)


def test_a_healthy_server_keeps_its_kind_and_loses_its_faults() -> None:
    scenario = Scenario(kind="stock", pace=3, packet_frames=4, max_frames=0, announce={"version": 2})
    assert scenario.healthy() == Scenario(kind="stock", pace=3, packet_frames=4)
