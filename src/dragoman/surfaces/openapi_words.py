"""The words that shapes are written in: JSON Schemas of texts, counts, objects that are closed, and references to one another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dragoman.core.json import JsonObject

TEXT: Final[JsonObject] = {"type": "string"}
BOOLEAN: Final[JsonObject] = {"type": "boolean"}
NOTHING: Final[JsonObject] = {"type": "null"}
COUNT: Final[JsonObject] = {"type": "integer", "minimum": 0}
TOKEN_ID: Final[JsonObject] = {"type": "integer", "minimum": 0}
UNIX_SECONDS: Final[JsonObject] = {"type": "integer", "minimum": 0, "description": "Unix time in seconds."}


def ref(name: str) -> JsonObject:
    """A reference to a component of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def const(value: str) -> JsonObject:
    """One string and no other."""
    return {"type": "string", "const": value}


def closed(required: Mapping[str, JsonObject], optional: Mapping[str, JsonObject] | None = None) -> JsonObject:
    """An object with these keys and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def array(items: JsonObject, **bounds: int) -> JsonObject:
    """An array of equal things."""
    return {"type": "array", "items": items, **bounds}


def nullable(schema: JsonObject) -> JsonObject:
    """The same, or null."""
    kind = schema.get("type")
    if isinstance(kind, str) and "const" not in schema and "enum" not in schema:
        return {**schema, "type": [kind, "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def words(*options: str) -> JsonObject:
    """One of these strings."""
    return {"type": "string", "enum": list(options)}


def extended(shape: JsonObject, required: Mapping[str, JsonObject]) -> JsonObject:
    """A closed object with these keys in front of its own."""
    properties, needed = shape["properties"], shape["required"]
    assert isinstance(properties, Mapping)
    assert isinstance(needed, list)
    return {**shape, "properties": {**required, **properties}, "required": [*required, *needed]}


def tagged_union(name: str, kinds: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    """A component for each of these, which has its ``type`` in it, and one that is any of them.

    ``kinds`` are closed objects by type. A component is named after its type.
    """
    parts = {kind: f"{name}.{kind}" for kind in kinds}
    return {
        **{parts[kind]: extended(shape, {"type": const(kind)}) for kind, shape in kinds.items()},
        name: {
            "oneOf": [ref(part) for part in parts.values()],
            "discriminator": {
                "propertyName": "type",
                "mapping": {kind: f"#/components/schemas/{part}" for kind, part in parts.items()},
            },
        },
    }
