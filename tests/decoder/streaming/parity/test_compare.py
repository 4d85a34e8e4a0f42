"""The same codes in several ways, held against the official decoder itself, on small weights."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from decoder.errors import BenchError, CheckpointError
from decoder.streaming.bench.official import official_forward
from decoder.streaming.parity.compare import (
    CUTS,
    ParityRequest,
    described,
    each_second_db,
    load_weights,
    parity,
    random_codes,
)
from decoder.streaming.parity.report import EXACT_DB, REDUCED_DB
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from tests.decoder.streaming.measure import snr_db


@pytest.fixture
def request_(small_decoder: Qwen3TTSTokenizerV2Decoder) -> ParityRequest:
    codes = random_codes(small_decoder, 110, seed=5)
    return ParityRequest(small_decoder, "small", codes, "random", threads=1)


def test_ours_is_the_official_decoder_in_every_cut_and_the_described_scheme_is_not(
    request_: ParityRequest,
) -> None:
    told: list[str] = []
    found = parity(request_, told.append)
    ours = [way for way in found.ways if way.is_ours]
    assert [way.name for way in ours] == [f"ours, {name}" for name in CUTS]
    assert all(way.snr_db >= EXACT_DB and way.worst_second_db >= EXACT_DB for way in ours)
    assert found.has_passed
    (scheme,) = (way for way in found.ways if not way.is_ours)
    # As long as the 72 frames in front are all there are, it is right; from then on it is not.
    assert scheme.each_second_db[0] >= EXACT_DB
    assert scheme.each_second_db[-1] < EXACT_DB
    assert len(scheme.each_second_db) == math.ceil(110 * 0.08)
    assert len(told) == len(CUTS) + 2
    json.dumps(found.to_dict(), allow_nan=False)


def test_what_misses_the_threshold_has_not_passed(request_: ParityRequest) -> None:
    found = parity(replace(request_, codes=request_.codes[:10], threshold_db=1000.0))
    assert found.threshold_db == 1000.0
    assert not found.has_passed


def test_a_cloned_voice_is_decoded_behind_its_reference(request_: ParityRequest) -> None:
    """The reference is decoded by all, and compared by none."""
    context, codes = request_.codes[:20], request_.codes[20:50]
    found = parity(replace(request_, codes=codes, context=context))
    assert found.has_passed
    assert found.frames == 30
    assert len(found.ways[0].each_second_db) == math.ceil(30 * 0.08)


def test_reduced_precision_has_its_own_threshold(
    small_decoder: Qwen3TTSTokenizerV2Decoder, request_: ParityRequest
) -> None:
    found = parity(replace(request_, codes=request_.codes[:8], precision="modules"))
    assert found.backend == "modules"
    assert found.threshold_db == REDUCED_DB
    with pytest.raises(BenchError, match="cannot decode with 'abacus'"):
        parity(replace(request_, precision="abacus"))


def test_the_described_scheme_drops_the_old_frames_sound(small_decoder: Qwen3TTSTokenizerV2Decoder) -> None:
    codes = torch.from_numpy(random_codes(small_decoder, 60, seed=2).astype(np.int64))
    forward = official_forward(small_decoder)
    pcm = described(forward, codes)
    assert pcm.shape == (60 * 1920,)
    assert snr_db(forward(codes), pcm) >= EXACT_DB  # 60 frames: nothing is left out


def test_each_second_has_its_own_number() -> None:
    reference = torch.ones(250)
    other = reference.clone()
    other[100:200] += 0.1
    found = each_second_db(reference, other, 100)
    assert found[0] == found[2] == math.inf
    assert found[1] == pytest.approx(20.0)
    assert len(found) == 3


def test_threads_and_denormals_are_left_as_they_were(request_: ParityRequest) -> None:
    before = torch.get_num_threads()
    parity(replace(request_, codes=request_.codes[:3]))
    assert torch.get_num_threads() == before
    assert (torch.tensor([1e-39]) * 0.5).item() > 0


def test_without_the_official_code_it_says_how_to_install_it(
    request_: ParityRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never a silent skip: who asks for parity with it gets an error with the command."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "qwen_tts"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BenchError, match=r"pip install --no-deps qwen-tts==0\.1\.1"):
        parity(request_)


def test_no_codes_are_nothing_to_compare(request_: ParityRequest) -> None:
    with pytest.raises(BenchError, match="no codes"):
        parity(replace(request_, codes=request_.codes[:0]))


def test_a_checkpoint_that_is_not_there() -> None:
    with pytest.raises(CheckpointError):
        load_weights("no/such/folder")


def test_random_codes_are_those_of_their_seed(small_decoder: Qwen3TTSTokenizerV2Decoder) -> None:
    first, again = (random_codes(small_decoder, 9, seed=3) for _ in range(2))
    assert np.array_equal(first, again)
    assert first.dtype == np.int16
    assert first.shape == (9, 16)
    assert not np.array_equal(first, random_codes(small_decoder, 9, seed=4))
