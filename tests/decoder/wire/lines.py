"""What a server says, line by line, and what a client makes of it: the vocabulary of the wire tests."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from hypothesis import strategies as st

from decoder.spec import CodecSpec
from decoder.wire import messages as m
from decoder.wire.assembler import Anomaly, AnomalyKind
from decoder.wire.client import ClientSession
from decoder.wire.events import (
    Event,
    FramesArrived,
    LinkUseless,
    Outcome,
    PcmArrived,
    UtteranceEnded,
    WireReady,
)
from decoder.wire.packets import Codes, Flags, pack

SPEC = CodecSpec()
NOW_S = 1_000.0
EOS = Flags.EOS


def frames(count: int, seed: int = 0, size: int = SPEC.codebook_size) -> Codes:
    """Return ``count`` frames that a talker could have sampled, all different."""
    rng = np.random.default_rng(seed)
    return rng.integers(1, size, (count, SPEC.codebooks)).astype(np.int16)


def codec_start(index: int | None = 0, unit: int = 0, **wrong: Any) -> str:
    body = json.loads(m.CodecStart.of(SPEC, index, unit, "words", "a model").to_json())
    body.update(wrong)
    return json.dumps({name: value for name, value in body.items() if value is not ...})


def codec_done(index: int | None = 0, unit: int = 0, **more: Any) -> str:
    return line("codec.done", utterance_index=index, sentence_index=unit, **more)


def audio_start(index: int | None = 0, unit: int = 0, **more: Any) -> str:
    body = {"format": "pcm", "sample_rate": 24_000, "utterance_index": index, "sentence_index": unit}
    return line("audio.start", **(body | more))


def audio_done(index: int | None = 0, unit: int = 0, **more: Any) -> str:
    return line("audio.done", utterance_index=index, sentence_index=unit, **more)


def session_done(index: int | None = 0) -> str:
    return line("session.done", utterance_index=index, total_sentences=1)


def error(text: str) -> str:
    return line("error", message=text)


def line(kind: str, **body: Any) -> str:
    return json.dumps({"type": kind} | {name: value for name, value in body.items() if value is not None})


def packet(seq: int, codes: Codes | None = None, flags: int = 0) -> bytes:
    return pack(seq, codes, flags)


def ready_client(**config: Any) -> ClientSession:
    """Return a client that has sent its config."""
    client = ClientSession(SPEC)
    client.send_config(m.SessionConfig(**config), NOW_S)
    client.data_to_send()
    return client


def speaking_client(text: str = "Hello there, my old friend.", **config: Any) -> ClientSession:
    """Return a client that has flushed ``text``."""
    client = ready_client(**config)
    client.send_utterance(text, NOW_S)
    client.data_to_send()
    return client


def give(client: ClientSession, *messages: str | bytes, now_s: float = NOW_S) -> list[Event]:
    """Hand ``messages`` to ``client`` and return all that happened."""
    events: list[Event] = []
    for message in messages:
        if isinstance(message, str):
            events += client.receive_text(message, now_s)
        else:
            events += client.receive_bytes(message, now_s)
    return events


def sent(client: ClientSession) -> list[str]:
    """Return the types of what ``client`` wants to send."""
    return [json.loads(text)["type"] for text in client.data_to_send()]


def heard(events: list[Event]) -> Codes:
    runs = [e.codes for e in events if isinstance(e, FramesArrived)]
    return np.concatenate(runs) if runs else np.zeros((0, SPEC.codebooks), np.int16)


def fresh_marks(events: list[Event]) -> list[bool]:
    return [e.fresh for e in events if isinstance(e, FramesArrived)]


def samples(events: list[Event]) -> np.ndarray:
    return np.concatenate([e.pcm for e in events if isinstance(e, PcmArrived)] or [np.zeros(0, np.float32)])


def anomalies(events: list[Event]) -> dict[AnomalyKind, int]:
    counts: dict[AnomalyKind, int] = {}
    for e in events:
        if isinstance(e, Anomaly):
            counts[e.kind] = counts.get(e.kind, 0) + e.count
    return counts


def ending(events: list[Event]) -> UtteranceEnded:
    """Return how the utterance ended; it must have ended exactly once."""
    (found,) = [e for e in events if isinstance(e, UtteranceEnded)]
    return found


def outcome(events: list[Event]) -> Outcome:
    return ending(events).outcome


def has_ended(events: list[Event]) -> bool:
    return any(isinstance(e, UtteranceEnded) for e in events)


def is_ready(events: list[Event]) -> bool:
    return any(isinstance(e, WireReady) for e in events)


def is_useless(events: list[Event]) -> bool:
    return any(isinstance(e, LinkUseless) for e in events)


def speak_well(client: ClientSession, index: int | None, seed: int = 77, count: int = 5) -> list[Event]:
    """Let a server speak the utterance in flight as it should; returns what happened."""
    codes = frames(count, seed)
    return give(
        client,
        codec_start(index),
        packet(0, codes),
        packet(1, None, EOS),
        codec_done(index, total_frames=count),
        session_done(index),
    )


def cuts(total: int) -> st.SearchStrategy[list[int]]:
    """Draw sizes of 1..40 that add up to ``total``."""

    def fit(sizes: list[int]) -> list[int]:
        fitted, left = [], total
        for size in sizes:
            if left <= 0:
                break
            fitted.append(min(size, left))
            left -= fitted[-1]
        return [*fitted, left] if left > 0 else fitted

    return st.lists(st.integers(1, 40), max_size=total).map(fit)


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
