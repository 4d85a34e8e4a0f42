"""Reduced precision that fails: the exact way from that step on, said once, and never heard."""

from __future__ import annotations

import logging

import pytest
import torch
from torch import Tensor

from decoder.streaming.guarded_backend import GuardedBackend, GuardedState
from decoder.streaming.precision import MIXED
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.rows_backend import RowsBackend
from tests.decoder.streaming.conftest import SMALL
from tests.decoder.streaming.measure import PARITY_DB, snr_db

FRAMES = 60


class Overflowing(RowsBackend):
    """Gives what it computed until frame 20, and then ``bad`` in the midst of it."""

    bad = float("nan")

    def step(self, codes: Tensor, state: object) -> Tensor:
        pcm = super().step(codes, state)  # type: ignore[arg-type]
        if state.position_frames > 20:  # type: ignore[attr-defined]
            with torch.inference_mode():
                pcm[len(pcm) // 2] = self.bad
        return pcm


@pytest.fixture
def guarded(small_decoder: Qwen3TTSTokenizerV2Decoder) -> GuardedBackend:
    return GuardedBackend(Overflowing(small_decoder, MIXED, name="fast"), lambda: RowsBackend(small_decoder))


def codes_of(frames: int, seed: int = 0) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randint(SMALL.codebook_size, (frames, 16), generator=random)


def run(backend: GuardedBackend, state: GuardedState, codes: Tensor) -> Tensor:
    return torch.cat([backend.step(piece, state) for piece in codes.split(8)])


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_the_failed_step_is_done_again_exactly(
    bad: float,
    guarded: GuardedBackend,
    small_decoder: Qwen3TTSTokenizerV2Decoder,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No sample is lost or wrong, and one line says it (CASES B5)."""
    monkeypatch.setattr(Overflowing, "bad", bad)
    codes, state = codes_of(FRAMES), guarded.new_state()
    with torch.inference_mode():
        wanted = small_decoder(codes)
    with caplog.at_level(logging.WARNING):
        out = run(guarded, state, codes)
    assert len(caplog.records) == 1
    assert "frame 16" in caplog.text
    assert state.position_frames == FRAMES
    assert snr_db(wanted[: 16 * 1920], out[: 16 * 1920]) >= 25
    assert snr_db(wanted[16 * 1920 :], out[16 * 1920 :]) >= PARITY_DB


def test_other_streams_stay_reduced(guarded: GuardedBackend) -> None:
    """The fall is one utterance's own; the next one starts reduced."""
    failed, other = guarded.new_state(), guarded.new_state()
    run(guarded, failed, codes_of(40))
    run(guarded, other, codes_of(16))
    assert failed.exact is not None
    assert other.exact is None
    assert guarded.new_state().exact is None


def test_after_a_primed_reference(guarded: GuardedBackend, small_decoder: Qwen3TTSTokenizerV2Decoder) -> None:
    """Primed codes are part of what the exact state is made from."""
    codes, state = codes_of(FRAMES), guarded.new_state()
    with torch.inference_mode():
        wanted = small_decoder(codes)
    guarded.prime(codes[:30], state)
    out = guarded.step(codes[30:40], state)
    guarded.prime(codes[40:50], state)
    after = guarded.step(codes[50:], state)
    assert snr_db(wanted[30 * 1920 : 40 * 1920], out) >= PARITY_DB
    assert snr_db(wanted[50 * 1920 :], after) >= PARITY_DB


def test_what_even_float32_cannot_do_is_silence_or_a_limit(
    small_decoder: Qwen3TTSTokenizerV2Decoder,
) -> None:
    """Weights that overflow everywhere: numbers within +-1 all the same."""
    backend = GuardedBackend(
        Overflowing(small_decoder, MIXED, name="fast"), lambda: Overflowing(small_decoder)
    )
    out = run(backend, backend.new_state(), codes_of(FRAMES))
    assert out.isfinite().all()
    assert out.abs().max() <= 1


def test_what_is_kept_for_a_fall_is_bounded(guarded: GuardedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes of 640 frames, however long the utterance and however short its steps."""
    monkeypatch.setattr(Overflowing, "bad", 0.0)
    state = guarded.new_state()
    for index in range(120):
        guarded.prime(codes_of(25, index), state)
    assert 640 <= sum(map(len, state.history)) < 640 + 25
    assert state.nbytes == guarded.new_state().nbytes
