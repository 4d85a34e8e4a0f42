"""The binary half of the wire: frames in packets, and the two helpers a server needs for them.

A packet is a seven-byte header, ``<IHB`` = ``seq``, ``n_frames``, ``flags``, and then the codes as
little-endian int16, frame-major. Nothing here knows about sockets, sessions or torch.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntFlag
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from decoder.errors import PacketError

Codes = NDArray[np.int16]
"""int16 ``[frames, codebooks]``."""

HEADER_FORMAT = "<IHB"
MAX_PACKET_FRAMES = 0xFFFF
SEQ_MODULUS = 1 << 32
_HEADER = struct.Struct(HEADER_FORMAT)
HEADER_BYTES = _HEADER.size
_MAX_CODE = 0x7FFF


class Flags(IntFlag):
    """What a packet says besides its frames; unknown bits are carried and ignored."""

    NONE = 0
    EOS = 0x1
    """Last packet of the unit; may carry no frame."""
    SEGMENT_END = 0x2
    """A sentence ends with this packet."""
    RESET = 0x4
    """The client starts a new decoder state before these frames."""


@dataclass(frozen=True)
class Packet:
    """One unpacked binary message."""

    seq: int
    codes: Codes
    flags: Flags

    @property
    def n_frames(self) -> int:
        """Frames carried."""
        return len(self.codes)


def as_codes(frames: Any) -> Codes:
    """Turn whatever a talker holds into int16 ``[n, codebooks]``.

    ``frames`` is a numpy array, a (nested) list, anything with ``detach().cpu().numpy()``, or
    ``None``. One row is one frame; ``None`` or empty is no frame, ``[0, 0]``.

    Raises:
        PacketError: another rank, ragged rows, no integers, or a value outside 0..32767.

    """
    if frames is None:
        return np.zeros((0, 0), np.int16)
    if hasattr(frames, "detach"):
        frames = frames.detach().cpu().numpy()
    try:
        array = np.asarray(frames)
    except ValueError as error:
        raise PacketError(f"frames are not a matrix: {error}") from None
    if array.ndim not in (1, 2):
        raise PacketError(f"frames have rank {array.ndim}, expected [n_frames, codebooks] or one row")
    if array.size == 0:
        return np.zeros((0, array.shape[1] if array.ndim == 2 else 0), np.int16)
    if array.dtype.kind not in "iu":
        raise PacketError(f"frames hold {array.dtype}, expected integers")
    low, high = int(array.min()), int(array.max())
    if low < 0 or high > _MAX_CODE:
        raise PacketError(f"codes range from {low} to {high}, a packet carries 0..{_MAX_CODE}")
    return np.atleast_2d(array).astype(np.int16)


def pack(seq: int, frames: Any, flags: int = 0) -> bytes:
    """Pack frames (see :func:`as_codes`) into one packet; ``seq`` wraps at 2^32.

    Raises:
        PacketError: frames that are no codes, or more than 65535 of them.

    """
    codes = as_codes(frames)
    if len(codes) > MAX_PACKET_FRAMES:
        raise PacketError(f"{len(codes)} frames do not fit one packet of at most {MAX_PACKET_FRAMES}")
    return _HEADER.pack(seq % SEQ_MODULUS, len(codes), flags & 0xFF) + codes.astype("<i2").tobytes()


def unpack(data: bytes, codebooks: int) -> Packet:
    """Unpack one binary message whose frames have ``codebooks`` codes.

    Raises:
        PacketError: a buffer shorter than the header, or a body of another length than it announces.

    """
    if len(data) < HEADER_BYTES:
        raise PacketError(f"packet of {len(data)} bytes is shorter than its {HEADER_BYTES}-byte header")
    seq, n_frames, flags = _HEADER.unpack_from(data)
    expected = n_frames * codebooks * 2
    if len(data) - HEADER_BYTES != expected:
        raise PacketError(
            f"packet body is {len(data) - HEADER_BYTES} bytes, "
            f"{n_frames} frames of {codebooks} codes are {expected} bytes"
        )
    codes = np.frombuffer(data, "<i2", offset=HEADER_BYTES).reshape(n_frames, codebooks)
    return Packet(seq, codes.astype(np.int16), Flags(flags))


def accumulate(rows: Codes, payload: Any) -> Codes:
    """Fold one talker step's payload into the growing ``[rows, codebooks]`` matrix.

    A delta is appended. A longer payload that repeats the accumulated rows is a snapshot and replaces
    them: it may have one placeholder row (all zero, or with a negative code) in front, and newer rows
    behind. An identical payload is a duplicate; an empty one, or one that is no matrix, changes nothing.
    Contents are compared, so a talker's repeated frame is taken for a duplicate: where rows can be counted
    instead, count them. Values that no int16 holds become -1, which no decoder takes.

    Raises:
        PacketError: a matrix without integers, or of another width than the accumulated rows.

    """
    new = _matrix(payload)
    if new is None:
        return rows
    if len(rows) == 0:
        return new
    if new.shape[1] != rows.shape[1]:
        raise PacketError(f"frames of {new.shape[1]} codes do not continue frames of {rows.shape[1]}")
    if np.array_equal(new, rows):
        return rows
    return np.concatenate([rows, new]) if start_of_snapshot(new, rows) is None else new


def _matrix(payload: Any) -> Codes | None:
    """Return a talker's payload as int16, or ``None`` if it is empty or no matrix."""
    if hasattr(payload, "detach"):
        payload = payload.detach().cpu().numpy()
    try:
        array = np.zeros(0) if payload is None else np.asarray(payload)
    except ValueError:
        return None
    if array.ndim != 2 or array.size == 0:
        return None
    if array.dtype.kind not in "iu":
        raise PacketError(f"frames hold {array.dtype}, expected integers")
    return np.where((array < 0) | (array > _MAX_CODE), -1, array).astype(np.int16)


def start_of_snapshot(new: Codes, rows: Codes) -> int | None:
    """Return where in the longer ``new`` all ``rows`` are repeated, ``None`` if they are not.

    They begin with the first row of ``new``, or behind one placeholder.
    """
    if len(new) <= len(rows):
        return None
    if np.array_equal(new[: len(rows)], rows):
        return 0
    is_placeholder = bool((new[0] == 0).all() or (new[0] < 0).any())
    return 1 if is_placeholder and np.array_equal(new[1 : 1 + len(rows)], rows) else None


def align(rows: Codes, ids: ArrayLike, codebook_size: int) -> Codes:
    """Keep the rows of ``[rows, codebooks]`` that belong to real codebook-0 tokens ``ids``.

    Trailing ``-1`` ids are dropped, rows are aligned to the ids at their ends, and a row stays only if
    its id is a codebook id and all its codes are in ``0..codebook_size-1``.
    """
    tokens: NDArray[np.int64] = np.asarray(ids, dtype=np.int64).reshape(-1)
    real = np.flatnonzero(tokens != -1)
    tokens = tokens[: real[-1] + 1] if real.size else tokens[:0]
    count = min(len(rows), len(tokens))
    rows, tokens = rows[len(rows) - count :], tokens[len(tokens) - count :]
    rows = rows[(tokens >= 0) & (tokens < codebook_size)]
    return rows[valid_rows(rows, codebook_size)]


def valid_rows(codes: Codes, codebook_size: int) -> NDArray[np.bool_]:
    """Return, for each frame of ``[n, codebooks]``, whether all codes are in ``0..codebook_size-1``."""
    return np.asarray(((codes >= 0) & (codes < codebook_size)).all(axis=1), np.bool_)


def placeholder_rows(codes: Codes) -> NDArray[np.bool_]:
    """Return, for each frame of ``[n, codebooks]``, whether it is all zero.

    A talker never samples codebook-0 id 0; such rows come from a server that misaligned rows and tokens.
    """
    return np.asarray((codes == 0).all(axis=1), np.bool_)


def real_frames(codes: Codes, codebook_size: int) -> Codes:
    """Drop the rows no talker sampled: all zero, negative, or beyond the codebook."""
    return codes[valid_rows(codes, codebook_size) & ~placeholder_rows(codes)]
