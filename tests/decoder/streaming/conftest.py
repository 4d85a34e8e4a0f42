"""A small decoder of the true architecture, with random weights that all matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from decoder.streaming.config import CodecConfig
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.random_weights import random_decoder
from tests.helpers.small_codec import SMALL_CODEC

SMALL = replace(SMALL_CODEC, codebook_size=64)


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    """Small products gain nothing from a second thread, and on a busy machine wait for it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def small_config() -> CodecConfig:
    return SMALL


@pytest.fixture(scope="session")
def small_decoder() -> Qwen3TTSTokenizerV2Decoder:
    return random_decoder(SMALL, seed=7)


@pytest.fixture(scope="session")
def demo_folder() -> Path:
    import assets

    folder = Path(assets.__file__).parent / "demo_voice" / "speech_tokenizer"
    assert folder.is_dir()
    return folder


@pytest.fixture
def random() -> torch.Generator:
    return torch.Generator().manual_seed(1234)
