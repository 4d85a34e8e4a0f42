"""The CPU backend in both precisions: equal to the whole forward, for any cut; streams apart; memory flat."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from decoder.errors import CodesError
from decoder.streaming import block_rows
from decoder.streaming.backend import Backend, PrimingBackend, backends, state_nbytes
from decoder.streaming.checkpoint import load_checkpoint
from decoder.streaming.config import CodecConfig
from decoder.streaming.precision import EXACT, MIXED, Precision
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.random_weights import random_checkpoint, random_decoder
from decoder.streaming.rows_backend import RowsBackend, context_frames, split
from tests.decoder.streaming.conftest import SMALL
from tests.decoder.streaming.measure import CUTS, FRAMES, PARITY_DB, pieces, snr_db, step_through

WIDE = replace(SMALL, decoder_dim=1024, num_key_value_heads=2, attention_bias=True)
"""Wide enough for every way to convolve, with what the published checkpoints do not have."""
OTHER = replace(SMALL, upsample_rates=(4, 3), upsampling_ratios=(2,), sliding_window=9)

PRECISIONS = {"exact": (EXACT, PARITY_DB), "fast": (MIXED, 30.0)}
"""A small decoder with random weights is harsher to reduced precision than the full-size one is."""


def codes_of(frames: int, seed: int = 0) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randint(SMALL.codebook_size, (frames, 16), generator=random)


def through(backend: Backend, codes: Tensor, cut: tuple[int, ...]) -> Tensor:
    state = backend.new_state()
    return step_through(lambda piece: backend.step(piece, state), codes, cut, dim=0)


@pytest.fixture(scope="module", params=PRECISIONS)
def precision(request: pytest.FixtureRequest) -> Precision:
    return PRECISIONS[request.param][0]


@pytest.fixture(scope="module")
def backend(precision: Precision, small_decoder: Qwen3TTSTokenizerV2Decoder) -> RowsBackend:
    return RowsBackend(small_decoder, precision)


@pytest.fixture(scope="module")
def enough_db(precision: Precision) -> float:
    return next(db for one, db in PRECISIONS.values() if one is precision)


@pytest.fixture(scope="module")
def whole(small_decoder: Qwen3TTSTokenizerV2Decoder) -> Tensor:
    with torch.inference_mode():
        return small_decoder(codes_of(FRAMES))


@pytest.mark.parametrize("cut", CUTS)
def test_steps_equal_the_whole(cut: str, backend: RowsBackend, whole: Tensor, enough_db: float) -> None:
    """Cut in every way that CASES B2 names."""
    out = through(backend, codes_of(FRAMES), CUTS[cut])
    assert out.dtype == torch.float32
    assert snr_db(whole, out) >= enough_db


@pytest.mark.parametrize("seed", range(3))
def test_random_cuts_equal_the_whole(
    seed: int, backend: RowsBackend, whole: Tensor, enough_db: float
) -> None:
    """The chunk size decides latency and cost, never the samples."""
    random = torch.Generator().manual_seed(seed)
    cut = tuple(torch.randint(1, 60, (9,), generator=random).tolist())
    assert snr_db(whole, through(backend, codes_of(FRAMES), cut)) >= enough_db


@pytest.mark.parametrize("config", [WIDE, OTHER], ids=["wide", "other rates"])
def test_any_configuration_takes_the_same_path(config: CodecConfig) -> None:
    """Widths, rates, heads and windows come from the config."""
    decoder = random_decoder(config, seed=3)
    frames = 24 if config is WIDE else 100
    with torch.inference_mode():
        wanted = decoder(codes_of(frames))
    exact = RowsBackend(decoder)
    for cut in ((1,), (7, 2)):
        assert snr_db(wanted, through(exact, codes_of(frames), cut)) >= PARITY_DB
    assert snr_db(wanted, through(RowsBackend(decoder, MIXED), codes_of(frames), (4,))) >= 20
    direct = RowsBackend(decoder, Precision(toom_cook_from_block=9))
    assert snr_db(wanted, through(direct, codes_of(frames), (4,))) >= PARITY_DB


def test_the_demo_voice_takes_the_same_path(demo_folder: Path) -> None:
    """The embedded checkpoint, in every precision that this machine has."""
    decoder = load_checkpoint(demo_folder)
    random = torch.Generator().manual_seed(0)
    codes = torch.randint(decoder.config.codebook_size, (80, 16), generator=random)
    with torch.inference_mode():
        wanted = decoder(codes)
    for name, make in backends(decoder).items():
        assert snr_db(wanted, through(make(), codes, (1, 25))) >= (35 if name == "fast" else PARITY_DB)


@pytest.mark.slow
def test_full_size(tmp_path: Path) -> None:
    """The published sizes: 80 dB exactly, 35 dB in reduced precision."""
    decoder = load_checkpoint(random_checkpoint(tmp_path, CodecConfig(), seed=1))
    codes = torch.randint(2048, (100, 16), generator=torch.Generator().manual_seed(5))
    with torch.inference_mode():
        wanted = decoder(codes)
    for make, enough in (
        (lambda: RowsBackend(decoder), PARITY_DB),
        (lambda: RowsBackend(decoder, MIXED), 35),
    ):
        backend = make()
        for cut in ((1,), (12,), (25,), (73,)):
            parity_db = snr_db(wanted, through(backend, codes, cut))
            print(f"cut by {cut}: {parity_db:.1f} dB against the whole forward")
            assert parity_db >= enough


def test_two_interleaved_utterances_equal_each_alone(backend: RowsBackend) -> None:
    """Streams share weights and workspace, and no bit of sound."""
    cuts = list(pieces(60, (1, 7, 25)))
    alone = []
    for seed in (1, 2):
        state = backend.new_state()
        alone.append([backend.step(codes_of(60, seed)[piece], state) for piece in cuts])
    states = backend.new_state(), backend.new_state()
    for index, piece in enumerate(cuts):
        for seed, state in zip((1, 2), states, strict=True):
            assert torch.equal(backend.step(codes_of(60, seed)[piece], state), alone[seed - 1][index])


def test_threads_take_turns(backend: RowsBackend) -> None:
    """Two threads with a stream each get the bits of each alone."""
    alone = [through(backend, codes_of(40, seed), (3,)) for seed in (1, 2)]
    results: dict[int, Tensor] = {}

    def work(seed: int) -> None:
        torch.set_num_threads(1)
        results[seed] = through(backend, codes_of(40, seed), (3,))

    workers = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert torch.equal(results[1], alone[0])
    assert torch.equal(results[2], alone[1])


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("least", [1, 2_000, 60_000])
def test_any_number_of_threads_gives_the_same(
    threads: int,
    least: int,
    backend: RowsBackend,
    whole: Tensor,
    enough_db: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To rounding: sums are cut differently. Every block shared out, some, or none."""
    monkeypatch.setattr(block_rows, "_LEAST_ELEMENTS", least)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        out = through(backend, codes_of(FRAMES)[:23], (4, 1))
        assert snr_db(whole[: 23 * 1920], out) >= enough_db
        assert torch.equal(out, through(backend, codes_of(FRAMES)[:23], (4, 1)))
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("frames", [1, 4, 60])
def test_returned_samples_are_nobody_elses(frames: int, backend: RowsBackend) -> None:
    """No workspace shows through: later steps leave a result alone, and it can be written to."""
    state, other = backend.new_state(), backend.new_state()
    first = backend.step(codes_of(frames), state)
    kept = first.clone()
    backend.step(codes_of(frames, 1), state)
    assert torch.equal(first, kept)
    backend.step(codes_of(frames), other)
    backend.step(codes_of(frames, 1), other)
    with torch.inference_mode():
        first.fill_(9.0)
    assert torch.equal(backend.step(codes_of(2, 2), state), backend.step(codes_of(2, 2), other))


def test_state_and_workspace_are_flat(backend: RowsBackend) -> None:
    """The state's size never changes; the workspace's not after the longest step."""
    state = backend.new_state()
    nbytes = state.nbytes
    backend.step(codes_of(90), state)
    held = backend.workspace_nbytes
    for index in range(60):
        backend.step(codes_of(1 + index * 7 % 40, seed=index), state)
    assert state_nbytes(state) == nbytes
    assert backend.workspace_nbytes == held
    assert state.position_frames == 90 + sum(1 + index * 7 % 40 for index in range(60))


def test_weights_end_with_the_backend(small_decoder: Qwen3TTSTokenizerV2Decoder) -> None:
    """At once, not when garbage is collected some day: two backends' weights would be held until then."""
    backend = RowsBackend(small_decoder)
    backend.step(codes_of(4), backend.new_state())
    block = weakref.ref(backend._blocks[0])
    gc.disable()
    try:
        del backend
        assert block() is None
    finally:
        gc.enable()


def test_priming_equals_decoding_the_reference(backend: RowsBackend, whole: Tensor, enough_db: float) -> None:
    """Short and long references, in pieces; only the last frames go through the convolutions."""
    assert isinstance(backend, PrimingBackend)
    for lengths in ((3,), (72,), (40, 60)):
        state, start = backend.new_state(), 0
        for length in lengths:
            backend.prime(codes_of(FRAMES)[start : start + length], state)
            start += length
        assert state.position_frames == start
        out = backend.step(codes_of(FRAMES)[start : start + 30], state)
        assert snr_db(whole[start * 1920 : (start + 30) * 1920], out) >= enough_db


def test_the_convolutions_context_is_known() -> None:
    """10 frames at full size; more where fewer rows are in a frame."""
    assert context_frames(CodecConfig()) == 10
    assert context_frames(OTHER) > 10


@pytest.mark.parametrize(
    "spoil",
    [
        lambda codes: codes[:, :15],
        lambda codes: codes.float(),
        lambda codes: codes + SMALL.codebook_size,
        lambda codes: codes - SMALL.codebook_size,
    ],
)
def test_bad_codes_are_refused_and_change_nothing(
    spoil: Callable[[Tensor], Tensor], backend: RowsBackend
) -> None:
    """A refused step leaves the stream as it was."""
    state = backend.new_state()
    for refuse in (backend.step, backend.prime):
        with pytest.raises(CodesError, match="codes must be"):
            refuse(spoil(codes_of(3)), state)
    assert state.position_frames == 0
    assert torch.equal(backend.step(codes_of(3), state), backend.step(codes_of(3), backend.new_state()))


def test_no_frames_are_no_samples(backend: RowsBackend) -> None:
    """An empty packet is legal and does nothing."""
    state = backend.new_state()
    assert backend.step(codes_of(0), state).shape == (0,)
    backend.prime(codes_of(0), state)
    assert state.position_frames == 0


@pytest.mark.parametrize(
    ("length", "most", "parts"), [(0, 3, []), (3, 3, [3]), (7, 3, [2, 2, 3]), (1, 9, [1])]
)
def test_pieces_are_as_few_and_as_even_as_can_be(length: int, most: int, parts: list[int]) -> None:
    """Few distinct lengths: every one has its own plan."""
    assert [len(piece) for piece in split(torch.zeros(length, 1), most)] == parts
