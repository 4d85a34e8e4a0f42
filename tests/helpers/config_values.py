"""Values that fit a key of the configuration, made from the types and bounds that it declares."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec.inspect import (
    BoolType,
    DataclassType,
    FloatType,
    IntType,
    NoneType,
    StrType,
    Type,
    UnionType,
    VarTupleType,
    type_info,
)

from app.config import Config

# YAML has no place for the other control characters, nor msgspec for lone surrogates.
_TEXT = st.characters(exclude_categories=("Cs", "Cc")) | st.sampled_from("\n\t")


def value_of(config: Config, key: str) -> Any:
    """Return what ``config`` says for ``section.key``."""
    section, _, name = key.partition(".")
    return getattr(getattr(config, section), name)


def values_of(key: str) -> st.SearchStrategy[Any]:
    """Return all that fits ``section.key`` by itself; where keys depend on each other, what fits alone."""
    alone = {
        "profiles.current": st.sampled_from(["", "Demo"]),
        "profiles.saved": _values(_type_of("profiles.saved")).filter(_has_no_name_twice),
        "kiosk.sources": st.lists(st.sampled_from(["stdin", "http", "wyoming"])).map(tuple),
    }
    return alone[key] if key in alone else _values(_type_of(key))


def _has_no_name_twice(profiles: tuple[Any, ...]) -> bool:
    names = [profile.name.casefold() for profile in profiles] + ["demo"]
    return len(set(names)) == len(names)


def _type_of(key: str) -> Type:
    section, _, name = key.partition(".")
    of_config = type_info(Config)
    assert isinstance(of_config, DataclassType)
    of_section = next(f.type for f in of_config.fields if f.name == section)
    assert isinstance(of_section, DataclassType)
    return next(f.type for f in of_section.fields if f.name == name)


def _values(kind: Type) -> st.SearchStrategy[Any]:
    match kind:
        case BoolType():
            return st.booleans()
        case NoneType():
            return st.none()
        case IntType():
            least = -(2**63) if kind.ge is None else kind.ge
            return st.integers(least, 2**63 - 1 if kind.le is None else kind.le)
        case FloatType():
            return st.floats(kind.ge, kind.le, allow_nan=False, allow_infinity=False)
        case StrType() if kind.pattern is not None:
            return st.from_regex(kind.pattern, fullmatch=True).filter(lambda text: not text.endswith("\n"))
        case StrType():
            return st.text(_TEXT, min_size=kind.min_length or 0, max_size=min(kind.max_length or 30, 30))
        case UnionType():
            return st.one_of(*(_values(each) for each in kind.types))
        case VarTupleType():
            return st.lists(_values(kind.item_type), max_size=4).map(tuple)
        case DataclassType():
            fields = {f.name: _values(f.type) for f in kind.fields}
            return st.builds(kind.cls, **fields)
    raise AssertionError(f"{kind} is not known here")


def unlike(key: str) -> Any:
    """Return one value that fits ``section.key`` and is not its default; the same one each time."""
    default, kind = value_of(Config(), key), _type_of(key)
    if isinstance(kind, UnionType):
        kind = next(each for each in kind.types if not isinstance(each, NoneType))
    match kind:
        case BoolType():
            return not default
        case IntType():
            return (kind.ge or 0) + (1 if default == (kind.ge or 0) else 0)
        case FloatType():
            return kind.le if kind.le is not None and default != kind.le else (kind.ge or 0.0)
        case StrType() if kind.pattern is not None:
            words = re.findall(r"\w+", kind.pattern)
            return next(word for word in words if word != default and re.search(kind.pattern, word))
        case StrType():
            return "Demo" if key == "profiles.current" else "x"
    raise AssertionError(f"{key} is a list: it has no text")


def text_of(value: Any) -> str:
    """Return ``value`` as the environment would have it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
