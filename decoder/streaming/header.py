"""The table of contents at the start of a safetensors file, read without torch.

A safetensors file is a length (8 bytes, little-endian), that many bytes of JSON, and the data. The
JSON gives each tensor's type, shape and byte range, so one can tell a good file from a bad one, and
fetch some tensors only, without touching the data.
Source: https://huggingface.co/docs/safetensors, section Format.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LENGTH_BYTES = 8
_JSON_MAX_BYTES = 100_000_000
"""The format's own limit."""

_ITEM_BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "U16": 2, "I16": 2, "F16": 2, "BF16": 2,
    "U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8,
}  # fmt: skip


@dataclass(frozen=True)
class TensorEntry:
    """Where a tensor lies; offsets are bytes from the start of the data."""

    dtype: str
    """The format's name, as ``F32``."""
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class Header:
    """The tensors of a file by name, in file order."""

    tensors: Mapping[str, TensorEntry]
    data_start: int
    """Bytes from the start of the file to the data."""


def json_length(start: bytes) -> int:
    """Read the length field in the first bytes of a file.

    Raises ValueError, whose text completes "FILE: ", when this cannot be a safetensors file.
    """
    if not start:
        raise ValueError("the file is empty")
    if start.lstrip()[:1] == b"<":
        raise ValueError("an HTML or XML page instead of a safetensors file; download it again")
    if start.startswith(b"version "):
        raise ValueError("a Git LFS pointer instead of the file itself; run `git lfs pull`")
    if len(start) < LENGTH_BYTES:
        raise ValueError("too short for a safetensors file")
    length = int.from_bytes(start[:LENGTH_BYTES], "little")
    if not 2 <= length <= _JSON_MAX_BYTES:
        raise ValueError("not a safetensors file")
    return length


def parse_header(text: bytes, file_bytes: int) -> Header:
    """Parse the JSON ``text`` of a file of ``file_bytes`` and check every range against that size.

    Raises ValueError, whose text completes "FILE: " and names the first tensor that does not fit.
    """
    data_start = LENGTH_BYTES + len(text)
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ValueError(f"not a safetensors file (its header is no JSON: {error})") from error
    if not isinstance(content, dict):
        raise ValueError("not a safetensors file (its header is no JSON object)")
    content.pop("__metadata__", None)
    tensors = {name: _parse_entry(name, entry) for name, entry in content.items()}
    for name, entry in sorted(tensors.items(), key=lambda item: item[1].end):
        if data_start + entry.end > file_bytes:
            raise ValueError(
                f"truncated: tensor {name} ends at byte {data_start + entry.end:,}; download the file again"
            )
    return Header(dict(sorted(tensors.items(), key=lambda item: item[1].begin)), data_start)


def read_header(path: Path) -> Header:
    """Read the header of the file at ``path``. Raises OSError, or ValueError as ``parse_header``."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = json_length(file.read(64)[:64])
        if LENGTH_BYTES + length > size:
            raise ValueError("truncated within its header, or not a safetensors file")
        file.seek(LENGTH_BYTES)
        return parse_header(file.read(length), size)


def build_header(tensors: Mapping[str, TensorEntry]) -> bytes:
    """Lay out ``tensors`` one behind the other in their order; return length field and JSON."""
    content: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, entry in tensors.items():
        size = entry.end - entry.begin
        content[name] = {
            "dtype": entry.dtype,
            "shape": list(entry.shape),
            "data_offsets": [offset, offset + size],
        }
        offset += size
    text = json.dumps(content, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the data starts aligned, as the format's own writer has it
    return len(text).to_bytes(LENGTH_BYTES, "little") + text


def _parse_entry(name: str, entry: Any) -> TensorEntry:
    try:
        dtype, shape, (begin, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        counts = (*shape, begin, end)
        if not isinstance(dtype, str) or any(type(count) is not int or count < 0 for count in counts):
            raise TypeError
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"tensor {name} has no readable type, shape and range") from error
    item_bytes = _ITEM_BYTES.get(dtype)
    if item_bytes is not None and end - begin != item_bytes * math.prod(shape):
        raise ValueError(f"tensor {name} claims {end - begin:,} bytes, which is not {dtype} {list(shape)}")
    return TensorEntry(dtype, shape, begin, end)
