"""A tape: the frames of one utterance, kept in a file together with what they say.

The file is a numpy ``.npz`` archive (never pickled) with ``codes`` int16 ``[T, codebooks]``, ``text`` and
the numbers of the codec, so that a tape is never played through a decoder it was not made for.
"""

from __future__ import annotations

import zipfile
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from decoder.errors import TapeError
from decoder.spec import CodecSpec
from decoder.wire.packets import Codes


@dataclass(frozen=True)
class Tape:
    """One recorded utterance."""

    text: str
    spec: CodecSpec
    codes: Codes

    def save(self, path: Path) -> None:
        """Write the tape to ``path``."""
        numbers: dict[str, Any] = {name: np.asarray(value) for name, value in asdict(self.spec).items()}
        np.savez_compressed(path, codes=self.codes, text=np.asarray(self.text), **numbers)

    @classmethod
    def load(cls, path: Path) -> Tape:
        """Read a tape.

        Raises:
            TapeError: the file is missing, no archive, or lacks a part.

        """
        try:
            with np.load(path, allow_pickle=False) as archive:
                numbers = {f.name: archive[f.name].item() for f in fields(CodecSpec)}
                return cls(str(archive["text"]), CodecSpec(**numbers), archive["codes"].astype(np.int16))
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise TapeError(f"{path} is not a tape: {error}") from None
