"""The grammar of a call's arguments in a notation of its own: Lark, by the schema of the tool's parameters. Pure.

    "(" "city=" %json {"type":"string"} ("," " days=" %json {"type":"integer"})? ")"

What the notation has no words for is written as JSON, which ``notation`` reads too: a value whose schema asks for more than a type, or all
of the arguments where their schema does. So a call is never freer than its tool allows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dragoman.core.grammar import json_value, literal
from dragoman.core.json import Json, JsonObject

_SILENT: Final = frozenset(
    {"$comment", "$id", "$schema", "default", "deprecated", "description", "examples", "title", "readOnly", "writeOnly"}
)
"""Keywords that allow and forbid nothing."""

_DEFINITIONS: Final = ("$defs", "definitions")
_BARE_KEY: Final = re.compile(r"[\w$][\w$.-]*")
_DEPTH: Final = 8
"""Objects in objects; what is deeper is JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """How arguments are written: ``opener key assign value separator ... closer``, or ``whole`` around one JSON object.

    ``quote`` is the control token around strings; None where they are JSON's.
    """

    opener: str
    closer: str
    assign: str
    separator: str
    whole: tuple[str, str]
    quote: str | None = None
    sorts_keys: bool = False


@dataclass(frozen=True, slots=True)
class _Property:
    key: str
    schema: Json
    required: bool


def arguments_rules(parameters: JsonObject | None, writing: Writing, name: str) -> str:
    """Definitions of rules, of which the first is called ``name``, and the others begin with that.

    Raises ``SchemaFault`` where the schema cannot be enforced.
    """
    schema = parameters or {}
    builder = _Builder(writing, {key: schema[key] for key in _DEFINITIONS if key in schema})
    properties = _properties(parameters)
    if properties is None:
        before, behind = (f"{literal(text)} " if text else "" for text in writing.whole)
        return f"{name}: {before}{json_value(schema)} {behind}\n"
    builder.object(name, properties, writing.opener, writing.closer, depth=0)
    return "".join(f"{rule}: {expression}\n" for rule, expression in builder.rules.items())


@dataclass(slots=True)
class _Builder:
    """Collects rules by their names, in order."""

    writing: Writing
    definitions: JsonObject
    rules: dict[str, str] = field(default_factory=dict)

    def object(self, name: str, properties: Sequence[_Property], opener: str, closer: str, *, depth: int) -> None:
        """A rule for an object. Each property is a rule, and so is what may stand behind it, so that optional ones stay cheap."""
        self.rules[name] = ""  # the first in order
        if self.writing.sorts_keys:
            properties = sorted(properties, key=lambda each: each.key.lower())
        tails = [f" {name}_behind{place}" for place in range(len(properties))] + [""]
        first: list[str] = []
        open_so_far = True
        for place, each in enumerate(properties):
            pair = f"{name}_{place}"
            self.rules[pair] = f"{literal(each.key + self.writing.assign)} {self._value(pair, each.schema, depth)}"
            if place:
                following = f"({literal(self.writing.separator)} {pair})"
                self.rules[tails[place].strip()] = f"{following}{'' if each.required else '?'}{tails[place + 1]}"
            if open_so_far:
                first.append(f"{pair}{tails[place + 1]}")
                open_so_far = not each.required
        inner = f" ({' | '.join(first)}){'?' if open_so_far else ''} " if first else " "
        self.rules[name] = f"{literal(opener)}{inner}{literal(closer)}"

    def _value(self, name: str, schema: Json, depth: int) -> str:
        quote = self.writing.quote
        if quote is None or not isinstance(schema, Mapping):
            return self._json(schema)
        asked = {key: value for key, value in schema.items() if key not in _SILENT}
        match asked:
            case {"type": "string", **rest} if not rest:
                return f"{quote} /(?s:.)*/ {quote}"
            case {"enum": list(options), **rest} if _are_strings(options) and rest in ({}, {"type": "string"}):
                return f"{quote} ({' | '.join(literal(str(option)) for option in options)}) {quote}"
            case {"type": "array", "items": items, **rest} if not rest and depth < _DEPTH:
                self.rules[f"{name}_item"] = ""
                self.rules[f"{name}_item"] = self._value(f"{name}_item", items, depth + 1)
                return f'"[" ({name}_item ("," {name}_item)*)? "]"'
            case {"type": "object"} if depth < _DEPTH and (inner := _properties(schema)) is not None:
                self.object(f"{name}_object", inner, "{", "}", depth=depth + 1)
                return f"{name}_object"
            case _:
                return self._json(schema)

    def _json(self, schema: Json) -> str:
        return json_value(
            {**self.definitions, **schema} if isinstance(schema, Mapping) and self.definitions else schema
        )


def _properties(parameters: JsonObject | None) -> list[_Property] | None:
    """The arguments one by one; None where the schema says more of them than that."""
    if parameters is None:
        return []
    asked = parameters.keys() - _SILENT - {*_DEFINITIONS, "type", "properties", "required", "additionalProperties"}
    properties = parameters.get("properties", {})
    required = parameters.get("required", [])
    if (
        asked
        or parameters.get("type") != "object"
        or not isinstance(properties, Mapping)
        or not isinstance(required, list)
    ):
        return None
    if not properties and parameters.get("additionalProperties", False) is not False:
        return None  # any, then
    if not set(map(str, required)) <= properties.keys() or not all(map(_BARE_KEY.fullmatch, properties)):
        return None
    if _refers_outside_definitions(properties):
        return None
    return [_Property(key, schema, key in required) for key, schema in properties.items()]


def _refers_outside_definitions(properties: JsonObject) -> bool:
    references = re.findall(r'"\$ref": "(#[^"]*)"', json.dumps(properties))
    return not all(reference.startswith(tuple(f"#/{place}/" for place in _DEFINITIONS)) for reference in references)


def _are_strings(values: Sequence[Json]) -> bool:
    return bool(values) and all(isinstance(value, str) for value in values)
