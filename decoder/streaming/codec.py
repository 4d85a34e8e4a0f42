"""The numpy door to the decoder: what the application's decode thread uses.

::

    decoder = load_decoder(path)         # once
    decoder.prepare_thread()             # first of all in the decode thread
    decoder.warm_up((1, 4, 12, 25))      # the first step of each length is slower
    stream = decoder.new_stream()        # one per utterance
    pcm = stream.decode(codes)

No torch type passes this door.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from decoder.errors import CodesError, DecoderError
from decoder.spec import CodecSpec
from decoder.streaming.backend import Backend, PrimingBackend, StreamState, backends
from decoder.streaming.checkpoint import load_checkpoint
from decoder.streaming.cost import macs_per_frame
from decoder.streaming.heap import trim_heap
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.threads import choose_threads, prepare_decode_thread

logger = logging.getLogger(__name__)

Codes = npt.NDArray[np.integer]
"""``[T, 16]``, ``0..codebook_size-1``; the wire's are int16."""
Pcm = npt.NDArray[np.float32]
"""``[samples]``, within +-1, 24 kHz."""


PRECISIONS = ("exact", "auto", "fast")
"""What ``load_decoder`` takes as ``precision``."""


def load_decoder(
    path: str | Path, *, device: str = "cpu", threads: int | None = None, precision: str = "exact"
) -> LoadedDecoder:
    """Load a checkpoint and get ready to decode.

    Args:
        path: a folder, or the id of a fetched repository (see ``location.find_checkpoint``).
        device: ``cpu``, ``cuda`` or ``cuda:N``. A device that is not there is a warning, and the CPU.
        threads: of the CPU; None chooses (see ``threads.choose_threads``), with ``auto`` by measurement.
        precision: ``exact`` is float32; ``fast`` is the fastest reduced precision that this machine has
            instructions for, else exact; ``auto`` is what a measurement chose (see ``tune``).

    Raises:
        CheckpointError: names path, size and the first tensor that does not fit.
        ValueError: ``threads`` is below 1, or there is no such ``precision``.

    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, not {precision!r}")
    decoder = load_checkpoint(path)
    used = _available(device)
    count = choose_threads(threads, macs_per_frame=macs_per_frame(decoder))
    # Only the calling thread's: without it the first products here would start threads for all CPUs.
    torch.set_num_threads(count)
    decoder.to(used)
    if precision == "auto":
        from decoder.streaming.tune import choose

        choice = choose(decoder, threads=threads)
        precision, count = choice.backend, choice.threads
        torch.set_num_threads(count)
    loaded = LoadedDecoder(decoder, threads=count, backend=precision, reload=lambda: load_checkpoint(path))
    del decoder
    trim_heap()
    return loaded


class LoadedDecoder:
    """Weights, shared by any number of streams that live side by side.

    A forked child cannot decode with more than one thread: neither these nor torch's are forked, and a step
    would wait for them for ever. Start such a process anew (``spawn``).

    Attributes:
        spec: what the server must agree with.
        threads: that a step uses.
        device: that the weights are on, as ``cpu``.
        backend: what decodes; ``backend.name`` says how.

    """

    def __init__(
        self,
        decoder: Qwen3TTSTokenizerV2Decoder,
        *,
        threads: int,
        backend: str = "exact",
        reload: Callable[[], Qwen3TTSTokenizerV2Decoder] | None = None,
    ) -> None:
        """Make a backend by its name in ``backends``, else ``exact``; ``reload`` is as there."""
        self.spec: CodecSpec = decoder.config.spec
        self.threads = threads
        self.device = str(decoder.pre_conv.conv.weight.device)
        offered = backends(decoder, reload)
        self.backend: Backend = offered.get(backend, offered["exact"])()

    def prepare_thread(self) -> None:
        """Set up the calling thread for decoding, before its first step: threads, denormals as zero.

        Leave other threads alone: the rounding of denormals belongs to the thread that decodes.
        """
        prepare_decode_thread(self.threads)

    def new_stream(self) -> DecodeStream:
        """Start an utterance."""
        return DecodeStream(self.backend, self.spec)

    def warm_up(self, steps: Sequence[int] = (1, 4, 12, 25)) -> dict[int, float]:
        """Decode silence-like frames once for each length in ``steps``, and once more to measure.

        Returns the wall seconds of a step by its length in frames, without the first
        one's memory allocation and kernel selection. Takes twice the sum of the returned values and some.
        """
        seconds = {}
        # The longest first: it takes memory once, and the others use it.
        for frames in sorted(steps, reverse=True):
            codes = np.zeros((frames, self.spec.codebooks), np.int16)
            stream = self.new_stream()
            stream.decode(codes)
            start = time.perf_counter()
            stream.decode(codes)
            seconds[frames] = time.perf_counter() - start
        return {frames: seconds[frames] for frames in steps}


class DecodeStream:
    """One utterance: codes in, PCM out, exact for any cut.

    Calls come from one thread at a time. To start over, make a new stream.
    """

    def __init__(self, backend: Backend, spec: CodecSpec) -> None:
        self._backend = backend
        self._spec = spec
        self._state: StreamState = backend.new_state()
        self._failure: BaseException | None = None

    def decode(self, codes: Codes) -> Pcm:
        """Decode the next frames: ``[T, 16]`` -> ``[T * 1920]``, memory that the caller alone owns.

        Raises:
            CodesError: wrong shape or values; nothing happened, and the stream can go on.
            DecoderError: an earlier call failed inside the decoder, so there is nothing to continue.

        """
        tensor = self._checked(codes)
        self._require_intact()
        try:
            pcm = self._backend.step(tensor, self._state)
            return pcm.to("cpu", torch.float32).numpy()
        except BaseException as error:  # an interrupt leaves the state half advanced, too
            self._failure = error
            raise

    def prime(self, codes: Codes) -> None:
        """Take the reference codes of a cloned voice, at most 72 frames, as what was heard before.

        Raises:
            CodesError: wrong shape or values; nothing happened, and the stream can go on.
            DecoderError: as ``decode``.

        """
        if not isinstance(self._backend, PrimingBackend):
            self.decode(codes)
            return
        tensor = self._checked(codes)
        self._require_intact()
        try:
            self._backend.prime(tensor, self._state)
        except BaseException as error:
            self._failure = error
            raise

    @property
    def frames(self) -> int:
        """Frames taken so far, primed ones included."""
        return self._state.position_frames

    @property
    def nbytes(self) -> int:
        """Bytes of carried state; constant after ``sliding_window`` frames."""
        return self._state.nbytes

    def _checked(self, codes: Codes) -> torch.Tensor:
        """Refuse bad codes before torch sees them."""
        array = np.asarray(codes)
        books, size = self._spec.codebooks, self._spec.codebook_size
        if array.ndim != 2 or array.shape[1] != books or not np.issubdtype(array.dtype, np.integer):
            raise CodesError(f"codes must be integers [T, {books}], not {array.dtype} {list(array.shape)}")
        if array.size and not 0 <= int(array.min()) <= int(array.max()) < size:
            frame, book = np.argwhere((array < 0) | (array >= size))[0]
            raise CodesError(
                f"code {int(array[frame, book])} of frame {frame}, codebook {book} is outside 0..{size - 1}"
            )
        return torch.from_numpy(array.astype(np.int64))

    def _require_intact(self) -> None:
        if self._failure is not None:
            raise DecoderError("this stream failed before; start a new one") from self._failure


def _available(device: str) -> torch.device:
    """Return the device, or the CPU with a warning when it is not there."""
    wanted = torch.device(device)
    if wanted.type == "cuda" and not torch.cuda.is_available():
        logger.warning("device %s was asked for, but there is no CUDA here; decoding on the CPU", device)
        return torch.device("cpu")
    return wanted
