from __future__ import annotations

from tests.helpers.hygiene import no_thread_is_left

__all__ = ["no_thread_is_left"]
