"""The commands that the documents of the servers print can be given as they stand."""

from __future__ import annotations

import re
import shlex
from argparse import ArgumentParser
from pathlib import Path

import pytest

from app import cli
from server.deploy import is_serving
from server.emulator import __main__ as emulator
from server.reference import __main__ as reference

ROOT = Path(__file__).parents[2]
README = ROOT / "server" / "README.md"
DOCUMENTS = sorted((ROOT / "server").glob("**/*.md"))
DEPLOY = ROOT / "server" / "deploy"
PROGRAMS: dict[str, ArgumentParser] = {
    "server.emulator": emulator._parser(),
    "server.reference": reference._parser(),
}


def commands(path: Path) -> list[list[str]]:
    """Return the commands of every ``sh`` block, as words, without what is set for them."""
    found = []
    for block in re.findall(r"^```sh\n(.*?)^```", path.read_text("utf-8"), re.DOTALL | re.MULTILINE):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                del words[0]
            if words:
                found.append(words)
    return found


def arguments(words: list[str]) -> list[str]:
    """Return the words up to where the shell takes over."""
    ends = [number for number, word in enumerate(words) if word in ("|", ">", "&&", "&", ";", "2>&1")]
    return words[: ends[0]] if ends else words


ALL = [(path, words) for path in DOCUMENTS for words in commands(path)]


def test_there_is_something_to_check() -> None:
    first = [words[0] for path, words in ALL if path == README]
    assert first.count("nearfield") > 8
    assert "python" in first


@pytest.mark.parametrize(
    "words", [words for _, words in ALL if words[0] in ("nearfield", ".venv/bin/nearfield")], ids=" ".join
)
def test_nearfield_knows_every_option_that_is_printed(words: list[str]) -> None:
    parser = cli._parser()
    options = cli._parse(parser, arguments(words)[1:])
    assert callable(options.run)


@pytest.mark.parametrize("words", [words for _, words in ALL if "-m" in words[:3]], ids=" ".join)
def test_programs_know_every_option_that_is_printed(words: list[str]) -> None:
    module = words[words.index("-m") + 1]
    if module == "venv":
        return
    PROGRAMS[module].parse_args(arguments(words)[words.index("-m") + 2 :])


@pytest.mark.parametrize(
    "words",
    [words for _, words in ALL if any(word.endswith("is_serving.py") for word in words)],
    ids=" ".join,
)
def test_the_health_check_is_asked_what_it_knows(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """To its end, which is that nobody listens at a port where nobody can."""
    assert is_serving.main([*words[2:], "--port", "1", "--limit-s", "0.2"]) == 1
    assert "not serving" in capsys.readouterr().out


def test_files_that_are_printed_are_there() -> None:
    for path, words in ALL:
        for word in words:
            name = word.removeprefix("./")
            if name.startswith(("server/", "assets/", "packaging/", "tests/")):
                assert (ROOT / name).exists(), f"{path}: {word}"


@pytest.mark.parametrize("name", ["qwen3_tts_talker_only.yaml", "qwen3_tts_two_stage.yaml"])
def test_a_deploy_file_prints_the_command_of_the_readme(name: str) -> None:
    comment = re.sub(r"^#\s?", "", (DEPLOY / name).read_text("utf-8"), flags=re.MULTILINE)
    (own,) = re.findall(r"^ *(vllm serve (?:.*\\\n)*.*)$", comment, re.MULTILINE)
    serving = [words for _, words in ALL if words[0].endswith("/vllm") and f"server/deploy/{name}" in words]
    assert [words[1:] for words in serving] == [shlex.split(own.replace("\\\n", " "))[1:]]


def test_the_capacity_page_counts_bytes_as_the_wire_has_them() -> None:
    from decoder.spec import CodecSpec
    from decoder.wire.packets import HEADER_BYTES

    spec = CodecSpec()
    tcp_bytes, tls_bytes = 20 + 32, 22
    rows = re.findall(
        r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| (\d+) ms \|$",
        (DEPLOY / "CAPACITY.md").read_text("utf-8"),
        re.MULTILINE,
    )
    assert len(rows) == 5
    for frames, rate, *rest in rows:
        packet = HEADER_BYTES + int(frames) * spec.frame_bytes
        packet += 2 if packet < 126 else 4
        packets = spec.frame_rate_hz / int(frames)
        per_second = [packets * (packet + below) for below in (0, tcp_bytes, tcp_bytes + tls_bytes)]
        wait_ms = (int(frames) - 1) * spec.frame_s * 1000
        assert float(rate) == packets
        assert rest == [*(f"{value:.1f}" for value in per_second), f"{wait_ms:.0f}"]


def test_the_worked_examples_of_the_capacity_page_add_up() -> None:
    text = " ".join((DEPLOY / "CAPACITY.md").read_text("utf-8").split())

    def step_s(streams: int) -> float:
        return 0.020 + 0.0005 * (streams - 1)

    limit_s = 0.080 / 1.25
    most = max(count for count in range(1, 200) if step_s(count) <= limit_s + 1e-12)
    assert f"the limit is {limit_s * 1000:.0f} ms, so `B ≤ {most}`" in text
    assert f"where a step takes {step_s(64) * 1000:.1f} ms" in text
    assert f"a reserve of {0.080 / step_s(64):.2f}" in text
    assert abs(64 / 0.1 / (step_s(64) / 0.080) - 990) < 10
    position = 2 * 28 * 8 * 128 * 2
    room = int(10e9 // position)
    assert f"{position:,} bytes a position" in text
    assert f"{room:,} positions, {room / (62 + 12.5 * 15):.0f} utterances of 15 s" in text
    assert f"{64 * 1437.5 / 1000:.0f} kB/s, {64 * 1437.5 * 8 / 1e6:.2f} Mbit/s" in text
    assert f"As PCM: {64 * 48_000 / 1e6:.2f} MB/s" in text
