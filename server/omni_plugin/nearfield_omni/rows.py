"""Codec frames out of the outputs of one generation, counted, never recognised.

``codes.audio`` is a tensor in the first output, then a list of tensors that grows by one a step, then one
tensor of all rows. Whatever its shape, row number n of it is row number n of the generation, so an integer
says what was read. Contents say nothing: two equal frames in a row are legal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decoder.spec import CodecSpec
from decoder.wire.packets import Codes, real_frames

Rows = NDArray[Any]


class RowReader:
    """Reads the rows of one generation, each once; one object a generation."""

    def __init__(self, spec: CodecSpec) -> None:
        self._spec = spec
        self._codes = _Column((0, spec.codebooks))
        self._valid = _Column((0,))

    @property
    def seen(self) -> int:
        """Rows that came, frames or not: a generation without any is one whose rows never left the engine."""
        return self._codes.count

    def take(self, payload: Mapping[str, Any] | None, *, is_last: bool = False) -> Codes:
        """Return the frames that ``payload`` has beyond those that were read, int16 ``[n, codebooks]``.

        Rows of zeros, rows with impossible codes, and rows with ``codec_frame_valid`` 0 are no frames. A row
        whose flag has not come yet is kept until it does, or until ``is_last``.

        Raises:
            ValueError: the rows have another width than the codec has codebooks.

        """
        codes, meta = _part(payload, "codes"), _part(payload, "meta")
        self._codes.take(codes.get("audio"))
        self._valid.take(meta.get("codec_frame_valid"))
        has_flags = self._valid.count > 0
        ready = self._codes.held
        if has_flags and not is_last:
            ready = min(ready, self._valid.held)
        rows = self._codes.release(ready)
        if rows.ndim != 2 or rows.shape[1] != self._spec.codebooks:
            raise ValueError(
                f"the talker's rows have the shape {rows.shape}, expected {self._spec.codebooks} codes"
            )
        flags = self._valid.release(min(ready, self._valid.held)) if has_flags else np.ones(ready)
        flags = np.concatenate([flags.reshape(-1), np.ones(len(rows) - len(flags))])
        kept = rows[flags != 0]
        in_range = ((kept >= 0) & (kept < self._spec.codebook_size)).all(axis=1)
        return real_frames(kept[in_range].astype(np.int16), self._spec.codebook_size)

    def reference(self, payload: Mapping[str, Any] | None) -> Codes | None:
        """Return the codes that the voice was cloned from, int16 ``[n, codebooks]``; ``None`` without any."""
        value = _part(payload, "codes").get("ref")
        # Every step repeats them, so that a list of them has nothing but equals; requests without any have an
        # empty tensor.
        newest = value[-1] if isinstance(value, (list, tuple)) and value else value
        if newest is None:
            return None
        codes = _array(newest)
        if codes.ndim != 2 or codes.shape[1] != self._spec.codebooks or not len(codes):
            return None
        in_range = ((codes >= 0) & (codes < self._spec.codebook_size)).all(axis=1)
        kept = real_frames(codes[in_range].astype(np.int16), self._spec.codebook_size)
        return kept if len(kept) else None


class _Column:
    """One value of the payload: how many of its rows were seen, and those that nobody has taken yet."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.count = 0
        """Rows seen so far."""
        self._entries = 0
        self._entry_rows = 0
        """Entries of the list that were read, and the rows in them."""
        self._held: list[Rows] = []
        self._empty: Rows = np.zeros(shape, np.int64)

    @property
    def held(self) -> int:
        """Rows seen that were not released."""
        return sum(map(len, self._held))

    def take(self, value: Any) -> None:
        """See what ``value`` has beyond the rows seen so far."""
        if value is None:
            return
        if not isinstance(value, (list, tuple)):
            self._see(_array(value), 0)
            return
        # The list goes on growing in another thread: what is there now is read, the rest another time.
        for entry in value[self._entries :]:
            rows = _array(entry)
            self._see(rows, self._entry_rows)
            self._entries += 1
            self._entry_rows += len(rows)

    def _see(self, rows: Rows, first: int) -> None:
        """See ``rows``, the first of which is number ``first`` of the generation."""
        news = rows[max(0, self.count - first) :]
        if len(news):
            self._held.append(news)
            self.count += len(news)

    def release(self, count: int) -> Rows:
        """Return the oldest ``count`` of the rows held."""
        if not count:
            return self._empty
        held = np.concatenate(self._held)
        self._held = [held[count:]]
        return held[:count]


def _part(payload: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    """Return a nested part of a payload, empty if it has none."""
    part = None if payload is None else payload.get(name)
    return part if isinstance(part, Mapping) else {}


def _array(value: Any) -> Rows:
    """Return a tensor, wherever it lies, as an array of at least one dimension."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    return np.atleast_1d(np.asarray(value))
