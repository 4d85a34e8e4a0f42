"""Texts that say a limit say the one that holds; they are translated whole, so the figure stands in them."""

from __future__ import annotations

import re

import pytest

from app.config import Config, merge
from app.desktop.buffer_history import SPAN_S
from app.desktop.cloning import NameFault
from app.desktop.profile_rules import MOST_NAME_CHARS
from app.desktop.profile_rules import Fault as ProfileFault
from app.desktop.voices import FaultKind
from app.engine import reference
from app.errors import ConfigError
from app.gui.language import LANGUAGES
from app.gui.settings.profile_form import _FAULTS as PROFILE_FAULTS
from app.gui.voice.words import _FAULTS, _LANGUAGES, _NAMES, _TASKS, _UNFIT
from app.gui.widgets.latency_panel import LatencyPanel
from app.session.voices import MAX_NAME_CHARS
from decoder.wire import rules


def figures(text: object) -> list[float]:
    return [float(number) for number in re.findall(r"\d+", str(text))]


def test_limits_are_those_that_are_checked() -> None:
    assert figures(PROFILE_FAULTS[ProfileFault.LONG_NAME]) == [MOST_NAME_CHARS]
    assert figures(_FAULTS[FaultKind.INSTRUCTIONS_TOO_LONG]) == [rules.MAX_INSTRUCTIONS_CHARS]
    assert figures(_FAULTS[FaultKind.RECORDING_MISSING]) == [reference.MIN_S, reference.MAX_S]
    assert figures(_UNFIT[reference.Unfit.TOO_SHORT]) == [reference.MIN_S]
    assert figures(_UNFIT[reference.Unfit.TOO_LONG]) == [reference.MAX_S]
    assert figures(_NAMES[NameFault.TOO_LONG]) == [MAX_NAME_CHARS]


def test_the_span_of_the_buffer_graph_is_the_one_that_is_drawn(qtbot: object) -> None:
    assert figures(LatencyPanel()._graph.accessibleName()) == [SPAN_S]


def test_everything_that_the_wire_knows_has_a_name() -> None:
    assert set(_TASKS) == set(rules.TASK_TYPES)
    assert set(_LANGUAGES) == set(rules.LANGUAGES)


def test_the_languages_of_the_settings_are_those_of_the_window() -> None:
    for code in ("system", *LANGUAGES):
        assert merge(("here", {"appearance.language": code})) != Config() or code == "system"
    with pytest.raises(ConfigError, match="language"):
        merge(("here", {"appearance.language": "xx"}))
