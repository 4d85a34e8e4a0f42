"""How long texts wait; no clock is needed for that."""

from __future__ import annotations

import pytest

from app.engine.patience import Patience
from app.session.events import LinkChanged, LinkState

READY = LinkChanged(LinkState.READY)
CONNECTING = LinkChanged(LinkState.CONNECTING)
FAILED = LinkChanged(LinkState.OFFLINE, "nothing listens there")
LOST = LinkChanged(LinkState.OFFLINE, "the link ended")


def after(patience_s: float, *history: tuple[float, LinkChanged]) -> Patience:
    patience = Patience(patience_s)
    for now_s, event in history:
        patience.observe(event, now_s)
    return patience


@pytest.mark.parametrize("patience_s", [0.0, 60.0])
def test_a_text_waits_from_the_instant_it_was_asked_for(patience_s: float) -> None:
    assert after(patience_s).give_up_s(100.0) == 100.0 + patience_s


def test_a_text_that_was_queued_before_waits_from_the_loss_of_the_link() -> None:
    patience = after(60.0, (0.0, READY), (500.0, LOST))
    assert patience.give_up_s(10.0) == 560.0
    assert patience.give_up_s(520.0) == 580.0


def test_a_failed_try_does_not_put_off_what_a_lost_link_began() -> None:
    patience = after(60.0, (0.0, READY), (500.0, LOST), (500.5, CONNECTING), (510.0, FAILED))
    assert patience.give_up_s(10.0) == 560.0


def test_a_text_is_old_once_a_try_has_failed_since_it_was_asked_for_and_its_time_is_up() -> None:
    patience = after(0.0, (0.0, CONNECTING), (10.0, FAILED))
    assert patience.why_dropped(5.0, 10.0) == "nothing listens there"
    assert patience.why_dropped(10.5, 11.0) == "", "nothing was tried for this one"


def test_a_text_is_not_old_before_its_time_is_up() -> None:
    patience = after(60.0, (0.0, CONNECTING), (10.0, FAILED))
    assert patience.why_dropped(5.0, 20.0) == ""
    assert patience.why_dropped(5.0, 65.0) == "nothing listens there"


def test_nothing_is_old_while_the_server_is_reached() -> None:
    patience = after(0.0, (0.0, FAILED), (10.0, FAILED), (11.0, READY))
    assert patience.why_dropped(5.0, 1000.0) == ""


def test_a_try_that_was_not_waited_for_has_not_failed() -> None:
    patience = after(0.0, (0.0, CONNECTING), (10.0, LinkChanged(LinkState.OFFLINE)))
    assert patience.why_dropped(5.0, 20.0) == ""
