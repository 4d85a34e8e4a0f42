from __future__ import annotations

from tests.helpers.hygiene import no_task_is_left, no_thread_is_left

__all__ = ["no_task_is_left", "no_thread_is_left"]
