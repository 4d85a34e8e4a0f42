from __future__ import annotations

import re

from app.gui.milestones import Milestones, process_age_s


def test_the_age_of_this_process_is_known_and_grows() -> None:
    age_s = process_age_s()
    assert age_s is not None
    assert 0 < age_s < 3600
    assert (process_age_s() or 0) >= age_s


def test_milestones_are_in_order_and_counted_from_the_start_of_the_process() -> None:
    milestones = Milestones()
    milestones.mark("one")
    milestones.mark("two")
    (first, first_s, first_cpu_s), (second, second_s, second_cpu_s) = milestones.reached
    assert 0 < first_cpu_s <= second_cpu_s
    assert (first, second) == ("one", "two")
    assert 0 < first_s <= second_s
    assert second_s >= (process_age_s() or 0) - 1


def test_the_table_has_a_line_for_each() -> None:
    milestones = Milestones()
    milestones.mark("window visible")
    _heading, line = milestones.table().splitlines()
    assert re.fullmatch(r" *\d+ ms +\d+ ms +\d+ ms  window visible", line)
