"""Reads a YAML file as vllm-omni does, and keeps the places. The door to PyYAML."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from yaml.constructor import SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from server.deploy.findings import Finding, Place, error, warning
from server.deploy.tree import Entry, Scalar, Value

LIMIT_BYTES = 1_000_000
"""No deploy file of the release has more than 7 kB."""
LIMIT_VALUES = 20_000
"""With aliases written out: a few lines can stand for billions."""
LIMIT_DEPTH = 30
_CORE = "tag:yaml.org,2002:"
_OCTAL = re.compile(r"[-+]?0[0-7_]+")
_MORE_INDENTED = ("'<block mapping start>'", "'<block sequence start>'", "'-'", "'?'")
"""What PyYAML finds in place of a block's end where a line begins in a column of its own."""
_FLOAT = re.compile(r"[-+]?(?:\d[\d_]*)(?:\.\d*)?[eE][-+]?\d+$")
"""What OmegaConf, which vllm-omni reads with, takes for a number and YAML 1.1 for text: ``1e-3``."""


class UnusableError(Exception):
    """A file cannot be read to its end; the finding says where and why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.what)
        self.finding = finding


@dataclass(frozen=True)
class Document:
    """A file that could be read."""

    root: Value
    """A mapping."""
    findings: tuple[Finding, ...] = ()


def read_file(path: Path) -> Document:
    """Read a file.

    Raises:
        UnusableError: it is no regular file, too large, not text, or not one YAML mapping.

    """
    start = Place(path, 1)
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            # Reading a pipe or a device would wait, or never end.
            raise UnusableError(error(start, "this is not a file", "name a deploy file, such as talker.yaml"))
        if state.st_size > LIMIT_BYTES:
            what = f"the file has {state.st_size:,} bytes, and a deploy file has a few thousand"
            raise UnusableError(error(start, what, "name a deploy file"))
        raw = path.read_bytes()
    except (OSError, ValueError) as fault:
        # A name with a null character in it is a ValueError.
        what = f"the file cannot be read: {getattr(fault, 'strerror', None) or fault}"
        raise UnusableError(error(start, what, "look at the name and at who may read it")) from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = raw.count(b"\n", 0, fault.start) + 1
        what = f"byte {raw[fault.start]:#04x} is not UTF-8"
        raise UnusableError(error(Place(path, line), what, "save the file as UTF-8")) from None
    return read_text(text, path)


def read_text(text: str, path: Path) -> Document:
    """Read the text of a file; ``path`` is where it came from.

    Raises:
        UnusableError: see `read_file`.

    """
    return _Reader(text.replace("\r\n", "\n").replace("\r", "\n"), path).read()


class _Loader(yaml.SafeLoader):
    """Composes as OmegaConf's loader does: a date is text, ``1e-3`` a number; and not without end."""

    depth = 0

    def compose_node(self, parent: Node | None, index: object) -> Node | None:
        self.depth += 1
        if self.depth > LIMIT_DEPTH:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "nested too deep", mark)
        node = super().compose_node(parent, index)  # type: ignore[arg-type]
        self.depth -= 1
        return node


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in (f"{_CORE}timestamp", f"{_CORE}value")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(f"{_CORE}float", _FLOAT, list("-+0123456789"))


@dataclass
class _Reader:
    """One reading of one text."""

    text: str
    path: Path
    findings: list[Finding] = field(default_factory=list)
    count: int = 0
    within: set[int] = field(default_factory=set)
    """Nodes that are being taken over: one that is met again contains itself."""

    def read(self) -> Document:
        try:
            node = _Loader(self.text).get_single_node()
        except yaml.reader.ReaderError as fault:
            place = self._at(fault.position)
            what = f"the character U+{ord(self.text[fault.position]):04X} may not stand in YAML"
            raise UnusableError(error(place, what, "delete it")) from None
        except yaml.MarkedYAMLError as fault:
            raise UnusableError(self._why_not(fault)) from None
        empty = "the file says nothing, and a server with nothing set is not a talker"
        if node is None or node.tag == f"{_CORE}null":
            raise UnusableError(error(Place(self.path, 1), empty, "begin with one of server/deploy/*.yaml"))
        root = self._value(node)
        if not root.is_mapping:
            what = f"the file is {_KINDS[type(node)]}, and a deploy file is made of keys and values"
            raise UnusableError(error(root.place, what, "begin with one of server/deploy/*.yaml"))
        return Document(root, tuple(self.findings))

    def _at(self, index: int) -> Place:
        # From the index: PyYAML's own line numbers count characters as line ends that no editor does.
        index = max(0, min(index, len(self.text) - 1))
        line_start = self.text.rfind("\n", 0, index) + 1
        return Place(self.path, self.text.count("\n", 0, index) + 1, index - line_start + 1)

    def _place(self, node: Node) -> Place:
        return self._at(node.start_mark.index)

    def _why_not(self, fault: yaml.MarkedYAMLError) -> Finding:
        mark = fault.problem_mark or fault.context_mark
        place = self._at(mark.index) if mark is not None else Place(self.path, 1)
        problem = fault.problem or "unreadable"
        at = self.text[mark.index : mark.index + 1] if mark is not None else ""
        if at == "\t":
            return error(place, "a tab stands here, and YAML takes only blanks", "put blanks in its place")
        if problem == "but found another document":
            what = "a second document begins here, and vllm-omni reads only one"
            return error(place, what, "put each into a file of its own, or take this line out")
        if problem == "nested too deep":
            return error(
                place, f"more than {LIMIT_DEPTH} levels within each other", "see server/deploy/*.yaml"
            )
        begun = self._at(fault.context_mark.index) if fault.context_mark is not None else None
        if begun is not None:
            # Where PyYAML gives up is lines behind what is wrong.
            if problem == "could not find expected ':'":
                advice = "write a colon and a plain blank behind the key, as in `max_num_seqs: 64`"
                return error(begun, "what stands here is no key with a value", advice)
            if (
                problem == "found unexpected end of stream"
                and fault.context == "while scanning a quoted scalar"
            ):
                return error(
                    begun, "a quote begins here and does not end", "put the other one behind the text"
                )
            if problem.startswith("expected <block end>") and problem.endswith(_MORE_INDENTED):
                what = f"the indentation of this line does not fit the lines from {begun.line} on"
                return error(place, what, "begin it in the column of those that it belongs to")
        if problem == "mapping values are not allowed here":
            what = "no key can stand here, and this colon is behind one"
            advice = (
                "put a value that has a colon in quotes; else look at how this line and the one before begin"
            )
            return error(place, what, advice)
        since = f" ({fault.context}, which began in line {begun.line})" if fault.context and begun else ""
        advice = "look at the colons, quotes and blanks of this line and of the one before"
        return error(place, f"this is not YAML: {problem}{since}", advice)

    def _value(self, node: Node) -> Value:
        place = self._place(node)
        self.count += 1
        if self.count > LIMIT_VALUES:
            what = f"more than {LIMIT_VALUES:,} values, with all aliases written out"
            raise UnusableError(error(place, what, "write values out instead of repeating them by alias"))
        if id(node) in self.within:
            raise UnusableError(
                error(place, "this contains itself", "write out what is meant in place of the alias")
            )
        if isinstance(node, ScalarNode):
            return self._scalar(node, place)
        self.within.add(id(node))
        try:
            self._check_tag(node, place)
            if isinstance(node, SequenceNode):
                return Value(place, tuple(self._value(item) for item in node.value))
            assert isinstance(node, MappingNode)
            return Value(place, self._mapping(node))
        finally:
            self.within.discard(id(node))

    def _scalar(self, node: ScalarNode, place: Place) -> Value:
        kind = node.tag.removeprefix(_CORE)
        maker = _SCALARS.get(kind)
        if maker is None:
            # A lone "<<" is text to everybody.
            is_open = kind != "merge" and not self._check_tag(node, place)
            return Value(place, node.value, is_open)
        try:
            data = maker(SafeConstructor(), node)
        except (ValueError, LookupError, OverflowError, yaml.YAMLError):
            what = f"`{node.value[:40]}` is not what its form says ({kind})"
            self.findings.append(error(place, what, "write a plain number, or put it in quotes"))
            return Value(place, node.value, is_open=True)
        if kind == "int" and (":" in node.value or _OCTAL.fullmatch(node.value)):
            advice = "write it without colons and without a 0 in front, or in quotes if it is text"
            self.findings.append(warning(place, f"`{node.value}` is the number {data} to YAML", advice))
        return Value(place, data, is_open=isinstance(data, str) and "${" in data)

    def _check_tag(self, node: Node, place: Place) -> bool:
        """Whether the tag is one that plain YAML gives; anything else becomes a finding."""
        if node.tag in (f"{_CORE}map", f"{_CORE}seq"):
            return True
        self.findings.append(error(place, f"vllm-omni does not know the tag {node.tag}", "leave the tag out"))
        return False

    def _mapping(self, node: MappingNode) -> dict[str, Entry]:
        own: dict[str, Entry] = {}
        merged: dict[str, Entry] = {}
        for key_node, value_node in node.value:
            place = self._place(key_node)
            if key_node.tag == f"{_CORE}merge":
                for key, entry in self._merged(value_node):
                    merged.setdefault(key, entry)
                continue
            if not isinstance(key_node, ScalarNode):
                self.findings.append(error(place, "a key has to be a word", "write the key as a plain word"))
                continue
            key = key_node.value
            entry = Entry(key, place, self._value(value_node))
            if (first := own.get(key)) is not None:
                what = f"`{key}` stands here a second time, after line {first.place.line}; the server stops"
                dash = ", or begin the next stage with a dash" if key == "stage_id" else ""
                self.findings.append(error(place, what, f"keep one of the two{dash}"))
                continue
            own[key] = entry
        for key, entry in own.items():
            hidden = merged.get(key)
            if hidden is not None and hidden.value.entries and entry.value.is_mapping:
                lost = ", ".join(sorted(set(hidden.value.entries) - set(entry.value.entries)))
                if lost:
                    what = (
                        f"`{key}` replaces the one merged from line {hidden.place.line} whole: without {lost}"
                    )
                    self.findings.append(warning(entry.place, what, "write all of its entries here"))
        return merged | own

    def _merged(self, node: Node) -> Iterator[tuple[str, Entry]]:
        sources = node.value if isinstance(node, SequenceNode) else [node]
        for source in sources:
            value = self._value(source)
            if not value.is_mapping:
                what = "`<<` merges keys and values, and this has none"
                self.findings.append(error(value.place, what, "name an anchored mapping, as in `<<: *name`"))
            yield from value.entries.items()


def _text(constructor: SafeConstructor, node: ScalarNode) -> Scalar:
    return str(node.value)


def _whole(constructor: SafeConstructor, node: ScalarNode) -> Scalar:
    number: int = constructor.construct_yaml_int(node)
    if number.bit_length() > 64:
        raise OverflowError("no setting is that large, and Python would not print it")
    return number


_SCALARS = {
    "str": _text,
    "int": _whole,
    "float": SafeConstructor.construct_yaml_float,
    "bool": SafeConstructor.construct_yaml_bool,
    "null": SafeConstructor.construct_yaml_null,
}
_KINDS: dict[type[Node], str] = {
    ScalarNode: "a single value",
    SequenceNode: "a list",
    MappingNode: "a mapping",
}
