"""0.5 kB a second is enough: which packets fit a link of 8 kbit/s, and when the sound may start on it.

On one fake clock: the server makes frames in real time, the model of ``tests/helpers/slow_link.py`` says when
they arrive, and the player is the real one.
"""

from __future__ import annotations

from itertools import islice

import pytest

from app.playback.chunk_policy import StartBuffer, start_buffer_s
from decoder.wire.coalescing import packet_sizes
from tests.app.playback.simulation import SPEC, Simulation, linear
from tests.helpers.slow_link import LinkModel, message_bytes, wire_bytes

KBIT_S = 1000.0
MINUTE_FRAMES = 750
FAST = linear(0.005, 0.05)


def sent(packet_frames: int, frames: int = MINUTE_FRAMES) -> list[tuple[float, int]]:
    """When packets leave a server that speaks in real time, and their frames."""
    left, packets = frames, []
    for size in islice(packet_sizes(packet_frames), frames):
        if not left:
            break
        packets.append(((frames - left + min(size, left)) * SPEC.frame_s, min(size, left)))
        left -= packets[-1][1]
    return packets


def arrivals(packet_frames: int, link: LinkModel) -> list[tuple[float, int]]:
    """When they arrive at the other end of ``link``, behind a ``codec.start``."""
    link.due_s(0.0, 400)
    return [(link.due_s(at_s, message_bytes(size)), size) for at_s, size in sent(packet_frames)]


def kbit_s(packet_frames: int) -> float:
    """What an endless unit costs on the wire."""
    return 8 * wire_bytes(message_bytes(packet_frames)) / (packet_frames * SPEC.frame_s) / KBIT_S


@pytest.mark.parametrize(("packet_frames", "fits"), [(1, False), (2, True), (4, True), (25, True)])
def test_one_frame_a_packet_is_too_much_for_8_kbit_and_two_are_not(packet_frames: int, fits: bool) -> None:
    """By arithmetic, and by how late the last frame of a minute is."""
    assert (kbit_s(packet_frames) < 8.0) is fits
    link = LinkModel(8 * KBIT_S)
    late_s = [there_s - gone_s for (there_s, _), (gone_s, _) in zip(
        arrivals(packet_frames, link), sent(packet_frames), strict=True
    )]  # fmt: skip
    assert (max(late_s[len(late_s) // 2 :]) < 1.0) is fits
    assert link.wire_bytes / 60 == pytest.approx(1000 * kbit_s(packet_frames) / 8, rel=0.05)


@pytest.mark.parametrize("packet_frames", [2, 4, 10, 25])
@pytest.mark.parametrize("seed", range(5))
def test_a_minute_over_8_kbit_far_away_and_unsteady_has_no_gap(packet_frames: int, seed: int) -> None:
    """300 ms away, 100 ms of jitter: the start buffer covers the jitter, the packets cover themselves."""
    wanted_s = start_buffer_s(0.3, packet_frames, SPEC.frame_s)
    simulation = Simulation(FAST, StartBuffer(wanted_s), expected_s=60.0)
    comes = arrivals(packet_frames, LinkModel(8 * KBIT_S, 0.3, 0.1, seed))
    simulation.run(comes, comes[-1][0] + 0.3)
    assert simulation.track.underruns == 0
    frames, enough_s = 0, 0.0
    for at_s, count in comes:
        frames, enough_s = frames + count, at_s
        if frames * SPEC.frame_s >= wanted_s:
            break
    assert simulation.first_sound_s < enough_s + 0.2


@pytest.mark.parametrize("packet_frames", [4, 10])
def test_a_start_buffer_covers_as_much_jitter_whatever_the_packets_hold(packet_frames: int) -> None:
    """If the pause that a packet makes were not added, 0.3 s would not cover 250 ms of jitter."""
    gaps = []
    for wanted_s in (0.3, start_buffer_s(0.3, packet_frames, SPEC.frame_s)):
        gaps.append(0)
        for seed in range(8):
            simulation = Simulation(FAST, StartBuffer(wanted_s), expected_s=60.0)
            comes = arrivals(packet_frames, LinkModel(1000 * KBIT_S, 0.3, 0.25, seed))
            simulation.run(comes, comes[-1][0] + 0.3)
            gaps[-1] += simulation.track.underruns
    assert gaps[0] > 0
    assert gaps[1] == 0


@pytest.mark.parametrize(
    ("packet_frames", "wanted_s"), [(0, 0.16), (1, 0.16), (2, 0.24), (4, 0.4), (25, 2.08)]
)
def test_the_start_waits_for_the_packets_that_were_asked_for(packet_frames: int, wanted_s: float) -> None:
    assert start_buffer_s(0.16, packet_frames, SPEC.frame_s) == pytest.approx(wanted_s)
