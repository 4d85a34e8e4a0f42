"""Streams side by side: each as if it were alone."""

from __future__ import annotations

import pytest
import torch

from decoder.streaming.batch import StreamBatch
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.static import StaticStep
from tests.decoder.streaming.measure import PARITY_DB, snr_db


def test_rows_that_align_or_not_are_streams_of_their_own(
    small_decoder: Qwen3TTSTokenizerV2Decoder, random: torch.Generator
) -> None:
    """Chunks of random lengths for random rows, until each has 90 frames."""
    codes = torch.randint(small_decoder.config.codebook_size, (3, 90, 16), generator=random)
    batch = StreamBatch(StaticStep(small_decoder), rows=3)
    heard: list[list[torch.Tensor]] = [[], [], []]
    done = [0, 0, 0]
    while min(done) < 90:
        lengths = torch.randint(0, 4, (3,), generator=random).tolist()
        pieces = {row: codes[row, done[row] : done[row] + 5 * n] for row, n in enumerate(lengths) if n}
        pieces = {row: piece for row, piece in pieces.items() if len(piece)}
        for row, pcm in batch.step(pieces).items():
            heard[row].append(pcm)
            done[row] += len(pieces[row])
    for row in range(3):
        with torch.inference_mode():
            whole = small_decoder(codes[row])
        assert snr_db(whole, torch.cat(heard[row])) >= PARITY_DB


def test_a_row_starts_over(small_decoder: Qwen3TTSTokenizerV2Decoder, random: torch.Generator) -> None:
    """Nothing of the utterance before is heard in the next, and the neighbour notices nothing."""
    codes = torch.randint(small_decoder.config.codebook_size, (2, 20, 16), generator=random)
    batch, fresh = (StreamBatch(StaticStep(small_decoder), rows=2) for _ in range(2))
    both = {0: codes[0], 1: codes[1]}
    first = fresh.step(both)
    batch.step({0: codes[1, :7]})
    batch.restart(0)
    again = batch.step(both)
    assert torch.equal(again[0], first[0])
    assert torch.equal(again[1], first[1])


def test_the_state_is_that_of_its_rows(small_decoder: Qwen3TTSTokenizerV2Decoder) -> None:
    step = StaticStep(small_decoder)
    assert StreamBatch(step, rows=3).nbytes == 3 * step.new_state().nbytes
    with pytest.raises(ValueError, match="at least one"):
        StreamBatch(step, rows=0)
