from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np
import pytest

from app.playback.decoder import Codes, Pcm
from app.playback.shared_decoder import STEP_FRAMES, SharedDecoder, Turns
from decoder.spec import CodecSpec
from tests.helpers.fake_decoder import SPEC, FakeDecoder, frames, sound

JOIN_S = 10.0


def run_all(*threads: threading.Thread) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(JOIN_S)
        assert not thread.is_alive()


# -- weights -----------------------------------------------------------------------------------------------


def test_weights_are_loaded_once_however_many_threads_ask() -> None:
    shared: SharedDecoder[FakeDecoder] = SharedDecoder()
    loads: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def load() -> FakeDecoder:
        loads.append("once")
        begun.set()
        assert go_on.wait(JOIN_S)
        return FakeDecoder()

    found: list[FakeDecoder] = []
    threads = [threading.Thread(target=lambda: found.append(shared.weights("key", load))) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert begun.wait(JOIN_S)
    go_on.set()
    for thread in threads:
        thread.join(JOIN_S)
    assert loads == ["once"]
    assert len(found) == 4
    assert len({id(decoder) for decoder in found}) == 1


def test_other_settings_are_other_weights() -> None:
    shared: SharedDecoder[FakeDecoder] = SharedDecoder()
    first = shared.weights("cpu", FakeDecoder)
    assert shared.weights("cuda", FakeDecoder) is not first


def test_what_could_not_be_loaded_is_tried_again() -> None:
    shared: SharedDecoder[FakeDecoder] = SharedDecoder()

    def fail() -> FakeDecoder:
        raise MemoryError("not today")

    with pytest.raises(MemoryError):
        shared.weights("key", fail)
    assert isinstance(shared.weights("key", FakeDecoder), FakeDecoder)


# -- turns -------------------------------------------------------------------------------------------------


@dataclass
class JealousDecoder:
    """Notices when two threads are in it at once; it makes it likely by letting others run in mid-step."""

    spec: CodecSpec = SPEC
    inside: int = 0
    most_inside: int = 0
    steps: list[int] = field(default_factory=list)

    def new_stream(self) -> JealousDecoder:
        return self

    def decode(self, codes: Codes) -> Pcm:
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        threading.Event().wait(0.001)
        self.steps.append(len(codes))
        self.inside -= 1
        return np.zeros(len(codes) * SPEC.samples_per_frame, np.float32)

    def prime(self, codes: Codes) -> None:
        self.decode(codes)


def test_two_threads_are_never_in_a_step_at_once() -> None:
    shared: SharedDecoder[JealousDecoder] = SharedDecoder()
    decoder = JealousDecoder()

    def work(gives_way: bool) -> None:
        stream = shared.in_turn(decoder, gives_way=gives_way).new_stream()
        for _ in range(10):
            stream.prime(frames(1, 1))
            stream.decode(frames(1, 8))

    run_all(*(threading.Thread(target=work, args=(gives_way,)) for gives_way in (False, True, True)))
    assert decoder.most_inside == 1


def test_turns_come_in_the_order_of_asking_and_who_gives_way_comes_last() -> None:
    turns = Turns()
    order: list[str] = []

    def take(name: str, gives_way: bool) -> None:
        with turns.turn(gives_way=gives_way):
            order.append(name)

    threads = []
    with turns.turn(gives_way=False):
        for asked, (name, gives_way) in enumerate(
            (("unheard", True), ("heard", False), ("unheard too", True), ("heard too", False)), start=1
        ):
            threads.append(threading.Thread(target=take, args=(name, gives_way)))
            threads[-1].start()
            give_up = threading.Event()
            while turns.waiting < asked:
                assert not give_up.wait(0.001)
    for thread in threads:
        thread.join(JOIN_S)
    assert order == ["heard", "heard too", "unheard", "unheard too"]


def test_a_turn_that_fails_is_over() -> None:
    turns = Turns()
    with pytest.raises(ValueError, match="no"), turns.turn(gives_way=False):
        raise ValueError("no")
    with turns.turn(gives_way=True):
        assert turns.waiting == 0


def test_who_gives_way_does_so_in_mid_chunk_and_the_sound_is_the_same() -> None:
    shared: SharedDecoder[FakeDecoder] = SharedDecoder()
    decoder = FakeDecoder()
    stream = shared.in_turn(decoder, gives_way=True).new_stream()
    pcm = stream.decode(frames(1, 25))
    assert np.array_equal(pcm, sound(1, 25))
    assert max(decoder.chunks) == STEP_FRAMES
    heard = shared.in_turn(decoder, gives_way=False).new_stream()
    assert np.array_equal(heard.decode(frames(1, 25)), sound(1, 25))
    assert decoder.chunks[-1] == 25


def test_no_frames_are_no_sound() -> None:
    shared: SharedDecoder[JealousDecoder] = SharedDecoder()
    for gives_way in (False, True):
        stream = shared.in_turn(JealousDecoder(), gives_way=gives_way).new_stream()
        assert len(stream.decode(np.zeros((0, SPEC.codebooks), np.int16))) == 0
