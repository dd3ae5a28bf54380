"""A message's JSON Schema by its role: a table says which fields there are, and this which of them belong together.

What a schema cannot say, such as which message may be the last, is left to the reader of messages.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dragoman.core.json import Json, JsonObject
from dragoman.surfaces.fields import Table


def union_by(table: Table, tag: str, variants: Mapping[str, Collection[str]]) -> JsonObject:
    """An object whose ``tag`` decides which one field must hold something; each variant names its own.

    Fields that are another variant's may be null.
    """
    return {
        "anyOf": [
            _variant(table, required=(tag, *needed), absent=_others(variants, word), tag={tag: {"const": word}})
            for word, needed in variants.items()
        ]
    }


def message_schema(table: Table, *, of_assistants: Collection[str]) -> JsonObject:
    """A turn: others' have content, an answer also says what to, and an assistant's may have something in its place."""
    assistant: Mapping[str, Json] = {"role": {"const": "assistant"}}
    others: Mapping[str, Json] = {"role": {"enum": ["system", "developer", "user"]}}
    silent = ("tool_calls", "function_call", "reasoning_content", "refusal")
    return {
        "anyOf": [
            _variant(table, required=("role", "content"), absent=(*of_assistants, "tool_call_id"), tag=others),
            _variant(
                table,
                required=("role", "content", "tool_call_id"),
                absent=of_assistants,
                tag={"role": {"const": "tool"}},
            ),
            _variant(
                table,
                required=("role", "content", "name"),
                absent=(*of_assistants, "tool_call_id"),
                tag={"role": {"const": "function"}},
            ),
            *(
                _variant(table, required=("role", name), absent=("tool_call_id",), tag=assistant)
                for name in ("content", *silent)
            ),
        ]
    }


def _others(variants: Mapping[str, Collection[str]], word: str) -> tuple[str, ...]:
    return tuple(name for other, needed in variants.items() if other != word for name in needed)


def _variant(
    table: Table, *, required: Collection[str], absent: Collection[str], tag: Mapping[str, Json]
) -> JsonObject:
    properties: dict[str, Json] = {}
    for row in table:
        if row.name in absent:
            properties[row.name] = {"type": "null"}
        elif row.name in required:
            properties[row.name] = _filled(row.reader.schema) | {"description": row.note}
        else:
            properties[row.name] = row.schema
    return {"type": "object", "properties": {**properties, **tag}, "required": list(required)}


def _filled(schema: JsonObject) -> dict[str, Json]:
    """The same; an array must hold something, or it would be as good as absent."""
    return {**schema, "minItems": 1} if schema.get("type") == "array" else dict(schema)
