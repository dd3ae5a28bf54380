"""JSON values as schemas compare them: 1 is 1.0, and true is not 1."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final

from dragoman.core.json import Json

MAX_EXACT: Final = 2**53
"""Beyond it a double does not hold every integer, and the grammar's numbers are doubles."""


def key_of(value: Json) -> Hashable:
    """Equal for equal values, and for no others."""
    match value:
        case bool() | None:
            return (type(value).__name__, value)
        case Mapping():
            return ("object", frozenset((name, key_of(item)) for name, item in value.items()))
        case str() | int() | float():
            return ("string" if isinstance(value, str) else "number", value)
        case _:
            return ("array", tuple(key_of(item) for item in value))


def type_of(value: Json) -> str:
    """The name of a value's type; ``integer`` also where it is a whole float."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "integer" if math.isfinite(value) and value == int(value) else "number"
        case str():
            return "string"
        case Mapping():
            return "object"
        case _:
            return "array"


def nests_deeper(value: Json, depth: int) -> bool:
    """Whether there are more than ``depth`` objects and arrays within each other. Takes no stack, as others here do."""
    level = [value]
    for _ in range(depth + 1):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: Json) -> Iterable[Json]:
    match value:
        case Mapping():
            return value.values()
        case Sequence() if not isinstance(value, str):
            return value
        case _:
            return ()


def is_exact(value: Json) -> bool:
    """Whether all numbers in a value survive as doubles."""
    match value:
        case bool() | str() | None:
            return True
        case int():
            return abs(value) <= MAX_EXACT
        case float():
            return math.isfinite(value)
        case Mapping():
            return all(is_exact(item) for item in value.values())
        case _:
            return all(is_exact(item) for item in value)


def plain(value: Json) -> Json:
    """The same value without negative zeros, which a grammar of doubles can not write."""
    match value:
        case float():
            return value + 0.0
        case Mapping():
            return {name: plain(item) for name, item in value.items()}
        case bool() | int() | str() | None:
            return value
        case _:
            return [plain(item) for item in value]
