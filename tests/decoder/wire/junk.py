"""What no honest program sends, in either direction: near to the protocol, and far from it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from hypothesis import strategies as st

from decoder.wire import messages as m
from tests.decoder.wire.lines import codec_start, json_values, packet

SERVER_TYPES = [*m._TO_CLIENT, *m._TO_SERVER, "x"]
SERVER_FIELDS = sorted({name for cls in m._TO_CLIENT.values() for name in m._fields_of(cls)})
CLIENT_TYPES = [*m._TO_SERVER, "codec.start", "x"]
CLIENT_FIELDS = sorted({name for cls in m._TO_SERVER.values() for name in m._fields_of(cls)})
HUGE = [2**31, 2**63, -(2**64), 10**400, float("inf"), float("nan"), "x" * 100_000, "\ud800", [[]] * 50]

values: st.SearchStrategy[Any] = json_values | st.integers() | st.sampled_from(HUGE)


@st.composite
def server_junk(draw: st.DrawFn) -> str | bytes:
    """Draw text, bytes, JSON, or a message with anything in its fields; a true index or a silly one."""
    kind = draw(st.sampled_from(["text", "bytes", "json", "message", "message", "start", "packet"]))
    if kind == "text":
        return draw(st.text())
    if kind == "bytes":
        return draw(st.binary(max_size=80))
    if kind == "json":
        return json.dumps(draw(json_values))
    if kind == "packet":
        codes = np.full((draw(st.integers(0, 3)), 16), draw(st.integers(0, 2200)), np.int16)
        return packet(draw(st.integers(0, 5)), codes, draw(st.integers(0, 255)))
    wrong = draw(st.dictionaries(st.sampled_from(SERVER_FIELDS), values, max_size=3))
    index = draw(st.sampled_from([None, 0, 0, 0, -1, 10**9]))
    if kind == "start":
        return codec_start(index, **{k: v for k, v in wrong.items() if k != "utterance_index"})
    return json.dumps({"type": draw(st.sampled_from(SERVER_TYPES)), **wrong, "utterance_index": index})


client_junk: st.SearchStrategy[str] = (
    st.text()
    | json_values.map(json.dumps)
    | st.builds(
        lambda kind, body: json.dumps({**body, "type": kind}),
        st.sampled_from(CLIENT_TYPES) | st.text(max_size=5),
        st.dictionaries(st.sampled_from(CLIENT_FIELDS) | st.text(max_size=5), values, max_size=4),
    )
)
"""JSON text of a client, and text that is none."""
