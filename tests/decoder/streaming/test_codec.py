"""The numpy door: validation before torch, arrays of one's own, streams that stay apart."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch

from decoder.errors import CheckpointError, CodesError, DecoderError
from decoder.streaming import LoadedDecoder, load_decoder, tune
from decoder.streaming.backend import reduced_precision
from decoder.streaming.checkpoint import load_checkpoint
from decoder.streaming.config import CodecConfig
from decoder.streaming.random_weights import random_checkpoint
from decoder.streaming.rows_backend import RowsBackend
from decoder.streaming.tune import Choice
from tests.decoder.streaming.measure import PARITY_DB, snr_db

SIZE = 64


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory, small_config: CodecConfig) -> LoadedDecoder:
    folder = random_checkpoint(tmp_path_factory.mktemp("codec"), small_config, seed=3)
    return load_decoder(folder, threads=1)


def codes_of(frames: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, SIZE, (frames, 16)).astype(np.int16)


def test_what_is_loaded_tells_its_spec(loaded: LoadedDecoder) -> None:
    """Spec, threads and device are there to be shown and compared."""
    assert loaded.spec.codebook_size == SIZE
    assert loaded.spec.samples_per_frame == 1920
    assert (loaded.threads, loaded.device) == (1, "cpu")


@pytest.mark.parametrize("frames", [0, 1, 24, 25, 26, 51])
def test_every_frame_is_1920_samples(frames: int, loaded: LoadedDecoder) -> None:
    """Exactly N x 1920 float32 samples within +-1 (CASES B6)."""
    pcm = loaded.new_stream().decode(codes_of(frames))
    assert pcm.dtype == np.float32
    assert pcm.shape == (frames * 1920,)
    assert frames == 0 or np.abs(pcm).max() <= 1.0


BAD = {
    "2048 in codebook 0": (0, 2048),
    "2048 in codebook 15": (15, 2048),
    "2150 in codebook 0": (0, 2150),
    "the size itself": (15, SIZE),
    "-1 in codebook 0": (0, -1),
    "-1 in codebook 15": (15, -1),
}


@pytest.mark.parametrize("case", BAD)
def test_codes_out_of_range_are_refused_and_the_stream_goes_on(case: str, loaded: LoadedDecoder) -> None:
    """Refused before torch sees them, naming frame and codebook; nothing is lost (CASES B1)."""
    book, value = BAD[case]
    stream, other = loaded.new_stream(), loaded.new_stream()
    assert np.array_equal(stream.decode(codes_of(5)), other.decode(codes_of(5)))
    bad = codes_of(4)
    bad[2, book] = value
    with pytest.raises(CodesError, match=rf"code {value} of frame 2, codebook {book} is outside 0\.\.63"):
        stream.decode(bad)
    assert stream.frames == 5
    assert np.array_equal(stream.decode(codes_of(5, 1)), other.decode(codes_of(5, 1)))


@pytest.mark.parametrize("shape", [(4, 15), (4, 17), (16,), (1, 4, 16)])
def test_codes_of_another_shape_are_refused(shape: tuple[int, ...], loaded: LoadedDecoder) -> None:
    """Only [T, 16] is a stretch of frames."""
    with pytest.raises(CodesError, match=r"\[T, 16\]"):
        loaded.new_stream().decode(np.zeros(shape, np.int16))


def test_floats_are_no_codes(loaded: LoadedDecoder) -> None:
    """Silent rounding would hide a mistake of the caller's."""
    with pytest.raises(CodesError, match="integers"):
        loaded.new_stream().decode(np.zeros((2, 16), np.float32))  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["<i2", ">i2", "uint16", "int32", "int64"])
def test_any_integer_type_and_layout_will_do(dtype: str, loaded: LoadedDecoder) -> None:
    """Codes straight off the wire, big-endian ones, views and read-only arrays decode alike."""
    codes = codes_of(6)
    wanted = loaded.new_stream().decode(codes)
    other = np.frombuffer(codes.astype(dtype).tobytes(), dtype).reshape(6, 16)
    assert np.array_equal(loaded.new_stream().decode(other), wanted)
    assert np.array_equal(loaded.new_stream().decode(np.asfortranarray(codes)), wanted)


def test_returned_arrays_belong_to_the_caller(loaded: LoadedDecoder) -> None:
    """Later calls neither change an array that was handed out nor are changed through it."""
    stream, other = loaded.new_stream(), loaded.new_stream()
    first = stream.decode(codes_of(3))
    kept = first.copy()
    stream.decode(codes_of(3, 1))
    assert np.array_equal(first, kept)
    assert first.flags.writeable
    first.fill(9.0)
    other.decode(codes_of(3))
    other.decode(codes_of(3, 1))
    assert np.array_equal(stream.decode(codes_of(2, 2)), other.decode(codes_of(2, 2)))


def test_codes_are_not_kept(loaded: LoadedDecoder) -> None:
    """The caller may reuse its codes array at once."""
    codes = codes_of(3)
    stream, other = loaded.new_stream(), loaded.new_stream()
    stream.decode(codes)
    other.decode(codes.copy())
    codes.fill(0)
    assert np.array_equal(stream.decode(codes_of(2)), other.decode(codes_of(2)))


def test_streams_decode_side_by_side_in_threads(loaded: LoadedDecoder) -> None:
    """Two streams in two threads give the bits of each alone."""
    alone = [loaded.new_stream().decode(codes_of(40, seed)) for seed in (1, 2)]
    results: dict[int, np.ndarray] = {}

    def work(seed: int) -> None:
        torch.set_num_threads(1)
        results[seed] = loaded.new_stream().decode(codes_of(40, seed))

    workers = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert np.array_equal(results[1], alone[0])
    assert np.array_equal(results[2], alone[1])


def test_priming_sets_the_scene_and_emits_nothing(loaded: LoadedDecoder) -> None:
    """Reference codes change what follows, and count as frames of the stream."""
    primed, both = loaded.new_stream(), loaded.new_stream()
    assert primed.prime(codes_of(72)) is None
    assert primed.frames == 72
    both.decode(codes_of(72))
    after, wanted = primed.decode(codes_of(4, 1)), both.decode(codes_of(4, 1))
    assert snr_db(torch.from_numpy(wanted), torch.from_numpy(after)) >= PARITY_DB


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_stream_that_failed_says_so(
    error: type[BaseException], loaded: LoadedDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its state is half advanced, so it refuses to go on; a new stream is not affected."""
    wanted = loaded.new_stream().decode(codes_of(5))
    stream = loaded.new_stream()
    stream.decode(codes_of(3))

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(RowsBackend, "_frames", fail)
        with pytest.raises(error):
            stream.decode(codes_of(1))
    with pytest.raises(DecoderError, match="start a new one"):
        stream.decode(codes_of(1))
    assert np.array_equal(loaded.new_stream().decode(codes_of(5)), wanted)


def test_a_precision_that_is_not_known_is_refused(tmp_path: Path) -> None:
    """Before anything is loaded."""
    with pytest.raises(ValueError, match="exact, auto, fast"):
        load_decoder(tmp_path, precision="double")


def test_fast_is_what_it_is_called_or_exact(tmp_path: Path, small_config: CodecConfig) -> None:
    """Where the machine has no means for it, float32 decodes."""
    folder = random_checkpoint(tmp_path, small_config, seed=3)
    decoder = load_decoder(folder, threads=1, precision="fast")
    assert decoder.backend.name == ("exact" if reduced_precision() is None else "fast")
    assert decoder.new_stream().decode(codes_of(3)).shape == (3 * 1920,)


def test_auto_decodes_with_what_was_chosen_on_as_many_threads(
    tmp_path: Path, small_config: CodecConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number that was asked for is handed on, and none is left to the measurement."""
    folder, asked = random_checkpoint(tmp_path, small_config, seed=3), []

    def chosen(_decoder: object, *, threads: int | None) -> Choice:
        asked.append(threads)
        return Choice("modules", threads or 2)

    monkeypatch.setattr(tune, "choose", chosen)
    loaded = [load_decoder(folder, threads=threads, precision="auto") for threads in (None, 1)]
    assert asked == [None, 1]
    assert [(one.backend.name, one.threads) for one in loaded] == [("modules", 2), ("modules", 1)]


def test_the_checkpoint_is_let_go(tmp_path: Path, small_config: CodecConfig) -> None:
    """A loaded decoder keeps its own form of the weights, and not the modules beside it."""
    decoder = load_checkpoint(random_checkpoint(tmp_path, small_config))
    gone = weakref.ref(decoder.decoder[1])
    loaded = LoadedDecoder(decoder, threads=1)
    del decoder
    gc.collect()
    assert gone() is None
    assert loaded.new_stream().decode(codes_of(1)).shape == (1920,)


def test_warming_up_measures_each_step(loaded: LoadedDecoder) -> None:
    """Seconds by frames, for the policy that sizes chunks."""
    seconds = loaded.warm_up((1, 4))
    assert list(seconds) == [1, 4]
    assert all(0 < value < 10 for value in seconds.values())


def test_state_is_flat(loaded: LoadedDecoder) -> None:
    """A stream of any length carries the same number of bytes once its window is full."""
    stream = loaded.new_stream()
    sizes = set()
    for seed in range(20):
        stream.decode(codes_of(1 + seed * 7 % 40, seed))
        if stream.frames >= 71:
            sizes.add(stream.nbytes)
    assert len(sizes) == 1


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
def test_memory_is_flat_over_many_decodes(loaded: LoadedDecoder) -> None:
    """After the first hundred decodes of 1 to 10 frames, 300 more leave memory as it is (CASES E3)."""

    def resident_mib() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    stream = loaded.new_stream()
    for index in range(100):
        stream.decode(codes_of(1 + index % 10, index))
    before = resident_mib()
    for index in range(300):
        stream.decode(codes_of(1 + index % 10, index))
    assert resident_mib() - before < 16


def test_a_missing_cuda_device_is_a_warning(
    tmp_path: Path, small_config: CodecConfig, caplog: pytest.LogCaptureFixture
) -> None:
    """Never silent, never fatal (CASES E7)."""
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    decoder = load_decoder(random_checkpoint(tmp_path, small_config), device="cuda", threads=1)
    assert decoder.device == "cpu"
    assert "no CUDA" in caplog.text


def test_what_is_not_there_is_a_checkpoint_error(tmp_path: Path) -> None:
    """The door passes errors of the tree on as they are."""
    with pytest.raises(CheckpointError, match="no such folder"):
        load_decoder(tmp_path / "nowhere")


def test_importing_the_package_loads_no_torch() -> None:
    """torch costs seconds: only the first use of a name brings it (CASES E5)."""
    code = (
        "import sys, decoder.streaming, decoder.streaming.config, decoder.streaming.fetch\n"
        "assert 'torch' not in sys.modules\n"
        "decoder.streaming.load_decoder\n"
        "assert 'torch' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    import decoder.streaming

    with pytest.raises(AttributeError, match="nothing"):
        _ = decoder.streaming.nothing
