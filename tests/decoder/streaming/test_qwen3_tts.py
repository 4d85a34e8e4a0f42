"""The whole decoder: streaming equals one whole forward, for any cut; streams do not touch each other."""

from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from decoder.errors import CodesError
from decoder.streaming.config import CodecConfig
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from tests.decoder.streaming.conftest import SMALL
from tests.decoder.streaming.measure import CUTS, FRAMES, PARITY_DB, pieces, snr_db, step_through

Decoder = Qwen3TTSTokenizerV2Decoder


def codes_of(frames: int, seed: int = 0) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randint(SMALL.codebook_size, (frames, 16), generator=random)


@pytest.fixture(scope="module")
def whole(small_decoder: Decoder) -> Tensor:
    with torch.inference_mode():
        return small_decoder(codes_of(FRAMES))


@pytest.mark.parametrize("cut", CUTS)
def test_steps_equal_the_whole(cut: str, small_decoder: Decoder, whole: Tensor) -> None:
    """More than 200 frames, past the window of 72 several times, cut in every way that CASES B2 names."""
    state = small_decoder.new_state()
    out = step_through(lambda piece: small_decoder.step(piece, state), codes_of(FRAMES), CUTS[cut], dim=0)
    assert out.dtype == torch.float32
    assert out.shape == (FRAMES * 1920,)
    assert snr_db(whole, out) >= PARITY_DB


@settings(max_examples=10, deadline=None)
@given(lengths=st.lists(st.integers(1, 90), min_size=1, max_size=8))
def test_random_cuts_equal_the_whole(lengths: list[int], small_decoder: Decoder, whole: Tensor) -> None:
    """The chunk size decides latency and cost, never the samples."""
    state = small_decoder.new_state()
    out = step_through(lambda piece: small_decoder.step(piece, state), codes_of(FRAMES), lengths, dim=0)
    assert snr_db(whole, out) >= PARITY_DB


def test_output_is_neither_silent_nor_clipped(whole: Tensor) -> None:
    """Parity on silence or on a clipped signal would prove nothing."""
    assert 0.05 < whole.square().mean().sqrt() < 0.4
    assert (whole.abs() == 1.0).float().mean() < 0.01


def test_every_parameter_matters(small_config: CodecConfig, small_decoder: Decoder) -> None:
    """With the random weights of these tests, no parameter could be wrong unnoticed."""
    decoder = copy.deepcopy(small_decoder).requires_grad_(True)
    decoder.decode_latents(decoder.quantizer(codes_of(80)).T[None], clamp=False).square().mean().backward()
    for name, parameter in decoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


def test_two_interleaved_utterances_equal_each_alone(small_decoder: Decoder) -> None:
    """Streams share weights and nothing else: the same bits, alone or side by side."""
    first, second = codes_of(60, seed=1), codes_of(60, seed=2)
    alone = []
    for codes in (first, second):
        state = small_decoder.new_state()
        alone.append([small_decoder.step(codes[piece], state) for piece in pieces(60, (1, 7, 25))])
    states = small_decoder.new_state(), small_decoder.new_state()
    for index, piece in enumerate(pieces(60, (1, 7, 25))):
        for codes, state, expected in zip((first, second), states, alone, strict=True):
            assert torch.equal(small_decoder.step(codes[piece], state), expected[index])


@pytest.mark.parametrize("how", ["finished", "left half-way", "failed inside"])
def test_an_utterance_leaves_nothing_behind(
    how: str, small_decoder: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decoding A and then B gives the same bits as B alone, however A ended."""
    codes = codes_of(40, seed=2)
    alone = small_decoder.step(codes, small_decoder.new_state())
    state = small_decoder.new_state()
    small_decoder.step(codes_of(30, seed=1), state)
    if how == "left half-way":
        small_decoder.step(codes_of(1, seed=3), state)
    elif how == "failed inside":
        with monkeypatch.context() as patch:
            patch.setattr(small_decoder.decoder[2], "step", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                small_decoder.step(codes_of(5, seed=3), state)
    assert torch.equal(small_decoder.step(codes, small_decoder.new_state()), alone)


def test_priming_equals_decoding_the_reference_before(small_decoder: Decoder) -> None:
    """After reference codes, an utterance sounds as the tail of the decode of both, without its start."""
    reference, codes = codes_of(72, seed=4), codes_of(50, seed=5)
    with torch.inference_mode():
        both = small_decoder(torch.cat((reference, codes)))
    state = small_decoder.new_state()
    assert small_decoder.prime(reference, state) is None
    out = step_through(lambda piece: small_decoder.step(piece, state), codes, (1, 4, 25), dim=0)
    assert state.position_frames == 122
    assert snr_db(both[72 * 1920 :], out) >= PARITY_DB
    with torch.inference_mode():
        assert snr_db(small_decoder(codes), out) < PARITY_DB  # the reference is heard


def test_later_input_never_alters_earlier_output(small_decoder: Decoder) -> None:
    """The decoder is causal to the sample: frame 30 changes nothing before its own first sample."""
    codes = codes_of(60)
    other = codes.clone()
    other[30:] = codes_of(30, seed=9)
    with torch.inference_mode():
        first, second = small_decoder(codes), small_decoder(other)
    same = (first == second).float()
    assert snr_db(first[: 30 * 1920], second[: 30 * 1920]) >= PARITY_DB
    assert same[30 * 1920 : 30 * 1920 + 1920].mean() < 0.5
    state = small_decoder.new_state()
    early = small_decoder.step(codes[:30], state)
    kept = early.clone()
    small_decoder.step(other[30:], state)
    assert torch.equal(early, kept)


def test_state_is_flat_over_two_minutes(small_decoder: Decoder) -> None:
    """After the window is full, the state's size never changes (CASES B16, E3)."""
    state = small_decoder.new_state()
    small_decoder.step(codes_of(72), state)
    full = state.nbytes
    for index in range(60):
        small_decoder.step(codes_of(25, seed=index), state)
        assert state.nbytes == full
    assert state.position_frames == 72 + 1500
    assert max(layer.keys.shape[2] for layer in state.transformer.layers) == 71


@pytest.mark.parametrize(
    "codes",
    [
        torch.zeros(3, 15, dtype=torch.int64),
        torch.zeros(16, dtype=torch.int64),
        torch.zeros(1, 3, 16, dtype=torch.int64),
        torch.zeros(3, 16),
        torch.full((3, 16), SMALL.codebook_size),
        torch.full((3, 16), -1),
    ],
    ids=["15 codebooks", "1-D", "3-D", "float", "too large", "negative"],
)
def test_bad_codes_are_refused_and_change_nothing(codes: Tensor, small_decoder: Decoder) -> None:
    """A refused step leaves the stream as it was."""
    state = small_decoder.new_state()
    with pytest.raises(CodesError, match="codes must be"):
        small_decoder.step(codes, state)
    with pytest.raises(CodesError):
        small_decoder(codes)
    assert state.position_frames == 0
    good = codes_of(5)
    assert torch.equal(small_decoder.step(good, state), small_decoder.step(good, small_decoder.new_state()))


def test_no_frames_are_no_samples(small_decoder: Decoder) -> None:
    """An empty packet is legal and does nothing."""
    state = small_decoder.new_state()
    assert small_decoder.step(codes_of(0), state).shape == (0,)
    assert state.position_frames == 0


def test_the_decoder_can_be_trained_behind_the_quantiser(small_decoder: Decoder) -> None:
    """A batch of latents goes through, gradients come back, and the next stream uses the new weights."""
    decoder = copy.deepcopy(small_decoder).requires_grad_(True)
    before = decoder.step(codes_of(5), decoder.new_state())
    decoder.train()
    optimizer = torch.optim.SGD(decoder.parameters(), lr=1e-3)
    latents = torch.randn(2, SMALL.codebook_dim, 6)
    pcm = decoder.decode_latents(latents)
    assert pcm.shape == (2, 6 * 1920)
    pcm.square().mean().backward()
    optimizer.step()
    decoder.eval()
    after = decoder.step(codes_of(5), decoder.new_state())
    assert not torch.equal(before, after)
    with torch.inference_mode():
        assert snr_db(decoder(codes_of(5)), after) >= PARITY_DB


def test_new_weights_reach_the_folded_forms(small_config: CodecConfig, small_decoder: Decoder) -> None:
    """Loading a state dict after streaming makes later streams use it."""
    decoder = copy.deepcopy(small_decoder)
    decoder.step(codes_of(3), decoder.new_state())
    fresh = Decoder(small_config)
    decoder.load_state_dict(fresh.state_dict())
    with torch.inference_mode():
        wanted = fresh(codes_of(3))
    assert snr_db(wanted, decoder.step(codes_of(3), decoder.new_state())) >= PARITY_DB


def test_moving_to_another_type_and_back_keeps_streams_right(small_decoder: Decoder) -> None:
    """``to`` makes copies of the parameters; their folded forms are made anew."""
    decoder = copy.deepcopy(small_decoder)
    decoder.new_state()
    decoder.to(torch.float64)
    state = decoder.new_state()
    out = decoder.step(codes_of(30), state)
    with torch.inference_mode():
        assert snr_db(decoder(codes_of(30)), out) >= 200
        assert snr_db(out, small_decoder(codes_of(30)).double()) >= PARITY_DB
