"""Checkpoints: loaded whole from several types on disk, or refused with path, size and first tensor."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from decoder.errors import CheckpointError
from decoder.streaming.checkpoint import load_checkpoint, save_checkpoint
from decoder.streaming.config import CodecConfig
from decoder.streaming.header import read_header
from decoder.streaming.location import find_checkpoint
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.random_weights import random_checkpoint
from tests.decoder.streaming.measure import snr_db

WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory, small_config: CodecConfig) -> Path:
    return random_checkpoint(tmp_path_factory.mktemp("good") / "speech_tokenizer", small_config, seed=3)


@pytest.fixture
def folder(good: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(good, tmp_path / "speech_tokenizer"))


def pcm(decoder: Qwen3TTSTokenizerV2Decoder) -> torch.Tensor:
    with torch.inference_mode():
        return decoder(torch.arange(5 * 16).reshape(5, 16) % decoder.config.codebook_size)


def test_a_saved_checkpoint_loads_bit_for_bit(
    small_decoder: Qwen3TTSTokenizerV2Decoder, tmp_path: Path
) -> None:
    """Saving and loading is the identity, also after streaming has folded the weights."""
    small_decoder.new_state()
    loaded = load_checkpoint(save_checkpoint(tmp_path / "new", small_decoder))
    assert loaded.config == small_decoder.config
    for name, tensor in small_decoder.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
    assert not any(parameter.requires_grad for parameter in loaded.parameters())


@pytest.mark.parametrize(("dtype", "least_db"), [(torch.float16, 35), (torch.bfloat16, 15)])
def test_half_precision_on_disk_becomes_float32(
    dtype: torch.dtype, least_db: float, small_decoder: Qwen3TTSTokenizerV2Decoder, tmp_path: Path
) -> None:
    """The demo voice is stored in float16; decoding is float32 all the same."""
    loaded = load_checkpoint(save_checkpoint(tmp_path, small_decoder, dtype=dtype))
    assert {tensor.dtype for tensor in loaded.state_dict().values()} == {torch.float32}
    assert snr_db(pcm(small_decoder), pcm(loaded)) > least_db


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="memory maps are read from /proc")
def test_float32_weights_are_mapped_not_copied(good: Path) -> None:
    """Every tensor lies in the mapped file, so loading costs no second copy."""
    decoder = load_checkpoint(good)
    mapped = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith(f"{good}/{WEIGHTS}"):
            begin, end = line.split()[0].split("-")
            mapped.append((int(begin, 16), int(end, 16)))
    for name, tensor in decoder.state_dict().items():
        assert any(begin <= tensor.data_ptr() < end for begin, end in mapped), name


def test_other_tensors_are_not_read(folder: Path) -> None:
    """An encoder in the same file and the quantiser's input projections do not matter."""
    tensors = load_file(folder / WEIGHTS)
    assert "decoder.quantizer.rvq_rest.input_proj.weight" in tensors
    tensors["encoder.anything"] = torch.full((3,), float("nan"))
    save_file(tensors, folder / WEIGHTS)
    load_checkpoint(folder)


def test_the_demo_checkpoint_loads(demo_folder: Path) -> None:
    """From its folder and from the folder around it; its speech is neither silent nor clipped."""
    decoder = load_checkpoint(demo_folder)
    assert find_checkpoint(demo_folder.parent) == demo_folder
    assert pcm(decoder).isfinite().all()


def test_names_and_shapes_are_the_published_ones() -> None:
    """271 tensors but for the two that only encoding needs, 114.1 million parameters without them."""
    with torch.device("meta"):
        decoder = Qwen3TTSTokenizerV2Decoder(CodecConfig())
    shapes = {name: tuple(tensor.shape) for name, tensor in decoder.state_dict().items()}
    assert len(shapes) == 271 - 2
    assert sum(tensor.numel() for tensor in decoder.parameters()) == 114_060_993
    assert shapes["quantizer.rvq_rest.vq.layers.14._codebook.embedding_sum"] == (2048, 256)
    assert shapes["pre_transformer.layers.7.self_attn.q_proj.weight"] == (1024, 512)
    assert shapes["upsample.1.1.pwconv1.weight"] == (4096, 1024)
    assert shapes["decoder.1.block.1.conv.weight"] == (1536, 768, 16)
    assert shapes["decoder.6.conv.weight"] == (1, 96, 7)


# Bad files

FIRST = "decoder.quantizer.rvq_first.output_proj.weight"


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-4])


def truncate_header(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:50])


def change(name: str, value: torch.Tensor | None) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        tensors = load_file(path)
        if value is None:
            del tensors[name]
        else:
            tensors[name] = value
        save_file(tensors, path)

    return spoil


def write(content: bytes) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        path.write_bytes(content)

    return spoil


def header_of(content: object) -> bytes:
    text = json.dumps(content).encode()
    return struct.pack("<Q", len(text)) + text


NAN = torch.ones(32, 16, 1)
NAN[3, 2] = float("nan")

BAD: dict[str, tuple[Callable[[Path], None], str]] = {
    "empty": (write(b""), "empty"),
    "HTML": (write(b"<!DOCTYPE html><html><body>Sign in</body></html>"), "HTML"),
    "LFS pointer": (write(b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n"), "git lfs pull"),
    "a few bytes": (write(b"abc"), "too short"),
    "a pickle": (write(b"\x80\x04\x95" + b"x" * 100), "not a safetensors file"),
    "zeros": (write(bytes(1000)), "not a safetensors file"),
    "header is no JSON": (write(struct.pack("<Q", 8) + b"{{{{{{{{"), "no JSON"),
    "header is a list": (write(header_of([1])), "no JSON object"),
    "entry without range": (write(header_of({"x": {"dtype": "F32"}})), "tensor x"),
    "range of another size": (
        write(header_of({"x": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}) + bytes(8)),
        "tensor x claims 8 bytes",
    ),
    "truncated in the data": (truncate, "truncated: tensor decoder"),
    "truncated in the header": (truncate_header, "truncated within its header"),
    "missing tensor": (change(FIRST, None), f"tensor {FIRST} is missing"),
    "wrong shape": (change(FIRST, torch.ones(32, 15, 1)), rf"tensor {FIRST} has shape \[32, 15, 1\]"),
    "wrong type": (change(FIRST, torch.ones(32, 16, 1, dtype=torch.int32)), f"tensor {FIRST} is I32"),
    "not a number": (change(FIRST, NAN), f"tensor {FIRST} has NaN"),
    "infinite": (change(FIRST, torch.full((32, 16, 1), float("inf"))), f"tensor {FIRST} has NaN or infinite"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_refused_with_path_size_and_tensor(case: str, folder: Path) -> None:
    """The text names what the user must look at, and what is wrong with it."""
    spoil, named = BAD[case]
    path = folder / WEIGHTS
    spoil(path)
    with pytest.raises(CheckpointError, match=named) as caught:
        load_checkpoint(folder)
    assert str(caught.value).startswith(f"{path} ({path.stat().st_size:,} bytes): ")


def test_large_finite_weights_are_no_infinity(folder: Path) -> None:
    """The quick look at a sum overflows; the second look is exact."""
    change(FIRST, torch.full((32, 16, 1), 3e38))(folder / WEIGHTS)
    load_checkpoint(folder)


def test_a_config_of_other_sizes_names_the_first_tensor(folder: Path) -> None:
    """Config and weights of different models do not go together."""
    path = folder / "config.json"
    data = json.loads(path.read_text())
    data["decoder_config"]["latent_dim"] = 49
    path.write_text(json.dumps(data))
    with pytest.raises(CheckpointError, match=r"tensor decoder\.pre_conv\.conv\.weight has shape"):
        load_checkpoint(folder)


def test_a_pickle_is_never_opened(folder: Path) -> None:
    """A ``pytorch_model.bin`` beside nothing else is no checkpoint."""
    (folder / WEIGHTS).rename(folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=r"neither model\.safetensors"):
        load_checkpoint(folder)


def test_random_checkpoints_repeat(small_config: CodecConfig, tmp_path: Path) -> None:
    """The same seed gives the same file, another seed another."""
    first, same, other = (
        random_checkpoint(tmp_path / name, small_config, seed=seed) / WEIGHTS
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert first.read_bytes() == same.read_bytes()
    assert first.read_bytes() != other.read_bytes()


def test_a_written_file_opens_with_an_aligned_header(good: Path) -> None:
    """The data starts at a multiple of 8 bytes, as mapped float32 wants."""
    assert read_header(good / WEIGHTS).data_start % 8 == 0
