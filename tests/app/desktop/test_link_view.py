from __future__ import annotations

import pytest

from app.desktop.link_view import LinkKind, LinkStory, LinkView
from app.engine.events import DecoderState, LinkStatus
from app.session.session import LinkState
from decoder.wire.events import Mode

CONNECTING = LinkStatus(LinkState.CONNECTING, Mode.UNKNOWN, "ws://lab:8001")
READY = LinkStatus(LinkState.READY, Mode.UNKNOWN, "ws://lab:8001")
CODEC = LinkStatus(LinkState.READY, Mode.CODEC, "the server sends codec tokens")
PCM = LinkStatus(LinkState.READY, Mode.PCM, "it does not know codec tokens")
AGAIN = LinkStatus(LinkState.OFFLINE, Mode.UNKNOWN, "nothing listens there", 4.0)
AWAY = LinkStatus(LinkState.OFFLINE, Mode.UNKNOWN, "nothing listens there")
REFUSED = LinkStatus(LinkState.OFFLINE, Mode.UNKNOWN, "HTTP 401", refused=True)
IDLE = LinkStatus(LinkState.OFFLINE, Mode.UNKNOWN, "closed by the server (1000)")
GIVEN_UP = LinkStatus(LinkState.OFFLINE, Mode.UNKNOWN, "")
WARM = DecoderState(True, "loaded in 1.5 s", 0.2)
COLD = DecoderState(False, "preparing")
BROKEN = DecoderState(False, "model.safetensors has 3 bytes", is_broken=True)


def after(*events: LinkStatus | DecoderState) -> LinkView:
    story = LinkStory("Lab")
    for event in events:
        story = story.told(event, 100.0)
    return story.view()


@pytest.mark.parametrize(
    ("events", "kind", "detail"),
    [
        ((), LinkKind.ASLEEP, ""),
        ((WARM,), LinkKind.ASLEEP, ""),
        ((COLD,), LinkKind.PREPARING, "preparing"),
        ((BROKEN,), LinkKind.NO_DECODER, BROKEN.detail),
        ((WARM, CONNECTING), LinkKind.CONNECTING, CONNECTING.detail),
        ((WARM, CONNECTING, READY), LinkKind.CONNECTED, READY.detail),
        ((COLD, CONNECTING, READY), LinkKind.PREPARING, "preparing"),
        ((COLD, CONNECTING, READY, CODEC), LinkKind.PREPARING, "preparing"),
        ((COLD, CONNECTING, READY, CODEC, WARM), LinkKind.CODEC, CODEC.detail),
        ((READY,), LinkKind.PREPARING, ""),
        ((WARM, CONNECTING, READY, PCM), LinkKind.PCM, PCM.detail),
        ((COLD, CONNECTING, READY, PCM), LinkKind.PCM, PCM.detail),
        ((BROKEN, CONNECTING, READY, PCM), LinkKind.PCM, PCM.detail),
        ((BROKEN, CONNECTING, READY), LinkKind.NO_DECODER, BROKEN.detail),
        ((BROKEN, CONNECTING, READY, CODEC), LinkKind.NO_DECODER, BROKEN.detail),
        ((WARM, CONNECTING, AGAIN), LinkKind.OFFLINE, AGAIN.detail),
        ((WARM, CONNECTING, AGAIN, CONNECTING), LinkKind.CONNECTING, CONNECTING.detail),
        ((WARM, CONNECTING, AWAY), LinkKind.OFFLINE, AWAY.detail),
        ((COLD, CONNECTING, AWAY), LinkKind.OFFLINE, AWAY.detail),
        ((WARM, CONNECTING, REFUSED), LinkKind.REFUSED, REFUSED.detail),
        ((WARM, CONNECTING, READY, CODEC, IDLE), LinkKind.ASLEEP, IDLE.detail),
        ((WARM, CONNECTING, READY, CODEC, IDLE, CONNECTING, AWAY), LinkKind.OFFLINE, AWAY.detail),
        ((WARM, CONNECTING, GIVEN_UP), LinkKind.ASLEEP, ""),
        ((BROKEN, CONNECTING, READY, PCM, IDLE), LinkKind.NO_DECODER, BROKEN.detail),
    ],
)
def test_what_was_told_becomes_what_is_shown(
    events: tuple[LinkStatus | DecoderState, ...], kind: LinkKind, detail: str
) -> None:
    view = after(*events)
    assert (view.kind, view.title, view.detail) == (kind, "Lab", detail)


def test_every_kind_is_reached_by_some_story() -> None:
    told = test_what_was_told_becomes_what_is_shown.pytestmark[0].args[1]
    assert {kind for _, kind, _ in told} == set(LinkKind)


def test_the_next_try_is_an_instant_and_counts_down() -> None:
    view = after(WARM, CONNECTING, AGAIN)
    assert view.retry_at_s == 104.0
    assert [view.seconds_left(now_s) for now_s in (100.0, 100.1, 103.5, 104.0, 110.0)] == [4, 4, 1, 0, 0]


def test_where_no_try_will_be_made_nothing_counts_down() -> None:
    assert after(WARM, CONNECTING, AWAY).seconds_left(100.0) is None
    assert after(WARM, CONNECTING, AGAIN, CONNECTING).seconds_left(100.0) is None


def test_a_try_can_be_asked_for_only_while_there_is_no_link() -> None:
    can = {kind for kind in LinkKind if LinkView(kind, "Lab").can_try_now}
    assert can == {LinkKind.ASLEEP, LinkKind.OFFLINE, LinkKind.REFUSED}
