"""Random JSON Schemas of what a grammar can hold an answer to; the same ones for the same seed.

Small on purpose: a small model must come to the end of an answer within a test's budget.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from dragoman.core.json import Json

Schema = dict[str, Json]

WORDS = ("id", "name", "tags", "größe", "a b", 'quo"te', "line\nless", "😀", "x/y", "")
NAMES = tuple(word for word in WORDS if "\n" not in word)
PATTERNS = (
    r"^[a-z]{1,8}$",
    r"^\d{4}-\d{2}$",
    r"^(red|green|blue)$",
    r"^[A-Z][a-z]+( [A-Z][a-z]+)?$",
    r"^\S{1,5}$",
    r"^.{2,6}$",
)
FORMATS = ("date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri")


def random_schema(seed: int) -> Schema:
    """An object's schema, as most clients send it, or any other where the seed is a multiple of four."""
    rng = Random(seed)
    root = _any(rng, 3) if seed % 4 == 0 else _object(rng, 3)
    definitions: Schema = {"shared": _any(rng, 0), "chain": _chain(rng)}
    return {**root, "$defs": definitions}


def _any(rng: Random, depth: int) -> Schema:
    kinds: list[Callable[[Random, int], Schema]] = [_string, _number, _integer, _enum, _flag]
    if depth:
        kinds += [_object, _array, _union, _tagged, _all_of, _shared, _nullable, _map]
    return rng.choice(kinds)(rng, depth - 1 if depth else 0)


def _flag(rng: Random, _depth: int) -> Schema:
    return {"type": rng.choice(["boolean", "null"])}


def _string(rng: Random, _depth: int) -> Schema:
    match rng.randrange(3):
        case 0:
            return {"type": "string", "minLength": rng.randrange(3), "maxLength": rng.randrange(3, 12)}
        case 1:
            return {"type": "string", "pattern": rng.choice(PATTERNS)}
        case _:
            return {"type": "string", "format": rng.choice(FORMATS)}


def _number(rng: Random, _depth: int) -> Schema:
    low = rng.choice([0, -1.5, 0.25, 10])
    limits: Schema = {
        rng.choice(["minimum", "exclusiveMinimum"]): low,
        rng.choice(["maximum", "exclusiveMaximum"]): low + 7.5,
    }
    return {"type": "number", **limits}


def _integer(rng: Random, _depth: int) -> Schema:
    low = rng.randrange(-50, 50)
    step: Schema = {"multipleOf": rng.choice([2, 3, 5])} if rng.random() < 0.3 else {}
    return {"type": "integer", "minimum": low, "maximum": low + rng.randrange(6, 400), **step}


def _enum(rng: Random, _depth: int) -> Schema:
    values: list[Json] = [*WORDS, 0, -7, 1.5, True, False, None, [1, "two"], {"k": [None]}]
    return {"enum": rng.sample(values, rng.randrange(1, 5))} if rng.random() < 0.7 else {"const": rng.choice(values)}


def _object(rng: Random, depth: int) -> Schema:
    names = rng.sample(NAMES, rng.randrange(1, 4))
    schema: Schema = {
        "type": "object",
        "properties": {name: _any(rng, depth) for name in names},
        "required": [name for name in names if rng.random() < 0.7],
        "additionalProperties": False,
    }
    if rng.random() < 0.2:
        schema["title"], schema["x-order"] = "T", 1
    return schema


def _map(rng: Random, depth: int) -> Schema:
    """Names that the model makes up, few and short."""
    inner = _any(rng, min(depth, 1))
    if rng.random() < 0.5:
        return {
            "type": "object",
            "patternProperties": {"^[a-z]{1,6}$": inner},
            "additionalProperties": False,
            "maxProperties": 2,
        }
    return {"type": "object", "additionalProperties": inner, "minProperties": 1, "maxProperties": 2}


def _array(rng: Random, depth: int) -> Schema:
    if rng.random() < 0.3:
        return {
            "type": "array",
            "prefixItems": [_any(rng, depth), _any(rng, 0)],
            "items": False,
            "minItems": rng.randrange(3),
        }
    low = rng.randrange(3)
    return {"type": "array", "items": _any(rng, depth), "minItems": low, "maxItems": low + rng.randrange(3)}


def _union(rng: Random, depth: int) -> Schema:
    return {"anyOf": [_any(rng, depth) for _ in range(rng.randrange(2, 4))]}


def _nullable(rng: Random, _depth: int) -> Schema:
    return {"type": [rng.choice(["string", "integer"]), "null"], "maxLength": 9, "minimum": 0, "maximum": 99}


def _tagged(rng: Random, depth: int) -> Schema:
    branches: list[Json] = [
        {
            "type": "object",
            "properties": {"kind": {"const": kind}, "value": _any(rng, depth)},
            "required": ["kind", "value"],
            "additionalProperties": False,
        }
        for kind in rng.sample(NAMES, 2)
    ]
    return {"oneOf": branches}


def _all_of(rng: Random, depth: int) -> Schema:
    name, other = rng.sample(NAMES, 2)
    return {
        "allOf": [
            {"type": "object", "properties": {name: _any(rng, depth)}, "required": [name]},
            {"properties": {other: _any(rng, 0)}},
        ],
        "properties": {name: True, other: True},
        "additionalProperties": False,
    }


def _shared(rng: Random, _depth: int) -> Schema:
    return {"$ref": rng.choice(["#/$defs/shared", "#/$defs/chain"])}


def _chain(rng: Random) -> Schema:
    """A list of objects each of which holds the next."""
    return {
        "type": "object",
        "properties": {"value": _any(rng, 0), "next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/chain"}]}},
        "required": ["value", "next"],
        "additionalProperties": False,
    }
