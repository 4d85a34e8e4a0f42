"""Whatever is done to a good file: the checker ends, and its places are in the file."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from server.deploy.check import check
from server.deploy.findings import EXIT_OK, EXIT_UNUSABLE, Severity
from tests.server.deploy.broken import BOTH, TALKER

FOLDER = Path(__file__).parents[3] / "server" / "deploy"
GOOD = [TALKER, BOTH, *(path.read_text("utf-8") for path in sorted(FOLDER.glob("qwen3_tts*.yaml")))]
ODD = st.sampled_from(
    [
        "\t", ":", "- ", "[", "]", "{", "}", "&a ", "*a", "<<: ", "!!int ", "!x ", "|\n", ">\n", '"', "'",
        "\n", "---\n", "...\n", "? ", "null", "~", "${x}", "0x_", "1:30", ".nan", "1e999", "\u2028", "\x85",
        "\x00", "%", "\ufeff", "é", "=", "@", "`", "base_config: deploy.yaml\n", "stages: 3\n",
        "platforms: []\n", "connectors: 1\n",
    ]
)  # fmt: skip
PIECES = st.one_of(ODD, st.text(max_size=6), st.integers(-(10**30), 10**30).map(str))


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """Return a good file with pieces put in, taken out, doubled and swapped."""
    text = draw(st.sampled_from(GOOD))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 40)))
        match draw(st.sampled_from(["put", "take", "double", "value"])):
            case "put":
                text = text[:start] + draw(PIECES) + text[start:]
            case "take":
                text = text[:start] + text[end:]
            case "double":
                text = text[:end] + text[start:end] + text[end:]
            case "value":
                lines = text.split("\n")
                number = draw(st.integers(0, len(lines) - 1))
                lines[number] = lines[number].partition(":")[0] + ": " + draw(PIECES)
                text = "\n".join(lines)
    return text


@given(mutated())
def test_any_change_is_survived_and_every_place_is_in_the_file(text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "deploy.yaml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        report = check(path)
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for finding in report.findings:
        assert finding.place.path == path
        assert 1 <= finding.place.line <= len(lines)
        assert 1 <= finding.place.column <= len(lines[finding.place.line - 1]) + 1
        assert finding.what
        assert finding.advice
    errors = report.of(Severity.ERROR)
    assert (report.exit_code == EXIT_OK) == (not errors)
    if report.exit_code == EXIT_UNUSABLE:
        assert len(report.findings) == 1


@given(st.binary(max_size=200))
def test_any_bytes_are_survived(raw: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "deploy.yaml"
        path.write_bytes(raw)
        assert check(path).exit_code in (0, 1, 2)
