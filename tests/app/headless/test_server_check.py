"""The command ``nearfield server check``."""

from __future__ import annotations

import json
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from app.cli import main
from app.headless.server_check import run
from tests.server.deploy.broken import TALKER, changed

OURS = sorted((Path(__file__).parents[3] / "server" / "deploy").glob("qwen3_tts*.yaml"))


def shown(*texts: str, folder: Path, width: int = 80) -> tuple[int, list[str]]:
    paths = []
    for number, text in enumerate(texts):
        paths.append(folder / f"{number}.yaml")
        paths[-1].write_text(text)
    out = StringIO()
    code = run(paths, Console(file=out, width=width))
    return code, [line.rstrip().replace(f"{folder}/", "") for line in out.getvalue().splitlines()]


def test_our_own_files_are_fine(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(OURS) == 2
    assert main(["server", "check", *map(str, OURS)]) == 0
    assert capsys.readouterr().out.count("nothing wrong") == 2


def test_each_finding_has_its_line_and_what_to_write(tmp_path: Path) -> None:
    """What looks like markup is text."""
    text = changed(TALKER, "max_num_seqs: 64", "max_num_seqs: 1")
    text = changed(text, "model_runner: v1", '"[red]": 1')
    code, lines = shown(text, folder=tmp_path, width=100)
    assert code == 1
    assert lines == [
        "0.yaml: 2 errors",
        "i note   line 1:11  a stock vllm-omni 0.30.0 has no pipeline `qwen3_tts_talker_only` and stops with",
        "                    KeyError",
        "                    → install the plug-in: server/omni_plugin/README.md",
        "✗ error  line 2:1   unknown key `[red]` at the top level: vllm-omni ignores it without a word",
        "                    → take it out; server/deploy/keys.yaml lists the keys",
        "✗ error  line 9:19  `max_num_seqs: 1` speaks 1 at a time: whoever comes next is heard with gaps",
        "                    → write `max_num_seqs: 64`, and never less than 4",
    ]


def test_warnings_are_told_apart_and_let_it_pass(tmp_path: Path) -> None:
    code, lines = shown(changed(TALKER, "async_chunk: false\n", ""), folder=tmp_path)
    assert code == 0
    assert lines[0] == "0.yaml: 1 warning"
    assert any(line.startswith("! warning  line 1:1") for line in lines)


def test_the_worst_file_decides(tmp_path: Path) -> None:
    assert shown(TALKER, "a: b: c\n", "stages: 1\n", folder=tmp_path)[0] == 2
    assert shown(TALKER, "stages: 1\n", folder=tmp_path)[0] == 1


def test_what_cannot_be_read_says_so(tmp_path: Path) -> None:
    _, lines = shown("stages:\n\t- 1\n", folder=tmp_path)
    assert lines[0] == "0.yaml: cannot be read"
    assert "line 2:1" in lines[1]


def test_a_finding_in_a_base_names_that_file(tmp_path: Path) -> None:
    base = changed(TALKER, "max_num_seqs", "max_num_seq")
    _, lines = shown(base, "base_config: 0.yaml\n", folder=tmp_path, width=120)
    assert any("0.yaml, line 9:5" in line for line in lines[lines.index("1.yaml: 1 error") :])


def test_a_narrow_terminal_loses_nothing(tmp_path: Path) -> None:
    _, lines = shown(changed(TALKER, "max_num_seqs: 64", "max_num_seqs: 1"), folder=tmp_path, width=40)
    assert max(map(len, lines)) <= 40
    assert "whoever" in "".join(lines)


def test_json_has_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(changed(TALKER, "max_num_seqs: 64", "max_num_seqs: 1"))
    assert main(["server", "check", "--json", str(path), str(OURS[1])]) == 1
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    first, second = json.loads(out)
    assert (first["file"], first["verdict"], first["exit_code"]) == (str(path), "1 error", 1)
    assert first["findings"][-1] == {
        "severity": "error",
        "file": str(path),
        "line": 9,
        "column": 19,
        "what": "`max_num_seqs: 1` speaks 1 at a time: whoever comes next is heard with gaps",
        "advice": "write `max_num_seqs: 64`, and never less than 4",
    }
    assert second == {"file": str(OURS[1]), "verdict": "nothing wrong", "exit_code": 0, "findings": []}


@pytest.mark.parametrize(
    "arguments", [["server"], ["server", "check"], ["server", "look"], ["server", "check", "--x"]]
)
def test_a_command_line_that_cannot_be_used_ends_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert "try nearfield server" in capsys.readouterr().err


def test_it_needs_neither_torch_nor_a_server() -> None:
    """It is for machines on which nothing of ours runs but this."""
    needless = ("torch", "numpy", "websockets", "vllm", "sounddevice", "server.emulator")
    poison = "".join(f"sys.modules[{name!r}] = None\n" for name in needless)
    code = f"import sys\n{poison}from pathlib import Path\nfrom server.deploy.check import check\n"
    code += f"sys.exit(check(Path({str(OURS[0])!r})).exit_code)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
