from __future__ import annotations

import numpy as np
import pytest
import soxr

from app.audio.resample import ResamplingSource, StreamResampler
from tests.app.audio.sources import ListSource, sine

RATES_HZ = [48_000, 44_100, 32_000, 22_050, 16_000, 8_000, 96_000]


def read(source: ResamplingSource, samples: int, block: int) -> np.ndarray:
    out = np.full(samples, np.nan, np.float32)
    for start in range(0, samples, block):
        source.read_into(out[start : start + block], dac_s=100.0 + start / source.rate_hz)
    return out


@pytest.mark.parametrize("rate_hz", RATES_HZ)
@pytest.mark.parametrize("block", [1, 441, 512, 5000])
def test_a20_sine_read_in_blocks_equals_one_shot(rate_hz: int, block: int) -> None:
    pcm = sine(12_000)
    sound = read(ResamplingSource(ListSource(pcm), rate_hz), rate_hz // 2, block)
    whole = soxr.resample(np.concatenate([pcm, np.zeros(24_000, np.float32)]), 24_000, rate_hz)
    assert np.abs(sound - whole[: len(sound)]).max() < 1e-3


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_a1_tail_comes_out_and_the_length_is_right(rate_hz: int) -> None:
    # A constant, so that the end can be seen: it falls to half its height midway between its last
    # sample and the first of the silence.
    source = ResamplingSource(ListSource(np.full(12_345, 0.5, np.float32)), rate_hz)
    sound = read(source, rate_hz, 480)
    assert abs(np.count_nonzero(sound > 0.25) - round(12_344.5 * rate_hz / 24_000)) <= 1
    assert np.abs(sound[round(12_345 * rate_hz / 24_000) + rate_hz // 20 :]).max() < 1e-3


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_dac_time_handed_on_is_that_of_the_sample(rate_hz: int) -> None:
    source = ListSource()
    read(ResamplingSource(source, rate_hz), rate_hz, 512)
    for at, dac_s in source.asked_for:
        assert dac_s == pytest.approx(100.0 + at / 24_000, abs=1e-9)


def test_it_reads_no_further_ahead_than_the_filter_needs() -> None:
    source = ListSource()
    read(ResamplingSource(source, 48_000), 48_000, 480)
    assert source.asked_for[-1][0] < 24_000 * 1.1


@pytest.mark.parametrize("from_hz", [44_100, 48_000, 16_000, 22_050, 24_000])
def test_a20_chunks_pushed_equal_one_shot_tail_included(from_hz: int) -> None:
    pcm = sine(from_hz + 17, rate_hz=from_hz)
    resampler = StreamResampler(from_hz, 24_000)
    step = round(0.08 * from_hz)
    chunks = [resampler.push(pcm[start : start + step]) for start in range(0, len(pcm), step)]
    sound = np.concatenate([*chunks, resampler.flush()])
    whole = soxr.resample(pcm, from_hz, 24_000)
    assert abs(len(sound) - round(len(pcm) * 24_000 / from_hz)) <= 1
    n = min(len(sound), len(whole))
    assert np.abs(sound[:n] - whole[:n]).max() < 1e-3
    assert sound.dtype == np.float32


def test_empty_chunks_are_nothing() -> None:
    resampler = StreamResampler(48_000, 24_000)
    assert not len(resampler.push(np.zeros(0, np.float32)))
    assert not len(resampler.flush())
