"""What a client may make the server read, and what it takes for a voice."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from server.emulator.speech import GenerationError
from server.reference.reference_audio import MAX_BYTES, AudioPolicy, is_remote, read_sample
from tests.helpers.reference_rig import data_uri, reference_wav
from tests.server.reference.web_server import answer, web_server

NOTHING = AudioPolicy()
WAV = reference_wav()


def refusal(uri: str, policy: AudioPolicy = NOTHING) -> str:
    with pytest.raises(GenerationError) as caught:
        read_sample(uri, policy)
    return str(caught.value)


def sound(samples: np.ndarray, rate_hz: int = 24_000, kind: str = "WAV") -> str:
    file = BytesIO()
    soundfile.write(file, samples, rate_hz, format=kind, subtype="FLOAT" if kind == "WAV" else None)
    return data_uri(file.getvalue())


# -- where from -----------------------------------------------------------------------------------------


def test_a_data_uri_is_always_read() -> None:
    sample = read_sample(data_uri(WAV), NOTHING)
    assert sample.rate_hz == 16_000
    assert sample.samples.shape == (24_000,)
    assert sample.samples.dtype == np.float32
    quoted = data_uri(WAV).replace("+", "%2B").replace("/", "%2F")
    np.testing.assert_array_equal(read_sample(quoted, NOTHING).samples, sample.samples)


@pytest.mark.parametrize("uri", ["data:audio/wav;base64", "data:audio/wav,AAAA", "data:;base64,A?", "DATA:,"])
def test_a_data_uri_that_is_none_is_told(uri: str) -> None:
    assert "data: URI" in refusal(uri)


@pytest.mark.parametrize(
    ("uri", "option"), [("file:///etc/passwd", "--ref-folder"), ("http://localhost/x", "--ref-http"),
                        ("HTTPS://localhost/x", "--ref-http"), ("FILE:///etc/passwd", "--ref-folder")]
)  # fmt: skip
def test_nothing_is_opened_unless_the_server_was_started_so(uri: str, option: str) -> None:
    text = refusal(uri)
    assert option in text
    assert "data: URI" in text


def test_files_are_read_below_the_folder_only(tmp_path: Path) -> None:
    folder, outside = tmp_path / "voices", tmp_path / "outside.wav"
    (folder / "deep").mkdir(parents=True)
    inside = folder / "deep" / "a voice.wav"
    for path in (inside, outside):
        path.write_bytes(WAV)
    (folder / "link.wav").symlink_to(outside)
    policy = AudioPolicy(folder)
    assert len(read_sample(inside.as_uri(), policy).samples) == 24_000
    missing = "no such file in the folder"
    for uri in (
        outside.as_uri(),
        f"file://{folder}/../outside.wav",
        f"file://{folder}/%2e%2e/outside.wav",
        (folder / "link.wav").as_uri(),
        (folder / "none.wav").as_uri(),
        folder.as_uri(),
        "file:///etc/passwd",
        "file:///%00",
    ):
        assert missing in refusal(uri, policy), uri
    assert "another machine" in refusal("file://host/voice.wav", policy)


def test_an_address_is_fetched_where_the_server_was_started_so() -> None:
    with web_server(lambda handler: answer(handler, WAV)) as root:
        assert len(read_sample(f"{root}/voice.wav", AudioPolicy(http=True)).samples) == 24_000
    assert "cannot be fetched" in refusal(root, AudioPolicy(http=True))
    with web_server(lambda handler: answer(handler, b"", 302, Location="file:///etc/passwd")) as root:
        assert "cannot be fetched: file: is neither" in refusal(root, AudioPolicy(http=True))
    with web_server(lambda handler: answer(handler, bytes(MAX_BYTES + 1))) as root:
        assert "10 MiB" in refusal(root, AudioPolicy(http=True))


def test_what_another_machine_holds_is_known_by_its_uri() -> None:
    assert [is_remote(uri) for uri in ("http://x", "HTTPS://x", "data:,", "File:///x")] == [
        True, True, False, False
    ]  # fmt: skip


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.wav"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert "10 MiB" in refusal(path.as_uri(), AudioPolicy(tmp_path))


# -- what ------------------------------------------------------------------------------------------------


def test_other_formats_and_two_channels_are_taken() -> None:
    rng = np.random.default_rng(0)
    stereo = rng.uniform(-0.5, 0.5, (30_000, 2)).astype(np.float32)
    sample = read_sample(sound(stereo), NOTHING)
    np.testing.assert_allclose(sample.samples, stereo.mean(axis=1), atol=1e-6)
    assert read_sample(sound(stereo, 48_000 // 2, "FLAC"), NOTHING).samples.shape == (30_000,)


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        (sound(np.zeros(23_990)), "it has 0.99 s"),
        (sound(np.zeros(0)), "it has 0.0 s"),
        (sound(np.zeros(24_000 * 31)), "it has more"),
        (sound(np.zeros((24_000, 3))), "3 channels"),
        (sound(np.zeros(24_000), 4_000), "4000 Hz"),
        (sound(np.full(24_000, np.nan)), "no numbers"),
        (sound(np.full((24_000, 2), 3e38)), "beyond ±10"),
        (sound(np.full(24_000, -32_768.0)), "beyond ±10"),
        (data_uri(b"no sound at all"), "no sound that can be read"),
        (data_uri(b""), "no sound that can be read"),
    ],
)
def test_what_is_no_voice_is_told(uri: str, text: str) -> None:
    assert text in refusal(uri)


def test_a_header_that_promises_too_much_is_not_believed() -> None:
    lying = bytearray(WAV)
    at = lying.index(b"data") + 4
    lying[at : at + 4] = (0x7FFF_FFFF).to_bytes(4, "little")
    assert len(read_sample(data_uri(bytes(lying)), NOTHING).samples) == 24_000


@given(st.binary(max_size=300), st.integers(0, 200))
def test_any_bytes_are_a_sound_or_refused(noise: bytes, at: int) -> None:
    broken = WAV[:at] + noise + WAV[at + len(noise) :]
    try:
        sample = read_sample(data_uri(broken), NOTHING)
    except GenerationError:
        return
    assert 1 <= len(sample.samples) / sample.rate_hz <= 30
    assert np.isfinite(sample.samples).all()
