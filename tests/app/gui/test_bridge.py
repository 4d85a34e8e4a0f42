from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QElapsedTimer
from pytestqt.qtbot import QtBot

from app.desktop.link_view import LinkKind, LinkView
from app.desktop.player_state import Phase, PlayerState
from app.engine.events import DecoderState, LinkStatus, Notice, OutputChanged, PauseChanged, Severity
from app.gui.bridge import Bridge
from app.session.session import LinkState
from decoder.wire.events import Mode
from tests.helpers.fake_player import FakePlayer


class Seen:
    """A bridge, and everything that it told."""

    def __init__(self) -> None:
        self.player = FakePlayer()
        self.title = "Demo"
        self.now_s = 100.0
        self.bridge = Bridge(self.player, lambda: self.title, clock=lambda: self.now_s)
        self.states: list[PlayerState] = []
        self.measured: list[PlayerState] = []
        self.links: list[LinkView] = []
        self.others: list[object] = []
        self.bridge.state_changed.connect(self.states.append)
        self.bridge.measured.connect(lambda state, peaks: self.measured.append(state))
        self.bridge.link_changed.connect(self.links.append)
        for signal in (self.bridge.noticed, self.bridge.decoder_changed, self.bridge.output_changed):
            signal.connect(self.others.append)


@pytest.fixture
def seen(qtbot: QtBot) -> Seen:
    return Seen()


def test_a_new_phase_is_told_at_once_each_time(seen: Seen) -> None:
    phases = [Phase.CONNECTING, Phase.WAITING, Phase.BUFFERING, Phase.PLAYING, Phase.PAUSED, Phase.IDLE]
    for phase in phases:
        seen.player.show(phase=phase)
    assert [state.phase for state in seen.states] == phases
    assert [state.phase for state in seen.measured] == phases


def test_another_reading_in_the_same_phase_is_told_at_once(seen: Seen) -> None:
    seen.player.show(phase=Phase.PLAYING, reading=1)
    seen.player.show(reading=2)
    assert [state.reading for state in seen.states] == [1, 2]


def test_the_playhead_comes_no_more_than_30_times_a_second_and_the_last_of_it_always(
    seen: Seen, qtbot: QtBot
) -> None:
    seen.player.show(phase=Phase.PLAYING, reading=1)
    watch = QElapsedTimer()
    watch.start()
    steps = 0
    while watch.elapsed() < 400:
        steps += 1
        seen.player.show(heard_s=steps / 1000)
        qtbot.wait(1)
    last_s = steps / 1000
    qtbot.waitUntil(lambda: seen.states[-1].heard_s == last_s and seen.measured[-1].heard_s == last_s)
    passed_s = watch.elapsed() / 1000
    assert steps > 40
    assert len(seen.states) <= 30 * passed_s + 3
    assert len(seen.measured) <= 10 * passed_s + 3


def test_the_peaks_come_with_the_numbers(seen: Seen) -> None:
    got: list[object] = []
    seen.bridge.measured.connect(lambda state, peaks: got.append(peaks))
    seen.player.sound = np.ones(5, np.float32)
    seen.player.show(phase=Phase.PLAYING)
    assert got[-1] is seen.player.sound


def test_events_go_to_their_signals_and_those_of_utterances_go_past(seen: Seen) -> None:
    events = [Notice(Severity.INFO, "x"), DecoderState(True, ""), OutputChanged(None, "")]
    for event in (*events, PauseChanged(True)):
        seen.bridge.on_event(event)
    assert seen.others == events


def test_the_link_is_told_with_the_time_of_the_next_try(seen: Seen) -> None:
    seen.bridge.on_event(DecoderState(True, ""))
    seen.bridge.on_event(LinkStatus(LinkState.OFFLINE, Mode.UNKNOWN, "refused", retry_in_s=4.0))
    assert seen.links[-1].kind is LinkKind.OFFLINE
    assert seen.links[-1].retry_at_s == 104.0
    seen.bridge.on_event(LinkStatus(LinkState.READY, Mode.CODEC, ""))
    assert seen.links[-1] == LinkView(LinkKind.CODEC, "Demo")


def test_another_server_has_another_story(seen: Seen) -> None:
    seen.bridge.on_event(DecoderState(True, ""))
    seen.bridge.on_event(LinkStatus(LinkState.READY, Mode.CODEC, ""))
    seen.title = "Studio"
    seen.bridge.tell_link()
    assert seen.links[-1].title == "Studio"
    assert seen.links[-1].kind is not LinkKind.CODEC
