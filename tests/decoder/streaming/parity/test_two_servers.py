"""One text from two servers, the second one played by our own decoder on codes that we know."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from decoder.streaming.parity.compare import random_codes
from decoder.streaming.parity.two_servers import (
    Pcm,
    Spoken,
    alike_frames,
    compare_servers,
    find_shift,
    shifted,
)
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder

FRAMES = 60
FRAME = 1920


@pytest.fixture(scope="module")
def spoken(small_decoder: Qwen3TTSTokenizerV2Decoder) -> Spoken:
    """Both say the same; the second one decodes as we do and sends 16 bits."""
    codes = random_codes(small_decoder, FRAMES, seed=8)
    pcm = sound(small_decoder, codes)
    return Spoken("Hello", 1, codes, codes, codes[:0], codes, pcm, pcm, 24_000)


def sound(decoder: Qwen3TTSTokenizerV2Decoder, codes: np.ndarray) -> Pcm:
    with torch.inference_mode():
        pcm = decoder(torch.from_numpy(codes.astype(np.int64))).numpy()
    return (np.round(pcm.clip(-1, 1) * 32767) / 32768).astype(np.float32)


def otherwise_from(spoken: Spoken, decoder: Qwen3TTSTokenizerV2Decoder, frame: int) -> Spoken:
    """The other server samples other tokens from ``frame`` on."""
    codes = np.concatenate([spoken.codes[:frame], random_codes(decoder, FRAMES - frame, seed=99)])
    pcm = sound(decoder, codes)
    return replace(spoken, other_codes=codes, pcm=pcm, pcm_again=pcm)


def test_servers_that_say_the_same_agree_to_the_end(
    spoken: Spoken, small_decoder: Qwen3TTSTokenizerV2Decoder
) -> None:
    found = compare_servers(small_decoder, spoken, threads=1)
    assert found.tokens is not None
    assert found.tokens.is_whole
    assert found.prefix_frames == FRAMES
    assert found.codes_s == found.pcm_s == pytest.approx(FRAMES * 0.08)
    assert found.shift_samples == 0
    assert found.snr_db is not None
    assert 60 < found.snr_db < math.inf  # 16 bits
    assert len(found.each_second_db) == math.ceil(FRAMES * 0.08)
    assert found.pcm_repeats
    assert found.codes_repeat.is_whole
    assert found.notes == ()
    json.dumps(found.to_dict(), allow_nan=False)


def test_only_where_the_tokens_agree_the_sound_is_compared(
    spoken: Spoken, small_decoder: Qwen3TTSTokenizerV2Decoder
) -> None:
    found = compare_servers(small_decoder, otherwise_from(spoken, small_decoder, 23), threads=1)
    assert found.prefix_frames == 23
    assert found.snr_db is not None
    assert found.snr_db > 60


def test_where_tokens_cannot_be_had_the_sound_shows_how_far_they_agree(
    spoken: Spoken, small_decoder: Qwen3TTSTokenizerV2Decoder
) -> None:
    other = replace(otherwise_from(spoken, small_decoder, 23), other_codes=None)
    found = compare_servers(small_decoder, other, threads=1)
    assert found.tokens is None
    assert found.prefix_frames == 23
    assert found.snr_db is not None
    assert found.snr_db > 60
    assert len(found.each_frame_db) == FRAMES
    assert min(found.each_frame_db[:23]) > 40 > 10 > max(found.each_frame_db[23:])
    assert any("not known" in note for note in found.notes)


def test_a_text_said_otherwise_from_the_start_has_no_prefix(
    spoken: Spoken, small_decoder: Qwen3TTSTokenizerV2Decoder
) -> None:
    other = replace(otherwise_from(spoken, small_decoder, 0), other_codes=None)
    found = compare_servers(small_decoder, other, threads=1)
    assert found.prefix_frames == 0
    assert found.snr_db is None
    assert found.each_second_db == ()


def test_sound_that_comes_later_is_moved_and_that_is_said(
    spoken: Spoken, small_decoder: Qwen3TTSTokenizerV2Decoder
) -> None:
    late = np.concatenate([np.zeros(700, np.float32), spoken.pcm])
    found = compare_servers(
        small_decoder, replace(spoken, other_codes=None, pcm=late, pcm_again=late), threads=1
    )
    assert found.shift_samples == 700
    assert found.prefix_frames == FRAMES
    assert found.snr_db is not None
    assert found.snr_db > 60


def test_servers_that_are_not_deterministic_are_named(
    spoken: Spoken, small_decoder: Qwen3TTSTokenizerV2Decoder
) -> None:
    found = compare_servers(
        small_decoder,
        replace(spoken, codes_again=spoken.codes[:7], pcm_again=spoken.pcm * 0.5),
        threads=1,
    )
    assert found.codes_repeat.prefix_frames == 7
    assert not found.pcm_repeats
    assert len(found.notes) == 3


def test_another_rate_is_not_compared(spoken: Spoken, small_decoder: Qwen3TTSTokenizerV2Decoder) -> None:
    found = compare_servers(small_decoder, replace(spoken, rate_hz=16_000), threads=1)
    assert found.snr_db is None
    assert found.pcm_s == pytest.approx(FRAMES * FRAME / 16_000)
    assert any("16000 Hz" in note for note in found.notes)


def test_a_cloned_voice_is_decoded_behind_its_reference(
    spoken: Spoken, small_decoder: Qwen3TTSTokenizerV2Decoder
) -> None:
    context, codes = spoken.codes[:20], spoken.codes[20:]
    pcm = spoken.pcm[20 * FRAME :]
    cloned = replace(
        spoken, codes=codes, codes_again=codes, context=context, other_codes=codes, pcm=pcm, pcm_again=pcm
    )
    found = compare_servers(small_decoder, cloned, threads=1)
    assert found.prefix_frames == FRAMES - 20
    assert found.snr_db is not None
    assert found.snr_db > 60


@pytest.mark.parametrize("shift", [-1920, -1, 0, 1, 960, 1920])
def test_a_shift_is_found_to_the_sample(shift: int) -> None:
    rng = np.random.default_rng(3)
    whole = rng.standard_normal(30 * FRAME + 4000).astype(np.float32)
    ours = whole[2000 : 2000 + 20 * FRAME]
    theirs = whole[2000 - shift : 2000 - shift + 20 * FRAME]
    assert find_shift(ours, theirs, FRAME) == shift
    back = shifted(theirs, shift)
    if shift >= 0:
        assert np.array_equal(back[:FRAME], ours[:FRAME])
    else:
        assert not back[:-shift].any()
        assert np.array_equal(back[-shift : 2 * FRAME], ours[-shift : 2 * FRAME])


def test_sounds_that_have_nothing_in_common_are_not_shifted() -> None:
    rng = np.random.default_rng(4)
    ours, theirs = (rng.standard_normal(10 * FRAME).astype(np.float32) for _ in range(2))
    assert find_shift(ours, theirs, FRAME) == 0
    assert find_shift(ours * 0, theirs, FRAME) == 0
    assert find_shift(ours[:10], theirs, FRAME) == 0


def test_a_pause_and_a_click_end_no_prefix() -> None:
    rng = np.random.default_rng(5)
    ours = rng.standard_normal((12, FRAME)).astype(np.float32)
    ours[4] *= 1e-4
    theirs = ours.copy()
    theirs[4] = rng.standard_normal(FRAME) * 1e-4  # other silence
    theirs[8] = 0.0  # a frame is lost
    assert alike_frames(ours.ravel(), theirs.ravel(), FRAME) == 12
    theirs[9:] = rng.standard_normal((3, FRAME))
    assert alike_frames(ours.ravel(), theirs.ravel(), FRAME) == 8
    assert alike_frames(ours[:0].ravel(), theirs.ravel(), FRAME) == 0
