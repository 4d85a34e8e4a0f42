"""Many utterances side by side: shared weights, a row of state each, one step for those that align.

::

    batch = StreamBatch(StaticStep(decoder), rows=8)
    pcm = batch.step({0: codes_of_one, 3: codes_of_another})   # {0: pcm, 3: pcm}

Rows whose codes have the same length go through the decoder together, so each weight is read once for all
of them; positions need not agree. A row is an utterance until ``restart`` makes another of it.

This is for a device with many units. On a CPU, streams that take turns in the ``exact`` backend win: 2 cores,
full size, 4 streams in steps of 1 and 4 frames, 1.06 and 1.73 streams in real time in turn, 0.86 and 0.83
together (``nearfield bench --streams 4``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import torch
from torch import Tensor

from decoder.streaming.static import StaticStep


class StreamBatch:
    """Up to ``rows`` utterances. Calls come from one thread at a time."""

    def __init__(self, step: StaticStep, rows: int) -> None:
        if rows < 1:
            raise ValueError(f"a batch has at least one row, not {rows}")
        self.rows = rows
        self._step = step
        self._state = step.new_state(rows)

    @property
    def nbytes(self) -> int:
        """Bytes of carried tensors of all rows."""
        return self._state.nbytes

    def restart(self, row: int) -> None:
        """Make a new utterance of a row: the state before the first frame."""
        with torch.inference_mode():
            self._state.carried[row] = 0.0
            self._state.position[row] = 0

    def step(self, codes: Mapping[int, Tensor]) -> dict[int, Tensor]:
        """Decode the next frames of some rows: row -> codes, int64 ``[T, 16]``, valid (they are not checked).

        Returns:
            row -> pcm, float32 ``[T * 1920]``.

        """
        by_length: defaultdict[int, list[int]] = defaultdict(list)
        for row, piece in codes.items():
            by_length[piece.shape[0]].append(row)
        pcm: dict[int, Tensor] = {}
        for rows in by_length.values():
            together = torch.stack([codes[row] for row in rows]).to(self._step.device)
            pcm |= zip(rows, self._step_rows(together, rows), strict=True)
        return pcm

    def _step_rows(self, codes: Tensor, rows: list[int]) -> Tensor:
        state = self._state
        if rows == list(range(self.rows)):
            return self._step(codes, state)
        with torch.inference_mode():
            index = torch.tensor(rows, device=self._step.device)
            some = self._step.state_of(state.carried[index], state.position[index])
            pcm = self._step(codes, some)
            state.carried[index] = some.carried
            state.position[index] = some.position
            return pcm
