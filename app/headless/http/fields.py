"""Fields of requests: declared once, read from JSON or from a query, described for /openapi.json."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

from app.headless.http.faults import Fault, bad_field


class Kind(Enum):
    """What a value is."""

    TEXT = "string"
    WHOLE = "integer"
    NUMBER = "number"
    YES = "boolean"


_WORDS = {
    Kind.TEXT: "text",
    Kind.WHOLE: "a whole number",
    Kind.NUMBER: "a number",
    Kind.YES: "true or false",
}


@dataclass(frozen=True)
class Field:
    """A field of a request; a JSON ``null`` is as if it were absent."""

    name: str
    kind: Kind
    about: str
    is_required: bool = False
    choices: tuple[str | float, ...] = ()
    least: float | None = None
    most: float | None = None
    """Of a number; of a text, its characters."""
    default: Any = None
    names_object: bool = False
    """A text that may also come as an object with nothing but an ``id``."""

    def schema(self) -> dict[str, Any]:
        """Return it as a JSON schema."""
        schema: dict[str, Any] = {"type": self.kind.value, "description": self.about}
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.default is not None:
            schema["default"] = self.default
        is_text = self.kind is Kind.TEXT
        for value, name in ((self.least, "minimum"), (self.most, "maximum")):
            if value is not None:
                schema[f"{name[:3]}Length" if is_text else name] = value
        if self.names_object:
            whole = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
            schema = {"description": self.about, "anyOf": [schema, whole]}
        return schema

    def checked(self, value: Any) -> Any:
        """Return ``value`` if this field can have it; raises Fault."""
        if self.names_object and isinstance(value, dict) and set(value) == {"id"}:
            value = value["id"]
        if not self._is_of_kind(value):
            raise bad_field(self.name, f"it must be {_WORDS[self.kind]}, not {_shown(value)}")
        if self.choices and value not in self.choices:
            there_is = ", ".join(map(str, self.choices))
            raise bad_field(self.name, f"{_shown(value)} is not to be had; there is {there_is}")
        size = len(value) if isinstance(value, str) else value
        if self.most is not None and size > self.most:
            raise bad_field(self.name, f"{self._measure(size)} is more than {self.most:g}")
        if self.least is not None and size < self.least:
            raise bad_field(self.name, f"{self._measure(size)} is less than {self.least:g}")
        return value

    def from_text(self, text: str) -> Any:
        """Return the value that a query's ``text`` stands for; raises Fault."""
        if self.kind is Kind.TEXT:
            return self.checked(text)
        if self.kind is Kind.YES:
            if text.lower() in ("1", "true", "yes"):
                return True
            if text.lower() in ("0", "false", "no"):
                return False
            raise bad_field(self.name, f"{_shown(text)} is neither 1 nor 0")
        try:
            number = int(text) if self.kind is Kind.WHOLE else float(text)
        except ValueError:
            raise bad_field(self.name, f"{_shown(text)} is not {_WORDS[self.kind]}") from None
        return self.checked(number)

    def _is_of_kind(self, value: Any) -> bool:
        match self.kind:
            case Kind.TEXT:
                return isinstance(value, str)
            case Kind.YES:
                return isinstance(value, bool)
            case Kind.WHOLE:
                return isinstance(value, int) and not isinstance(value, bool)
            case Kind.NUMBER:
                return isinstance(value, (int, float)) and not isinstance(value, bool) and _is_finite(value)

    def _measure(self, size: float) -> str:
        return f"a text of {size} characters" if self.kind is Kind.TEXT else f"{size:g}"


def read_json(body: bytes, fields: Iterable[Field]) -> dict[str, Any]:
    """Return the fields of a JSON object; raises Fault that says what was expected."""
    known = {field.name: field for field in fields}
    example = ", ".join(f'"{name}": …' for name in known)
    expected = f"send a JSON object {{{example}}}"
    try:
        given = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Fault(400, "bad_json", f"the body is not JSON: {error}", expected) from None
    if not isinstance(given, dict):
        raise Fault(400, "bad_json", f"the body is {_shown(given)}, not an object", expected)
    return _checked(given, known, lambda field, value: field.checked(value))


def read_query(query: Mapping[str, str], fields: Iterable[Field]) -> dict[str, Any]:
    """Return the fields of a query; raises Fault."""
    known = {field.name: field for field in fields}
    return _checked(query, known, lambda field, value: field.from_text(value))


def _checked(given: Mapping[str, Any], known: Mapping[str, Field], check: Any) -> dict[str, Any]:
    if unknown := [name for name in given if name not in known]:
        raise Fault(
            400,
            "unknown_field",
            f"unknown field {_shown(unknown[0])}",
            f"known are {', '.join(known)}" if known else "there are none here",
            param=unknown[0][:100],
        )
    values = {name: check(known[name], value) for name, value in given.items() if value is not None}
    for field in known.values():
        if field.is_required and field.name not in values:
            raise bad_field(field.name, "it is missing")
    return values


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _shown(value: Any) -> str:
    """Return ``value`` as an error may repeat it."""
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
