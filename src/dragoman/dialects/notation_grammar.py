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

from dragoman.core.grammar import literal
from dragoman.core.json import Json, JsonObject
from dragoman.core.json_schema import SchemaFault
from dragoman.core.request import ToolSpec
from dragoman.dialects.call_grammar import ANYTHING, DEFINITIONS, unenforceable
from dragoman.dialects.lark import Lark

_SILENT: Final = frozenset(
    {"$comment", "$id", "$schema", "default", "deprecated", "description", "examples", "title", "readOnly", "writeOnly"}
)
"""Keywords that allow and forbid nothing."""

_BARE_KEY: Final = re.compile(r"[\w$][\w$.-]*")
_DEPTH: Final = 8
"""Objects in objects; what is deeper is JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """How arguments are written: ``opener key assign value separator ... closer``, or ``whole`` around one JSON object.

    ``quote`` stands around strings; None where they are JSON's. ``truths`` are the words for true and false.
    """

    opener: str
    closer: str
    assign: str
    separator: str
    whole: tuple[str, str]
    quote: str | None = None
    truths: tuple[str, str] = ("true", "false")
    sorts_keys: bool = False


KEYWORDS: Final = Writing(
    opener="(", closer=")", assign="=", separator=", ", whole=("(**", ")"), truths=("True", "False")
)
"""Python's keyword arguments. Lists and objects in them are JSON, which is nearly Python, and which ``notation.PYTHON`` reads."""


@dataclass(frozen=True, slots=True)
class _Property:
    key: str
    schema: Json
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NotationForm:
    """``before NAME arguments after``: a ``CallForm``. The name is left out where it was written before."""

    before: str = ""
    writing: Writing
    after: str = ""
    named: bool = True

    def rules(self, tool: ToolSpec, name: str, lark: Lark) -> str:
        """The call, and its arguments. What cannot be enforced of a tool that is not strict is left to the model."""
        arguments = f"{name}_arguments"
        try:
            definitions = arguments_rules(tool.parameters, self.writing, arguments, lark, lenient=not tool.strict)
        except SchemaFault as fault:
            if tool.strict:
                raise unenforceable(tool, fault) from fault
            definitions = _whole({"type": "object"}, self.writing, arguments, lark, lenient=True)
        before = f"{lark.text(self.before + tool.name)} " if self.named else ""
        after = f" {lark.text(self.after)}" if self.after else ""
        return f"{name}: {before}{arguments}{after}\n{definitions}"


def arguments_rules(
    parameters: JsonObject | None, writing: Writing, name: str, lark: Lark, *, lenient: bool = False
) -> str:
    """Definitions of rules, of which the first is called ``name``, and the others begin with that.

    Raises ``SchemaFault`` where the schema cannot be enforced, of which less is asked where it is ``lenient``.
    """
    schema = parameters or {}
    properties = _properties(parameters)
    if properties is None:
        return _whole(schema, writing, name, lark, lenient=lenient)
    definitions = {key: schema[key] for key in DEFINITIONS if key in schema}
    builder = _Builder(name, writing, definitions, lark, lenient)
    builder.object(name, properties, writing.opener, writing.closer, depth=0)
    return "".join(f"{rule}: {meaning}\n" for rule, meaning in builder.rules.items())


def _whole(schema: JsonObject, writing: Writing, name: str, lark: Lark, *, lenient: bool) -> str:
    before, behind = (f"{literal(text)} " if text else "" for text in writing.whole)
    return f"{name}: {before}{lark.json(schema, lenient=lenient)} {behind}\n"


@dataclass(slots=True)
class _Builder:
    """Collects rules by their names, in order."""

    root: str
    writing: Writing
    definitions: JsonObject
    lark: Lark
    lenient: bool
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
        if not isinstance(schema, Mapping):
            return self._json(schema)
        asked = {key: value for key, value in schema.items() if key not in _SILENT}
        quote = self.writing.quote
        if asked == {"type": "boolean"}:
            return f"({' | '.join(map(literal, self.writing.truths))})"
        if quote is None:
            return self._json(schema)
        match asked:
            case {"type": "string", **rest} if not rest:
                return self._string(quote)
            case {"enum": list(options), **rest} if _are_strings(options) and rest in ({}, {"type": "string"}):
                choices = " | ".join(literal(str(option)) for option in options)
                return f"{self.lark.text(quote)} ({choices}) {self.lark.text(quote)}"
            case {"type": "array", "items": items, **rest} if not rest and depth < _DEPTH:
                self.rules[f"{name}_item"] = ""
                self.rules[f"{name}_item"] = self._value(f"{name}_item", items, depth + 1)
                return f'"[" ({name}_item ("," {name}_item)*)? "]"'
            case {"type": "object"} if depth < _DEPTH and (inner := _properties(schema)) is not None:
                self.object(f"{name}_object", inner, "{", "}", depth=depth + 1)
                return f"{name}_object"
            case _:
                return self._json(schema)

    def _string(self, quote: str) -> str:
        """Any text up to the quote, which is a token that no text spells, or must not stand in it."""
        written = self.lark.text(quote)
        if self.lark.is_control(quote):
            return f"{written} {ANYTHING} {written}"
        self.rules[f"{self.root}_text[lazy]"] = f"{ANYTHING} {literal(quote)}"
        return f"{written} {self.root}_text"

    def _json(self, schema: Json) -> str:
        if isinstance(schema, Mapping) and '"$ref"' in json.dumps(schema):
            schema = {**self.definitions, **schema}
        return self.lark.json(schema, lenient=self.lenient)


def _properties(parameters: JsonObject | None) -> list[_Property] | None:
    """The arguments one by one; None where the schema says more of them than that."""
    if parameters is None:
        return []
    asked = parameters.keys() - _SILENT - {*DEFINITIONS, "type", "properties", "required", "additionalProperties"}
    properties = parameters.get("properties", {})
    required = parameters.get("required", [])
    if (
        asked
        or parameters.get("type", "object") != "object"
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
    return not all(reference.startswith(tuple(f"#/{place}/" for place in DEFINITIONS)) for reference in references)


def _are_strings(values: Sequence[Json]) -> bool:
    return bool(values) and all(isinstance(value, str) for value in values)
