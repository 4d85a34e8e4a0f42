"""A tape: the frames of one utterance, kept in a file together with what they say.

The file is a numpy ``.npz`` archive (never pickled) with ``codes`` int16 ``[T, codebooks]``, ``text`` and
the numbers of the codec, so that a tape is never played through a decoder it was not made for.
"""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decoder.errors import PacketError, TapeError
from decoder.spec import CodecSpec
from decoder.wire.packets import Codes, as_codes

_NUMBERS = tuple(f.name for f in fields(CodecSpec))
_UNREADABLE = (
    OSError,
    EOFError,
    KeyError,
    ValueError,
    TypeError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class Tape:
    """One recorded utterance."""

    text: str
    spec: CodecSpec
    codes: Codes

    def save(self, path: Path) -> None:
        """Write the tape to ``path``, whatever its suffix."""
        numbers: dict[str, Any] = {name: np.asarray(value) for name, value in asdict(self.spec).items()}
        with path.open("wb") as file:
            np.savez_compressed(file, codes=self.codes, text=np.asarray(self.text), **numbers)

    @classmethod
    def load(cls, path: Path) -> Tape:
        """Read a tape.

        Raises:
            TapeError: the file is missing, no archive, damaged, or lacks a part.

        """
        try:
            # zipfile first: numpy would take a bare array for an archive, and leave a broken one open.
            with zipfile.ZipFile(path) as archive:
                parts = {name: _read_array(archive, name) for name in ("codes", "text", *_NUMBERS)}
            spec = CodecSpec(**{name: parts[name].item() for name in _NUMBERS})
            codes = as_codes(parts["codes"])
        except (*_UNREADABLE, PacketError) as error:
            raise TapeError(f"{path} is not a tape: {error}") from None
        if len(codes) and codes.shape[1] != spec.codebooks:
            raise TapeError(
                f"{path} is not a tape: its frames have {codes.shape[1]} codes, not {spec.codebooks}"
            )
        return cls(str(parts["text"]), spec, codes.reshape(-1, spec.codebooks))


def _read_array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    with archive.open(f"{name}.npy") as member:
        array: NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
    return array
