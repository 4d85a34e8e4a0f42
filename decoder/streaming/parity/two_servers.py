"""One text from two servers: the codes of one decoded here, against the sound that the other decoded.

Two runs of a talker rarely sample the same tokens, and past the first one that differs they say the text in
another way: a comparison of whole waveforms means nothing. What is compared is the beginning, as far as both
say the same. Where the other server shows its tokens, that is known. Where it does not, the sound tells it:
the same tokens give nearly the same samples, other tokens others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from decoder.streaming.bench.subject import make_backends
from decoder.streaming.cost import macs_per_frame
from decoder.streaming.parity.agreement import Agreement, agreement
from decoder.streaming.parity.compare import Codes, each_second_db, streamed
from decoder.streaming.parity.report import ServersReport
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.snr import snr_db
from decoder.streaming.threads import choose_threads, decode_settings

Pcm = npt.NDArray[np.float32]
Energies = npt.NDArray[np.float64]

APART_DB = 10.0
"""A frame's sound that is closer than this is of the same tokens. Measured on random weights: other tokens
leave 4 to 6 dB in their first frame and 2 or less after it; windows that are decoded anew 18 dB and more."""
_APART_FRAMES = 2
"""So many in a row: a single frame may be a click."""
_QUIET = 1e-2
"""Of a frame's mean energy: what is fainter, such as the noise of bfloat16 in a pause, decides nothing."""
_SHIFT_FRAMES = 1
"""How far the other sound is looked for, to either side."""
_COMPARED_FRAMES = 25
"""At the beginning, to find the shift by."""
_ALIKE = 0.5
"""Correlation above which a shift is one, and not chance."""


@dataclass(frozen=True)
class Spoken:
    """What the two servers said, each twice, with the same text and seed.

    Attributes:
        text: that both were given.
        seed: that both were given.
        codes: of the first server, ``[T, 16]``.
        codes_again: of its second run.
        context: frames to decode first, not heard; may be empty.
        other_codes: of the other server, if it gives any.
        pcm: of the other server, ±1.
        pcm_again: of its second run.
        rate_hz: of the samples.

    """

    text: str
    seed: int
    codes: Codes
    codes_again: Codes
    context: Codes
    other_codes: Codes | None
    pcm: Pcm
    pcm_again: Pcm
    rate_hz: int


def compare_servers(
    decoder: Qwen3TTSTokenizerV2Decoder, spoken: Spoken, threads: int | None = None
) -> ServersReport:
    """Decode the first server's codes, and compare as far as both say the same."""
    spec = decoder.config.spec
    tokens = None if spoken.other_codes is None else agreement(spoken.codes, spoken.other_codes)
    repeat = agreement(spoken.codes, spoken.codes_again)
    pcm_repeats = np.array_equal(spoken.pcm, spoken.pcm_again)
    notes = [*_notes(repeat, tokens, pcm_repeats)]
    shift = prefix = 0
    snr: float | None = None
    each: tuple[float, ...] = ()
    every: tuple[float, ...] = ()
    if spoken.rate_hz != spec.sample_rate_hz:
        notes.append(
            f"the other server sends {spoken.rate_hz} Hz, the decoder makes {spec.sample_rate_hz} Hz:"
            " samples are not compared"
        )
    else:
        ours = _decode(decoder, spoken, threads)
        shift = find_shift(ours, spoken.pcm, spec.samples_per_frame)
        theirs = shifted(spoken.pcm, shift)
        if tokens is not None:
            prefix = min(tokens.prefix_frames, len(theirs) // spec.samples_per_frame)
        else:
            prefix = alike_frames(ours, theirs, spec.samples_per_frame)
        every = each_frame_db(ours, theirs, spec.samples_per_frame)
        if prefix:
            samples = prefix * spec.samples_per_frame
            reference = torch.from_numpy(ours[:samples].copy())
            other = torch.from_numpy(theirs[:samples].copy())
            snr = snr_db(reference, other)
            each = each_second_db(reference, other, spec.sample_rate_hz)
    return ServersReport(
        text=spoken.text,
        seed=spoken.seed,
        codes_s=len(spoken.codes) * spec.frame_s,
        pcm_s=len(spoken.pcm) / spoken.rate_hz,
        codes_repeat=repeat,
        pcm_repeats=pcm_repeats,
        tokens=tokens,
        prefix_frames=prefix,
        shift_samples=shift,
        snr_db=snr,
        each_second_db=each,
        each_frame_db=every,
        notes=tuple(notes),
    )


def _notes(repeat: Agreement, tokens: Agreement | None, pcm_repeats: bool) -> list[str]:
    found = []
    if not repeat.is_whole:
        found.append(
            "the first server says something else each time, with the same seed: that the two agree is not"
            " to be expected"
        )
    if not pcm_repeats:
        found.append("the other server's sound differs from run to run, with the same seed")
    if tokens is None:
        found.append(
            "the other server sends no tokens, so token agreement is not known; the prefix is where the"
            f" sounds are closer than {APART_DB:g} dB"
        )
    elif not pcm_repeats:
        found.append("its tokens are of another run than its sound: the prefix may be shorter than they say")
    return found


def _decode(decoder: Qwen3TTSTokenizerV2Decoder, spoken: Spoken, threads: int | None) -> Pcm:
    with decode_settings(choose_threads(threads, macs_per_frame=macs_per_frame(decoder))):
        (backend,) = make_backends(decoder, ("exact",))
        codes = torch.from_numpy(np.concatenate([spoken.context, spoken.codes]).astype(np.int64))
        pcm: Pcm = streamed(backend, codes, (25,)).numpy()
    return pcm[len(spoken.context) * decoder.config.spec.samples_per_frame :]


def find_shift(ours: Pcm, theirs: Pcm, frame_samples: int) -> int:
    """Return by how many samples ``theirs`` is later, at most a frame; 0 if the two are not alike anyway."""
    length = min(len(ours), len(theirs), _COMPARED_FRAMES * frame_samples)
    reach = _SHIFT_FRAMES * frame_samples
    if length <= 2 * reach:
        return 0
    mine, other = ours[:length].astype(np.float64), theirs[:length].astype(np.float64)
    size = 2 ** int(np.ceil(np.log2(2 * length)))
    products = np.fft.irfft(np.fft.rfft(other, size) * np.conj(np.fft.rfft(mine, size)), size)
    shifts = np.arange(-reach, reach + 1)
    best = int(shifts[np.argmax(products[shifts])])
    scale = float(np.linalg.norm(mine) * np.linalg.norm(other))
    return best if scale and products[best] / scale > _ALIKE else 0


def shifted(pcm: Pcm, shift: int) -> Pcm:
    """Return the samples earlier by ``shift``; a negative one puts silence in front."""
    return pcm[shift:] if shift >= 0 else np.concatenate([np.zeros(-shift, np.float32), pcm])


def alike_frames(ours: Pcm, theirs: Pcm, frame_samples: int) -> int:
    """Return for how many frames from the first on the two sounds are evidently of the same tokens."""
    signal, noise = _energies(ours, theirs, frame_samples)
    if not len(signal):
        return 0
    apart = noise > (signal + _QUIET * signal.mean()) * 10 ** (-APART_DB / 10)
    run = 0
    for at, is_apart in enumerate(apart):
        run = run + 1 if is_apart else 0
        if run == _APART_FRAMES:
            return at - _APART_FRAMES + 1
    return len(signal) - run


def each_frame_db(ours: Pcm, theirs: Pcm, frame_samples: int) -> tuple[float, ...]:
    """Return the SNR of each frame that both have; below a hundredth of the mean energy nothing counts."""
    signal, noise = _energies(ours, theirs, frame_samples)
    floor = _QUIET * signal.mean() if len(signal) else 0.0
    with np.errstate(divide="ignore"):
        ratios: list[float] = (10 * np.log10((signal + floor) / noise)).tolist()
    return tuple(ratios)


def _energies(ours: Pcm, theirs: Pcm, frame_samples: int) -> tuple[Energies, Energies]:
    """Return the energies of our frames, and of the differences, as far as both go."""
    frames = min(len(ours), len(theirs)) // frame_samples
    mine = ours[: frames * frame_samples].reshape(frames, frame_samples).astype(np.float64)
    other = theirs[: frames * frame_samples].reshape(frames, frame_samples).astype(np.float64)
    return np.square(mine).sum(axis=1), np.square(mine - other).sum(axis=1)
