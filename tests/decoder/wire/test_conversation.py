"""Both ends of a session joined back to back: what one says, the other hears."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.wire import messages as m
from decoder.wire.client import ClientSession
from decoder.wire.events import (
    ContextArrived,
    Event,
    FramesArrived,
    LinkUseless,
    Mode,
    Outcome,
    UnitStarted,
    UtteranceEnded,
)
from decoder.wire.packets import Codes, Flags
from decoder.wire.server import (
    CancelRequested,
    CloseRequested,
    ServerEvent,
    ServerSession,
    ServerTraits,
    UtteranceRequested,
)
from tests.decoder.wire.lines import NOW_S, SPEC, anomalies, cuts, ending, frames, heard, outcome, samples


@dataclass
class Talker:
    """Speaks frames that name their utterance, one packet a call; ends when it is cancelled.

    Unlike a real one it has no clock: a test decides when it says its next packet.
    """

    session: ServerSession
    unit_frames: list[list[int]]
    """For each unit the sizes of its packets."""
    refuses_codec: bool = False
    plan: list[tuple[str, int]] = field(default_factory=list)
    request: UtteranceRequested | None = None
    texts: list[str] = field(default_factory=list)

    def handle(self, events: list[ServerEvent]) -> list[int]:
        """Take what the client wants; returns the close codes that were asked for."""
        codes = []
        for event in events:
            if isinstance(event, UtteranceRequested):
                self.request = event
                self.texts.append(event.text)
                self.plan = self._plan()
            elif isinstance(event, CancelRequested):
                if self.session._unit is not None:
                    self._end_unit(cancelled=True)
                self.plan = []
                codes += self._end_utterance()
            elif isinstance(event, CloseRequested):
                codes.append(event.code)
        return codes

    def _plan(self) -> list[tuple[str, int]]:
        steps: list[tuple[str, int]] = []
        if self.refuses_codec and self.request is not None and self.request.wants_codec:
            return [("refuse", 0)]
        for sizes in self.unit_frames:
            steps += [("start", 0), *(("frames", size) for size in sizes), ("end", 0)]
        return steps

    def step(self) -> list[int]:
        """Say the next thing of the utterance, if there is one."""
        if self.request is None:
            return []
        if not self.plan:
            return self._end_utterance()
        what, size = self.plan.pop(0)
        is_pcm = not self.session.traits.codec or not self.request.wants_codec
        if what == "refuse":
            self.session.send_error("output_mode='codec_tokens' is not supported by the loaded TTS model.")
        elif what == "start" and is_pcm:
            self.session.start_audio(self.request.text, 24_000)
        elif what == "start":
            self.session.start_unit(self.request.text)
            self.session.send_context(said(self.request.utterance_index, 3))
        elif what == "end":
            self._end_unit()
        elif is_pcm:
            self.session.send_pcm(np.full(size * 100, self.request.utterance_index + 1, "<i2").tobytes())
        else:
            self.session.send_frames(said(self.request.utterance_index, size))
        return []

    def _end_unit(self, *, cancelled: bool = False) -> None:
        is_pcm = not self.session.traits.codec or (self.request is not None and not self.request.wants_codec)
        if is_pcm:
            self.session.end_audio(cancelled=cancelled)
        else:
            self.session.end_unit(cancelled=cancelled)

    def _end_utterance(self) -> list[int]:
        self.request = None
        return self.handle(self.session.end_utterance(NOW_S))


def said(utterance: int, count: int) -> Codes:
    """Return ``count`` different frames of which each code names the utterance (modulo 16)."""
    noise = np.random.default_rng(count).integers(0, 128, (count, 16)) * 16
    return (noise + utterance % 16 + (noise == 0) * 16).astype(np.int16)


@dataclass
class Wire:
    """A link without a network: what is sent waits in its direction until it is carried over."""

    client: ClientSession
    talker: Talker
    up: list[str] = field(default_factory=list)
    down: list[str | bytes] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    close_code: int | None = None

    def collect(self) -> None:
        self.up += self.client.data_to_send()
        self.down += self.talker.session.data_to_send()

    def carry_up(self) -> bool:
        self.collect()
        if not self.up or self.close_code is not None:
            return False
        self._close(self.talker.handle(self.talker.session.receive_text(self.up.pop(0), NOW_S)))
        return True

    def carry_down(self) -> bool:
        self.collect()
        if not self.down:
            return False
        message = self.down.pop(0)
        if isinstance(message, str):
            self.events += self.client.receive_text(message, NOW_S)
        else:
            self.events += self.client.receive_bytes(message, NOW_S)
        return True

    def speak_on(self) -> bool:
        if self.talker.request is None:
            return False
        self._close(self.talker.step())
        return True

    def settle(self) -> list[Event]:
        """Let everything happen that is under way, and return what the client learnt."""
        while self.carry_up() or self.carry_down() or self.speak_on():
            pass
        if self.close_code is not None:
            self.events += self.client.receive_eof(f"close code {self.close_code}")
        return self.take()

    def take(self) -> list[Event]:
        events, self.events = self.events, []
        return events

    def _close(self, codes: list[int]) -> None:
        self.close_code = codes[0] if codes else self.close_code


def wire(
    unit_frames: list[list[int]],
    traits: ServerTraits | None = None,
    *,
    refuses: bool = False,
    **config: object,
) -> Wire:
    client = ClientSession(SPEC)
    client.send_config(m.SessionConfig(**config), NOW_S)  # type: ignore[arg-type]
    session = ServerSession(SPEC, traits or ServerTraits(), NOW_S)
    return Wire(client, Talker(session, unit_frames, refuses))


def whose(codes: Codes) -> set[int]:
    return set((codes % 16).ravel().tolist())


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 5), max_size=4), min_size=1, max_size=3),
    st.lists(st.text(min_size=1, max_size=50).filter(str.strip), min_size=1, max_size=4),
)
def test_any_texts_and_any_packing_arrive(unit_frames: list[list[int]], texts: list[str]) -> None:
    """Several utterances on one link, each with its own frames, and the text as it was written."""
    link = wire(unit_frames, split_granularity="sentence")
    for index, text in enumerate(texts):
        link.client.send_utterance(text, NOW_S)
        events = link.settle()
        expected = [said(index, size) for sizes in unit_frames for size in sizes]
        np.testing.assert_array_equal(heard(events), np.concatenate([*expected, said(0, 0)]))
        assert outcome(events) is (Outcome.COMPLETE if any(map(len, expected)) else Outcome.EMPTY)
        assert not anomalies(events)
        assert [e.text for e in events if isinstance(e, UnitStarted)] == [text] * len(unit_frames)
        assert link.client.ready
    assert link.talker.texts == texts


@settings(max_examples=30, deadline=None)
@given(cuts(200), st.integers(0, 99))
def test_two_hundred_frames_in_any_packing(sizes: list[int], seed: int) -> None:
    """The same frames, in order (CASES B10)."""
    link, codes, at = wire([]), frames(200, seed), 0
    link.client.send_utterance("word " * 100, NOW_S)
    while link.carry_up():
        pass
    session = link.talker.session
    session.start_unit("")
    for size in sizes:
        session.send_frames(codes[at : at + size], Flags.EOS if at + size == 200 else Flags.NONE)
        at += size
    session.end_unit()
    events = link.settle()
    np.testing.assert_array_equal(heard(events), codes)
    assert outcome(events) is Outcome.COMPLETE


STEPS = st.lists(st.sampled_from(["up", "down", "down", "speak", "speak", "cancel", "next"]), max_size=80)


@settings(max_examples=250, deadline=None)
@given(STEPS, st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=2), st.booleans())
def test_a_cancelled_utterance_is_never_heard_in_a_later_one(
    steps: list[str], unit_frames: list[list[int]], probe: bool
) -> None:
    """Cancels at any point, messages as late as you like in both directions, several utterances."""
    link, number, in_flight = wire(unit_frames, split_granularity="sentence"), -1, False
    if probe:
        link.client.send_probe(NOW_S)

    def check(events: list[Event]) -> None:
        nonlocal in_flight
        for event in events:
            if isinstance(event, FramesArrived):
                assert in_flight
                assert whose(event.codes) == {number % 16}
            elif isinstance(event, UtteranceEnded):
                assert in_flight
                in_flight = False
            assert not isinstance(event, LinkUseless)

    for step in [*steps, "cancel"]:
        if step == "next" and link.client.ready:
            number, in_flight = number + 1, True
            link.client.send_utterance("Some words.", NOW_S)
        elif step == "cancel":
            check(link.client.send_cancel(NOW_S))
        elif step == "up":
            link.carry_up()
        elif step == "down":
            link.carry_down()
        elif step == "speak":
            link.speak_on()
        check(link.take())
    check(link.settle())
    assert not in_flight
    assert link.client.ready
    number, in_flight = number + 1, True
    link.client.send_utterance("The last words.", NOW_S)
    events = link.settle()
    check(events)
    expected = [said(number, size) for sizes in unit_frames for size in sizes]
    np.testing.assert_array_equal(heard(events), np.concatenate([*expected, said(0, 0)]))
    assert ending(events).outcome in (Outcome.COMPLETE, Outcome.EMPTY)
    assert link.client.mode is Mode.CODEC


def test_a_probe_learns_the_mode_from_either_server() -> None:
    """Before any text."""
    for traits, mode in ((ServerTraits(), Mode.CODEC), (ServerTraits(codec=False), Mode.PCM)):
        link = wire([[3]], traits)
        link.client.send_probe(NOW_S)
        link.settle()
        assert link.client.mode is mode
        link.client.send_utterance("Hello.", NOW_S)
        assert outcome(link.settle()) is Outcome.COMPLETE


def test_a_stock_server_is_heard_through_the_same_session() -> None:
    """PCM, several utterances, several units."""
    link = wire([[2, 3], [1]], ServerTraits(codec=False))
    for index in range(3):
        link.client.send_utterance("Hello.", NOW_S)
        events = link.settle()
        np.testing.assert_array_equal(samples(events), np.full(600, (index + 1) / np.float32(32_768)))
        assert outcome(events) is Outcome.COMPLETE
    assert link.client.mode is Mode.PCM


def test_an_adapter_without_the_mode_is_heard_as_pcm() -> None:
    """After one refusal for the whole link."""
    link = wire([[2]], refuses=True)
    for utterance in range(2):
        link.client.send_utterance("Hello.", NOW_S)
        events = link.settle()
        assert outcome(events) is Outcome.COMPLETE
        assert len(samples(events)) == 200
        assert len(link.talker.texts) == utterance + 2


def test_an_old_server_is_heard_once_a_connection() -> None:
    """It closes, and nothing is lost."""
    link = wire([[2]], ServerTraits(old_generation=True))
    link.client.send_utterance("Hello.", NOW_S)
    events = link.settle()
    assert outcome(events) is Outcome.COMPLETE
    assert any(isinstance(e, LinkUseless) for e in events)
    assert link.close_code == 1000


@pytest.mark.parametrize("accepts", [True, None])
def test_reference_codes_reach_a_client_that_asked(accepts: bool | None) -> None:
    """And no other."""
    link = wire([[2]], accept_codec_context=accepts)
    link.client.send_utterance("Hello.", NOW_S)
    events = link.settle()
    contexts = [e for e in events if isinstance(e, ContextArrived)]
    assert len(contexts) == (1 if accepts else 0)
    assert len(heard(events)) == 2


def test_a_close_is_a_close() -> None:
    """session.close, 1000, nothing else."""
    link = wire([[2]])
    link.client.send_close(NOW_S)
    assert link.settle() == []
    assert link.close_code == 1000
    assert not link.client.ready


def test_a_client_that_keeps_quiet_is_kept() -> None:
    """Its empty texts come in time and are never spoken."""
    link, now_s = wire([[2]]), NOW_S
    link.settle()
    for _ in range(5):
        now_s += 20
        link.client.tick(now_s)
        for text in link.client.data_to_send():
            link.talker.session.receive_text(text, now_s)
        assert link.talker.session.tick(now_s) == []
    link.client.send_utterance("Hello.", now_s)
    link.settle()
    assert link.talker.texts == ["Hello."]
