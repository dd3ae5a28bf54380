"""A call's arguments, written as JSON while a family's keys and values come in one by one.

What was returned is never taken back: the joined texts are at any time a prefix of the final JSON. It is compact.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

from dragoman.core.json import Json, JsonObject
from dragoman.dialects.table import Holds

_PYTHON: Final[Mapping[str, str]] = {"True": "true", "False": "false", "None": "null"}
_HALF: Final = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class Arguments:
    """Writes one call's arguments. ``schema`` is that of the tool's parameters, None if nobody knows the tool."""

    schema: JsonObject | None = None
    started: bool = False
    _whole: bool = False
    _key: str = ""
    _kind: Holds = Holds.STRING
    _raw: str = ""
    _open: bool = False

    def key(self, key: str) -> str:
        """A key, and what stands before and behind it."""
        before, self.started, self._key = ("," if self.started else "{"), True, key
        return f"{before}{_dumps(key)}:"

    def begin_value(self, holds: Holds) -> None:
        """The value of that key begins; ``holds`` is how the family writes it."""
        self._kind = self._declared() if holds is Holds.TYPED else holds
        self._raw, self._open = "", False

    def value(self, text: str) -> str:
        """More of the value."""
        if self._kind is not Holds.STRING:
            self._raw += text
            return ""
        opening, self._open = ("" if self._open else '"'), True
        return opening + _dumps(text)[1:-1]

    def end_value(self) -> str:
        """The rest of the value."""
        match self._kind:
            case Holds.STRING:
                return '"' if self._open else '""'
            case Holds.TYPED:
                return by_schema(self._raw, schema_of(self.schema, self._key))
            case _:
                return as_json(self._raw)

    def whole(self, text: str) -> str:
        """More of an object that is JSON already, and closes itself."""
        self._whole = self._whole or bool(text)
        return text

    def has_no_room_for(self, holds: Holds) -> bool:
        """Whether a whole object, or a key, would come beside what was written: arguments are either one object or keys."""
        return holds in {Holds.BODY, Holds.KEY} and (self._whole or (self.started and holds is Holds.BODY))

    def end(self) -> str:
        """What closes the arguments; ``{}`` where there were none."""
        if self._whole:
            return ""
        return "}" if self.started else "{}"

    def _declared(self) -> Holds:
        """``TYPED`` is left to the end where the schema takes strings among others."""
        return Holds.STRING if types_of(schema_of(self.schema, self._key)) == {"string"} else Holds.TYPED


def as_json(raw: str) -> str:
    """The value that ``raw`` writes as JSON, or in Python's words for it; a string where it is neither."""
    try:
        return _dumps(json.loads(_PYTHON.get(raw.strip(), raw), parse_constant=_refuse))
    except (ValueError, RecursionError):
        return _dumps(raw)


def by_schema(raw: str, schema: JsonObject) -> str:
    """A value that is JSON unless only a string fits: ``12`` is a number where numbers or strings may be."""
    value = as_json(raw)
    types = types_of(schema)
    if "string" not in types or value.startswith('"'):
        return _dumps(raw) if "string" in types else value
    return value if _type_of(value) & types else _dumps(raw)


def _type_of(value: str) -> set[str]:
    match value[0]:
        case "{":
            return {"object"}
        case "[":
            return {"array"}
        case "t" | "f":
            return {"boolean"}
        case "n":
            return {"null"}
        case _:
            return {"number"} if not value.lstrip("-").isdigit() else {"integer", "number"}


def schema_of(schema: JsonObject | None, key: str) -> JsonObject:
    """The schema of one argument, of which nothing may be known."""
    properties = (schema or {}).get("properties")
    found = properties.get(key) if isinstance(properties, Mapping) else None
    if isinstance(found, Mapping) and isinstance(reference := found.get("$ref"), str):
        found = _followed(schema or {}, reference)
    return found if isinstance(found, Mapping) else {}


def _followed(schema: JsonObject, reference: str) -> Json:
    """What a reference within the schema means, one step far."""
    place: Json = schema
    for name in reference.removeprefix("#/").split("/"):
        place = place.get(name) if isinstance(place, Mapping) else None
    return place


def types_of(schema: JsonObject) -> set[str]:
    """The JSON types that a value may have; empty where the schema does not say."""
    match schema.get("type"):
        case str(name):
            return {name}
        case list(names):
            return {name for name in names if isinstance(name, str)}
        case _:
            pass
    for word in ("anyOf", "oneOf"):
        options = schema.get(word)
        if isinstance(options, list):
            each = [types_of(option) if isinstance(option, Mapping) else set() for option in options]
            return set().union(*each) if all(each) else set()
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if isinstance(values, list) and values and all(isinstance(value, str) for value in values):
        return {"string"}
    return set()


def encodable(text: str) -> str:
    """JSON text in which halves of surrogate pairs are escapes again: JSON has them, and no UTF-8 does."""
    return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def is_encodable(text: str) -> bool:
    """Whether it has no such halves."""
    return _HALF.search(text) is None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _dumps(value: Json) -> str:
    """Raises ``ValueError`` for a number without an end: ``1e999`` is one to Python, and JSON has no word for it."""
    return encodable(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")))
