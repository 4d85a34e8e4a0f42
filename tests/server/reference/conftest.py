from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.hygiene import no_task_is_left, no_thread_is_left
from tests.helpers.reference_rig import ReferenceProcess, reference_process, reference_wav

__all__ = ["no_task_is_left", "no_thread_is_left"]


@pytest.fixture(scope="session")
def process() -> Iterator[ReferenceProcess]:
    with reference_process() as shared:
        yield shared


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording to clone."""
    path = tmp_path_factory.mktemp("voice") / "reference.wav"
    path.write_bytes(reference_wav())
    return path
