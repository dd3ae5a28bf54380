"""The values of keywords: each read as what its keyword wants, or a fault at its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dragoman.core.json import Json
from dragoman.core.json_schema.fault import SchemaFault
from dragoman.core.json_schema.keywords import TYPES
from dragoman.core.json_schema.patterns import PatternFault, rust_pattern
from dragoman.core.json_schema.pointer import Path
from dragoman.core.json_schema.values import MAX_EXACT, is_exact, plain

_MAX_COUNT: Final = 1_000_000
"""Of characters, items or members; no answer is that long."""


def listed(value: Json, at: Path) -> Sequence[Json]:
    """A non-empty array."""
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        return value
    raise SchemaFault("must be a non-empty array", at, malformed=True)


def names(value: Json, at: Path) -> list[Json]:
    """An array of strings."""
    if isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(item, str) for item in value):
        return list(value)
    raise SchemaFault("must be an array of strings", at, malformed=True)


def types(value: Json, at: Path) -> Json:
    """The name of a type, or several."""
    for name in [value] if isinstance(value, str) else listed(value, at):
        if not isinstance(name, str) or name not in TYPES:
            raise SchemaFault(f"must be one of {', '.join(TYPES)}, or an array of them", at, malformed=True)
    return value


def values(value: Json, at: Path, *, several: bool) -> Json:
    """The value of ``const``, or the values of ``enum``."""
    if several:
        listed(value, at)
    if not is_exact(value):
        raise SchemaFault("has a number that a double can not hold", at)
    return plain(value)


def count(value: Json, at: Path) -> int:
    """A number of things."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value != value // 1:
        raise SchemaFault("must be an integer of at least 0", at, malformed=True)
    if value > _MAX_COUNT:
        raise SchemaFault(f"more than {_MAX_COUNT} can not be enforced", at)
    return int(value)


def bound(value: Json, at: Path, *, above_zero: bool) -> Json:
    """A limit of numbers, or what they are multiples of."""
    if isinstance(value, bool) or not isinstance(value, int | float) or (above_zero and value <= 0):
        raise SchemaFault("must be a number above 0" if above_zero else "must be a number", at, malformed=True)
    if not abs(value) <= MAX_EXACT:
        raise SchemaFault("is too large a number to be enforced", at)
    return plain(value)


def pattern(value: Json, at: Path) -> str:
    """An expression in the grammar's syntax."""
    if not isinstance(value, str):
        raise SchemaFault("must be a string", at, malformed=True)
    try:
        return rust_pattern(value)
    except PatternFault as fault:
        raise SchemaFault(f"is not an expression that can be enforced: {fault}", at) from None
