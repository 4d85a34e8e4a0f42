"""Whatever the engine does between the frames, the reader yields the frames and nothing else."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from decoder.spec import CodecSpec
from decoder.wire.packets import Codes
from server.omni_plugin.nearfield_omni.rows import RowReader
from tests.helpers.omni_output_probe import ask
from tests.helpers.omni_server.engine import (
    TALKER_ONLY,
    Coat,
    FakeEngine,
    SamplingParams,
    Tensors,
    torch_tensor,
)
from tests.helpers.omni_server.scene import Scene, reference_codes, true_frames

SPEC = CodecSpec()
steps = st.lists(st.integers(1, 12), max_size=4, unique=True).map(tuple)
scenes = st.builds(
    Scene,
    step_s=st.just(0.0),
    prefill_rows=st.integers(0, 12),
    prefill_parts=st.integers(1, 3),
    frames=st.integers(0, 12),
    stale_at=steps,
    invalid_at=steps,
    burst=st.integers(1, 5),
    ref_frames=st.sampled_from([0, 3]),
)


def read(
    scene: Scene, tensors: Tensors = Coat, kind: str = "DELTA"
) -> tuple[Codes, list[int], RowReader, Any]:
    """Return all frames, how many each output brought, the reader, and the last payload."""

    async def run() -> tuple[Codes, list[int], RowReader, Any]:
        reader = RowReader(SPEC)
        parts: list[Codes] = [np.zeros((0, 16), np.int16)]
        engine = FakeEngine(TALKER_ONLY, scene, tensors)
        payload = None
        async for output in engine.generate(
            {"text": "a text", "voice": None}, "1", sampling_params_list=[SamplingParams(kind)]
        ):
            payload = output.multimodal_output
            parts.append(reader.take(payload, is_last=output.finished))
        return np.concatenate(parts), [len(part) for part in parts[1:]], reader, payload

    return asyncio.run(run())


def truth(scene: Scene) -> Codes:
    return true_frames(scene, "a text")


@given(scenes)
def test_exactly_the_true_frames_come_out(scene: Scene) -> None:
    """Zeros of the prefill, repeats after a preemption, rows of invalid tokens, lists that grow unseen."""
    frames, _, _, _ = read(scene)
    np.testing.assert_array_equal(frames, truth(scene))
    assert frames.dtype == np.int16


@given(scenes)
def test_without_flags_only_a_repeat_after_a_preemption_cannot_be_told(scene: Scene) -> None:
    scene = replace(scene, flags=False, stale_at=())
    np.testing.assert_array_equal(read(scene)[0], truth(scene))


@given(scenes)
def test_a_final_output_alone_has_them_all(scene: Scene) -> None:
    frames, counts, _, _ = read(scene, kind="FINAL_ONLY")
    assert len(counts) == 1
    np.testing.assert_array_equal(frames, truth(scene))


def test_a_frame_is_there_with_the_output_that_has_it() -> None:
    """The frame of a token comes one step after it; none is held back, and the last comes with the end."""
    _, counts, _, _ = read(Scene(step_s=0.0, frames=6))
    assert counts == [0, 1, 1, 1, 1, 1, 1]


def test_equal_frames_in_a_row_are_all_kept() -> None:
    frames, _, _, _ = read(Scene(step_s=0.0, frames=12))
    assert (frames[1:] == frames[:-1]).all(axis=1).sum() == 2


def test_real_tensors_are_read_as_well() -> None:
    scene = Scene(step_s=0.0, frames=9, stale_at=(4,), invalid_at=(5,), ref_frames=4)
    frames, _, reader, payload = read(scene, torch_tensor)
    np.testing.assert_array_equal(frames, truth(scene))
    np.testing.assert_array_equal(reader.reference(payload), reference_codes(scene))


def test_the_released_accumulation_gives_the_same() -> None:
    """The request state of vLLM-Omni itself, for both ways the rows may take, read late as well."""
    scene = Scene(frames=9, stale_at=(3,), invalid_at=(5,), ref_frames=4, prefill_parts=2)
    variants = [("latent", 1), ("audio", 1), ("latent", 4)]
    for (_, read_every), told in zip(variants, ask(scene, variants), strict=True):
        assert told["frames"] == truth(scene).tolist()
        assert told["reference"] == reference_codes(scene).tolist()
        if read_every == 1:
            assert told["counts"] == [0, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1]


def rows(*values: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.repeat(np.array(values, np.int64)[:, None], 16, axis=1)


@pytest.mark.parametrize("bad", [-1, 0, 2048, 2150, 70_000, -40_000])
def test_rows_that_no_talker_sampled_are_dropped(bad: int) -> None:
    """Zeros, negative codes, the stop token, and what would be a code once it is cut to 16 bits."""
    taken = RowReader(SPEC).take({"codes": {"audio": rows(5, bad, 6)}})
    assert taken[:, 0].tolist() == [5, 6]


def test_a_row_is_dropped_for_one_impossible_code_and_kept_for_one_that_is_not_zero() -> None:
    audio = rows(5, 0, 7)
    audio[0, 9], audio[1, 15] = 2048, 3
    taken = RowReader(SPEC).take({"codes": {"audio": audio}})
    assert taken[:, 0].tolist() == [0, 7]


def test_a_row_waits_for_its_flag_and_for_the_end_at_most() -> None:
    """The list of rows and that of flags are filled by another thread, one after the other."""
    reader = RowReader(SPEC)
    audio, valid = [rows(5), rows(6)], [np.ones(1, np.int8)]
    payload = {"codes": {"audio": audio}, "meta": {"codec_frame_valid": valid}}
    assert reader.take(payload)[:, 0].tolist() == [5]
    valid.append(np.zeros(1, np.int8))
    audio.append(rows(7))
    assert reader.take(payload)[:, 0].tolist() == []
    assert reader.take(payload, is_last=True)[:, 0].tolist() == [7]


@pytest.mark.parametrize(
    "payload",
    [None, {}, {"codes": {}}, {"codes": None}, {"meta": {"codec_frame_valid": None}}, {"audio": np.ones(3)}],
)
def test_a_payload_without_rows_has_none(payload: dict[str, Any] | None) -> None:
    reader = RowReader(SPEC)
    assert reader.take(payload).shape == (0, 16)
    assert reader.reference(payload) is None


def test_rows_of_another_width_are_an_error_that_names_both() -> None:
    with pytest.raises(ValueError, match=r"shape \(2, 8\), expected 16"):
        RowReader(SPEC).take({"codes": {"audio": np.ones((2, 8), np.int64)}})


@pytest.mark.parametrize(
    "value", [rows(1, 2), [rows(9), rows(1, 2)], torch.tensor(rows(1, 2)), rows(1, 0, 2, -1)]
)
def test_the_reference_is_the_newest_value_without_its_placeholders(value: Any) -> None:
    reference = RowReader(SPEC).reference({"codes": {"ref": value}})
    assert reference is not None
    assert reference[:, 0].tolist() == [1, 2]


@pytest.mark.parametrize(
    "value", [torch.empty(0, dtype=torch.long), [torch.empty(0)], [], None, rows(0), rows()]
)
def test_a_voice_that_was_not_cloned_has_no_reference(value: Any) -> None:
    """Beside cloned voices in one batch, the others have an empty tensor."""
    assert RowReader(SPEC).reference({"codes": {"ref": value}}) is None
