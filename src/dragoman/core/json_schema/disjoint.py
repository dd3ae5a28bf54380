"""Whether no value can satisfy two schemas at once: then ``oneOf`` is ``anyOf``, which is what a grammar can say.

Only what is certain counts: a yes is proven, and all else is no.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from dragoman.core.json import Json, JsonObject
from dragoman.core.json_schema.keywords import TYPES
from dragoman.core.json_schema.pointer import pointer_of, resolve
from dragoman.core.json_schema.values import key_of, type_of

_MAX_WORK: Final = 100_000
"""Pairs of schemas, and values that two enumerations are compared by, over all of one document's ``oneOf``; nested ones multiply."""

_MAX_DEPTH: Final = 64
"""Of one comparison within another, which references may lead in a circle."""

_MAX_REFERENCES: Final = 32
"""References to follow from one place, which may lead in a circle."""


class Disjointness:
    """Compares schemas of the document ``root``, with a bound on all its work."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._left = _MAX_WORK
        self._depth = 0

    def pairwise(self, branches: Sequence[Json]) -> bool:
        """Whether no two of these can hold at once."""
        return all(
            self.disjoint(branch, other) for index, branch in enumerate(branches) for other in branches[index + 1 :]
        )

    def disjoint(self, one: Json, two: Json) -> bool:
        """Whether no value satisfies both. A schema is taken for what its own keywords say at least."""
        self._left -= 1
        if self._left < 0 or self._depth > _MAX_DEPTH:
            return False
        self._depth += 1
        try:
            return self._compared(one, two)
        finally:
            self._depth -= 1

    def _compared(self, one: Json, two: Json) -> bool:
        if one is False or two is False:
            return True
        first, second = self._resolved(one), self._resolved(two)
        if first is None or second is None:
            return False
        return self._plainly(first, second) or self._by_parts(first, second) or self._by_parts(second, first)

    def _by_parts(self, schema: JsonObject, other: JsonObject) -> bool:
        """One conjunct that excludes the other schema is enough; of alternatives, all must."""
        if any(self.disjoint(part, other) for part in _listed(schema, "allOf")):
            return True
        for keyword in ("anyOf", "oneOf"):
            branches = _listed(schema, keyword)
            if branches and all(self.disjoint(branch, other) for branch in branches):
                return True
        return False

    def _plainly(self, one: JsonObject, two: JsonObject) -> bool:
        common = _types(one) & _types(two)
        if not common:
            return True
        values, others = _listed_values(one), _listed_values(two)
        if values is not None and others is not None and self._apart(values, others):
            return True
        return common == {"object"} and self._by_members(one, two)

    def _apart(self, values: Sequence[Json], others: Sequence[Json]) -> bool:
        self._left -= len(values) + len(others)
        return self._left >= 0 and {key_of(value) for value in values}.isdisjoint(map(key_of, others))

    def _by_members(self, one: JsonObject, two: JsonObject) -> bool:
        return any(self.disjoint(_member(one, name), _member(two, name)) for name in chain(_names(one), _names(two)))

    def _resolved(self, schema: Json) -> JsonObject | None:
        for _ in range(_MAX_REFERENCES):
            if not isinstance(schema, Mapping):
                return None
            reference = schema.get("$ref")
            if not isinstance(reference, str) or schema.keys() & {"type", "properties", "const", "enum"}:
                return schema
            pointer = pointer_of(reference)
            schema = None if pointer is None else resolve(self._root, pointer)
        return None


def _listed(schema: JsonObject, keyword: str) -> Sequence[Json]:
    branches = schema.get(keyword)
    return branches if isinstance(branches, Sequence) and not isinstance(branches, str) else ()


def _types(schema: JsonObject) -> frozenset[str]:
    named = schema.get("type")
    names = [named] if isinstance(named, str) else _listed(schema, "type") or TYPES
    allowed = {name for name in names if isinstance(name, str)}
    if "number" in allowed:
        allowed.add("integer")
    if values := _listed_values(schema):
        allowed &= {type_of(value) for value in values}
    return frozenset(allowed)


def _listed_values(schema: JsonObject) -> Sequence[Json] | None:
    if "const" in schema:
        return [schema["const"]]
    return _listed(schema, "enum") if "enum" in schema else None


def _names(schema: JsonObject) -> Iterator[str]:
    yield from (name for name in _listed(schema, "required") if isinstance(name, str))


def _member(schema: JsonObject, name: str) -> Json:
    """The schema of a member; of one that nothing is known of, what anything satisfies."""
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and name in properties:
        return properties[name]
    return True if "patternProperties" in schema else schema.get("additionalProperties", True)
