"""The misbehaviour without a socket: what goes in right comes out as wrong as was asked, never more."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.errors import PacketError
from decoder.spec import CodecSpec
from decoder.wire.packets import Flags, unpack
from decoder.wire.server import ServerSession
from server.emulator.mutate import Cut, Mutation
from server.emulator.scenario import Scenario

SPEC = CodecSpec(codebook_size=64)

streams = st.lists(st.lists(st.integers(0, 6), max_size=6), min_size=1, max_size=3)
"""Sizes of the packets, for each unit of an utterance."""
scenarios = st.builds(
    Scenario,
    eos=st.sampled_from(["own", "last", "none"]),
    cut_at_frame=st.none() | st.integers(0, 30),
    cut_code=st.sampled_from([1000, 1005, 1006]),
    omit_codec_done=st.booleans(),
    omit_session_done=st.booleans(),
    totals_offset=st.integers(-3, 3),
    bad_code=st.none() | st.sampled_from([-1, 2150]),
    bad_code_frame=st.integers(0, 30),
    zero_codes=st.booleans(),
    truncate_packets=st.lists(st.integers(0, 7), max_size=3).map(tuple),
    drop_packets=st.lists(st.integers(0, 7), max_size=3).map(tuple),
    duplicate_packets=st.lists(st.integers(0, 7), max_size=3).map(tuple),
    swap_packets=st.lists(st.integers(0, 7), max_size=3).map(tuple),
    empty_message_at=st.none() | st.integers(0, 7),
    cumulative=st.booleans(),
    ignore_cancel=st.booleans(),
)


def true_messages(units: list[list[int]]) -> list[str | bytes]:
    session = ServerSession(SPEC)
    session.receive_text('{"type": "session.config", "output_mode": "codec_tokens"}', 0.0)
    session.receive_text('{"type": "input.text", "text": "x"}', 0.0)
    session.receive_text('{"type": "input.done"}', 0.0)
    value = 1
    for sizes in units:
        session.start_unit("x")
        for size in sizes:
            session.send_frames(np.arange(value, value + 16 * size).reshape(size, 16) % 63 + 1)
            value += 16 * size
        session.end_unit()
    session.end_utterance(0.0)
    return session.data_to_send()


def mutated(scenario: Scenario, messages: list[str | bytes]) -> list[str | bytes | Cut]:
    mutation = Mutation(scenario, SPEC)
    return [out for message in messages for out in mutation.apply(message)]


@settings(deadline=None)
@given(streams)
def test_nothing_asked_is_nothing_changed(units: list[list[int]]) -> None:
    messages = true_messages(units)
    assert mutated(Scenario(), messages) == messages


@settings(deadline=None)
@given(streams, scenarios)
def test_any_mischief_is_deterministic_and_ends_with_a_cut_or_not_at_all(
    units: list[list[int]], scenario: Scenario
) -> None:
    messages = true_messages(units)
    out = mutated(scenario, messages)
    assert out == mutated(scenario, messages)
    assert [m for m in out[:-1] if isinstance(m, Cut)] == []
    for message in out:
        if isinstance(message, str):
            json.loads(message)


@settings(deadline=None)
@given(streams, st.integers(0, 30))
def test_a_cut_leaves_exactly_so_many_frames(units: list[list[int]], cut: int) -> None:
    messages = true_messages(units)
    frames = np.concatenate([unpack(m, 16).codes for m in messages if isinstance(m, bytes)])
    out = mutated(Scenario(cut_at_frame=cut), messages)
    kept = [unpack(m, 16).codes for m in out if isinstance(m, bytes)]
    np.testing.assert_array_equal(np.concatenate([np.zeros((0, 16)), *kept]), frames[:cut])
    assert isinstance(out[-1], Cut) == (cut <= len(frames))


@settings(deadline=None)
@given(streams, st.lists(st.integers(0, 7), max_size=4).map(tuple))
def test_swapping_loses_nothing(units: list[list[int]], swaps: tuple[int, ...]) -> None:
    messages = true_messages(units)
    out = mutated(Scenario(swap_packets=swaps), messages)
    assert sorted(map(repr, out)) == sorted(map(repr, messages))
    assert [m for m in out if isinstance(m, str)] == [m for m in messages if isinstance(m, str)]


@settings(deadline=None)
@given(streams)
def test_a_truncated_packet_is_never_a_packet(units: list[list[int]]) -> None:
    out = mutated(Scenario(truncate_packets=tuple(range(50))), true_messages(units))
    for message in out:
        if isinstance(message, bytes):
            try:
                unpack(message, 16)
            except PacketError:
                continue
            raise AssertionError(f"{message!r} is still a packet")


@settings(deadline=None)
@given(streams)
def test_eos_none_takes_the_flag_and_no_frame(units: list[list[int]]) -> None:
    messages = true_messages(units)
    out = [unpack(m, 16) for m in mutated(Scenario(eos="none"), messages) if isinstance(m, bytes)]
    assert not any(p.flags & Flags.EOS for p in out)
    assert sum(p.n_frames for p in out) == sum(map(sum, units))
