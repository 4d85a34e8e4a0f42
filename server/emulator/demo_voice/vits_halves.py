"""Cut a VITS voice in two ONNX models, so that its sound can be made piece by piece.

The first half (text encoder, durations, flow) is cheap and needs the whole sentence, which is what gives it
its melody; the second (the vocoder) is nine tenths of the work and needs only its neighbourhood. Editing the
file takes a few dozen lines of its wire format (protocol buffers) and saves the ``onnx`` package.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Piece = bytes | memoryview

_CUT_NODE = b"/dec/conv_pre/Conv"

# Field numbers of ModelProto, GraphProto, NodeProto, TensorProto and ValueInfoProto in onnx.proto.
_MODEL_GRAPH = 7
_GRAPH_NODE, _GRAPH_INITIALISER, _GRAPH_INPUT, _GRAPH_OUTPUT, _GRAPH_VALUE_INFO = 1, 5, 11, 12, 13
_NODE_INPUT, _NODE_OUTPUT, _NODE_NAME = 1, 2, 3
_TENSOR_NAME, _VALUE_NAME, _VALUE_TYPE = 8, 1, 2
_FLOAT_TENSOR = b"\x0a\x02\x08\x01"
"""A TypeProto: tensor of float32, any shape."""

_LENGTH_DELIMITED = 2


def split_voice(model: bytes) -> tuple[bytes, bytes, str]:
    """Return ``(first, second, name)``: two models and the name of the tensor handed from one to the other.

    ``first`` takes the voice's inputs and returns the tensor ``[1, channels, steps]``; ``second`` takes any
    stretch of steps and returns the voice's output for them. Raises ``ValueError`` when the model is not laid
    out so.
    """
    whole = memoryview(model)
    graph = next((value for field, value, _ in _fields(whole) if field == _MODEL_GRAPH), memoryview(b""))
    parts = [(field, value) for field, value, _ in _fields(graph)]
    nodes = [value for field, value in parts if field == _GRAPH_NODE]
    cut = next(
        (_strings(node, _NODE_INPUT)[0] for node in nodes if _CUT_NODE in _strings(node, _NODE_NAME)), None
    )
    if cut is None:
        raise ValueError(
            "this ONNX file is not a VITS voice as Piper exports them: no node /dec/conv_pre/Conv"
        )
    results = {_strings(value, _VALUE_NAME)[0] for field, value in parts if field == _GRAPH_OUTPUT}
    behind = _needed_nodes(nodes, results, cut)
    vocoder = [node for node, kept in zip(nodes, behind, strict=True) if kept]
    vocoder_inputs = {name for node in vocoder for name in _strings(node, _NODE_INPUT)}
    before = [node for node in nodes if cut not in _strings(node, _NODE_INPUT) and node not in set(vocoder)]
    other_inputs = {name for node in before for name in _strings(node, _NODE_INPUT)}
    # Constants that both halves read stay in both.
    shared = [node for node in vocoder if other_inputs.intersection(_strings(node, _NODE_OUTPUT))]
    before = [node for node in nodes if node in set(before) or node in set(shared)]
    boundary: Piece = _field(_VALUE_NAME, cut) + _field(_VALUE_TYPE, _FLOAT_TENSOR)

    def assembled(kept: list[Piece], drop: set[bytes], inputs: list[Piece], outputs: list[Piece]) -> bytes:
        replaced = {_GRAPH_NODE, _GRAPH_INPUT, _GRAPH_OUTPUT, _GRAPH_VALUE_INFO}
        rest = (
            _field(field, value)
            for field, value in parts
            if field not in replaced
            and not (field == _GRAPH_INITIALISER and _strings(value, _TENSOR_NAME)[0] in drop)
        )
        made = b"".join(
            (
                *(_field(_GRAPH_NODE, node) for node in kept),
                *rest,
                *(_field(_GRAPH_INPUT, value) for value in inputs),
                *(_field(_GRAPH_OUTPUT, value) for value in outputs),
            )
        )
        header = b"".join(raw for field, _, raw in _fields(whole) if field != _MODEL_GRAPH)
        return header + _field(_MODEL_GRAPH, made)

    initialisers = {_strings(value, _TENSOR_NAME)[0] for field, value in parts if field == _GRAPH_INITIALISER}
    inputs = [value for field, value in parts if field == _GRAPH_INPUT]
    outputs = [value for field, value in parts if field == _GRAPH_OUTPUT]
    first = assembled(before, vocoder_inputs - other_inputs, inputs, [boundary])
    second = assembled(vocoder, initialisers - vocoder_inputs, [boundary], outputs)
    return first, second, cut.decode()


def _needed_nodes(nodes: list[Piece], wanted: set[bytes], stop: bytes) -> list[bool]:
    """Say of each node whether ``wanted`` depends on it, without looking beyond the tensor ``stop``."""
    needed = [False] * len(nodes)
    for index in range(len(nodes) - 1, -1, -1):
        outputs = set(_strings(nodes[index], _NODE_OUTPUT))
        if outputs & wanted and stop not in outputs:
            needed[index] = True
            wanted |= set(_strings(nodes[index], _NODE_INPUT))
    return needed


def _strings(message: Piece, wanted: int) -> list[bytes]:
    return [bytes(value) for field, value, _ in _fields(message) if field == wanted]


def _fields(message: Piece) -> Iterator[tuple[int, Piece, Piece]]:
    """Yield field number, content (empty for numbers) and the raw bytes of each field."""
    at = 0
    while at < len(message):
        start = at
        key, at = _varint(message, at)
        content: Piece = b""
        match key & 7:
            case 0:
                _, at = _varint(message, at)
            case 1:
                at += 8
            case 2:
                length, at = _varint(message, at)
                content = message[at : at + length]
                at += length
            case 5:
                at += 4
            case kind:
                raise ValueError(f"not a protocol buffer: wire type {kind}")
        yield key >> 3, content, message[start:at]


def _varint(message: Piece, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _field(number: int, content: Piece) -> bytes:
    return b"".join((_number(number << 3 | _LENGTH_DELIMITED), _number(len(content)), content))


def _number(value: int) -> bytes:
    groups: Iterable[int] = range(max(1, -(-value.bit_length() // 7)))
    return bytes((value >> 7 * index) & 0x7F | (0x80 if value >> 7 * (index + 1) else 0) for index in groups)
