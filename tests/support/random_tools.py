"""Random tools of the kinds that users declare, and what is asked of them; the same ones for the same seed."""

from __future__ import annotations

from random import Random

from support.schemas import Schema

TITLES = ("city", "query", "to", "kind", "count", "is_urgent", "tags", "place", "größe", "when")
VERBS = ("get", "find", "send", "set", "add")
NOUNS = ("weather", "page", "mail", "alarm", "order")
WORDS = ("red", "green", "deep blue", "metric", "imperial", 'a "b"', "größer", "😀")

Tool = dict[str, Schema | str]
Choice = str | dict[str, str | dict[str, str]]


def random_tools(rng: Random) -> list[Tool]:
    """One to five, no two of one name. One in eight takes no arguments."""
    names = rng.sample([f"{verb}_{noun}" for verb in VERBS for noun in NOUNS], rng.randrange(1, 6))
    return [_tool(rng, name) for name in names]


def random_choice(rng: Random, tools: list[Tool]) -> tuple[Choice, set[str]]:
    """``required``, or one tool by name; and the names that may then be called."""
    names = [tool["function"]["name"] for tool in tools]
    if rng.random() < 0.5:
        return "required", set(names)
    name = rng.choice(names)
    return {"type": "function", "function": {"name": name}}, {name}


def _tool(rng: Random, name: str) -> Tool:
    told: Schema = {"name": name}
    if rng.random() < 0.7:
        told["description"] = f"{name.replace('_', ' ').capitalize()}."
    if rng.random() < 0.875:
        told["parameters"] = _object(rng, 2)
    return {"type": "function", "function": told}


def _object(rng: Random, depth: int) -> Schema:
    names = rng.sample(TITLES, rng.randrange(1, 4))
    schema: Schema = {"type": "object", "properties": {name: _any(rng, depth - 1) for name in names}}
    if required := [name for name in names if rng.random() < 0.7]:
        schema["required"] = required
    if rng.random() < 0.5:
        schema["additionalProperties"] = False
    return schema


def _any(rng: Random, depth: int) -> Schema:
    match rng.randrange(8 if depth else 6):
        case 0:
            return {"type": "string", "description": "A word or two."}
        case 1:
            return {"type": "string", "maxLength": rng.randrange(3, 20)}
        case 2:
            return {"type": "string", "enum": rng.sample(WORDS, rng.randrange(1, 5))}
        case 3:
            low = rng.randrange(-20, 20)
            return {"type": "integer", "minimum": low, "maximum": low + rng.randrange(100)}
        case 4:
            return {"type": "boolean"}
        case 5:
            return {"type": "number", "exclusiveMinimum": 0, "maximum": 10}
        case 6:
            return {"type": "array", "items": _any(rng, depth - 1), "maxItems": rng.randrange(1, 4)}
        case _:
            return _object(rng, depth)
