"""Codes to latents: the folded table equals codebooks and projections."""

from __future__ import annotations

import torch

from decoder.streaming.config import CodecConfig
from decoder.streaming.quantizer import Codebook, SplitQuantizer
from decoder.streaming.random_weights import _fill
from tests.decoder.streaming.measure import PARITY_DB, snr_db


def test_the_folded_table_equals_the_formula(small_config: CodecConfig, random: torch.Generator) -> None:
    """Summing projected entries equals projecting sums, since projection is linear."""
    quantizer = SplitQuantizer(small_config)
    with torch.no_grad():
        for module in quantizer.modules():
            _fill(module, random)
    codes = torch.randint(small_config.codebook_size, (50, 16), generator=random)
    unfolded = quantizer(codes).detach()
    assert torch.equal(quantizer.lookup(codes).detach(), unfolded)
    quantizer.fold()
    assert snr_db(unfolded, quantizer.lookup(codes)) >= PARITY_DB
    quantizer.unfold()
    assert torch.equal(quantizer.lookup(codes).detach(), unfolded)


def test_unused_entries_are_divided_by_the_least_usage() -> None:
    """A usage of 0 counts as 1e-5, as in the official code."""
    book = Codebook(2, 3)
    with torch.no_grad():
        book.embedding_sum.fill_(1e-5)
        book.cluster_usage.copy_(torch.tensor([0.0, 2.0]))
    assert torch.allclose(book.entries()[0], torch.ones(3))
    assert torch.allclose(book.entries()[1], torch.full((3,), 5e-6))
