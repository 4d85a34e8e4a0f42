"""How far two token streams agree. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Agreement:
    """Two streams of frames, side by side from the first on."""

    first_frames: int
    second_frames: int
    prefix_frames: int
    """Equal from the beginning on, all codes of each."""
    equal_frames: int
    """Equal at the same place, of the shorter one's length."""
    equal_codes: float
    """Share of the codes that are equal at the same place, of the shorter one's length; 1 for nothing."""

    @property
    def is_whole(self) -> bool:
        """Whether the streams are the same."""
        return self.first_frames == self.second_frames == self.prefix_frames


def agreement(first: npt.NDArray[np.integer], second: npt.NDArray[np.integer]) -> Agreement:
    """Compare codes ``[T, 16]`` with codes ``[U, 16]``.

    A talker says each frame because of those before: past the first difference equal frames are chance.
    """
    common = min(len(first), len(second))
    same = first[:common] == second[:common]
    frames = same.all(axis=1)
    return Agreement(
        first_frames=len(first),
        second_frames=len(second),
        prefix_frames=common if frames.all() else int(np.argmin(frames)),
        equal_frames=int(frames.sum()),
        equal_codes=float(same.mean()) if same.size else 1.0,
    )
