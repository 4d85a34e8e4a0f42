"""What the state dataclasses beside the layers have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from torch import Tensor


def tensors_of(state: object) -> Iterator[Tensor]:
    """Every tensor that ``state`` holds: a tensor, or a dataclass, list or tuple of such."""
    if isinstance(state, Tensor):
        yield state
    elif isinstance(state, (list, tuple)):
        for item in state:
            yield from tensors_of(item)
    elif is_dataclass(state) and not isinstance(state, type):
        for field in fields(state):
            yield from tensors_of(getattr(state, field.name))


def state_nbytes(state: object) -> int:
    """Bytes that the tensors of ``state`` keep alive (whole storages, so a careless view would show)."""
    storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage() for tensor in tensors_of(state)}
    return sum(storage.nbytes() for storage in storages.values())
