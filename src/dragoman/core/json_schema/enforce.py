"""A client's schema, checked and rewritten into one that a grammar enforces word for word.

Only keywords that are enforced are left, each with the meaning that 2020-12 gives it; annotations are dropped. What would be
enforced otherwise than it reads, or not at all, is a fault that names its place. A document's paths stay as they are, so that
references hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from dragoman.core.json import Json, JsonObject
from dragoman.core.json_schema.cycles import circular
from dragoman.core.json_schema.disjoint import Disjointness
from dragoman.core.json_schema.fault import SchemaFault
from dragoman.core.json_schema.keywords import (
    BOUNDS,
    CONDITIONAL,
    COUNTS,
    FORMATS,
    SCHEMA_LISTS,
    SCHEMA_MAPS,
    SCHEMAS,
    UNENFORCEABLE,
)
from dragoman.core.json_schema.pointer import Path, Pointer, pointer_of, pointer_to
from dragoman.core.json_schema.read import bound, count, listed, names, pattern, types, values
from dragoman.core.json_schema.values import MAX_EXACT, nests_deeper
from dragoman.core.limits import MAX_JSON_DEPTH, MAX_SCHEMA_NODES

_OLDER_TUPLE: Final = "additionalItems"


def enforceable(schema: Json, *, lenient: bool = False) -> JsonObject:
    """The schema as the grammar gets it. Raises ``SchemaFault``.

    ``lenient`` leaves out what can not be enforced, so that more is allowed than the schema says; what is no schema is a fault
    all the same.
    """
    return _Enforcement(schema, lenient=lenient).root()


class _Enforcement:
    def __init__(self, schema: Json, *, lenient: bool) -> None:
        self._schema = schema
        self._lenient = lenient
        self._disjointness = Disjointness(schema)
        self._schemas: set[Pointer] = set()
        self._references: list[tuple[Path, Pointer]] = []
        self._embedded = 0  # how many schemas around the one being read call themselves documents of their own

    def root(self) -> JsonObject:
        if nests_deeper(self._schema, MAX_JSON_DEPTH):
            raise SchemaFault(f"is nested more than {MAX_JSON_DEPTH} deep", (), malformed=True)
        written = self._read(self._schema, ())
        for path, target in self._references:
            if target not in self._schemas:
                raise SchemaFault("leads to no schema of this document", path, malformed=True)
        if (place := circular(written)) is not None:
            raise SchemaFault("refers to itself without end", place, malformed=True)
        if written is False:
            raise SchemaFault("allows no value", ())
        return written if isinstance(written, Mapping) else {}

    def _read(self, schema: Json, path: Path) -> Json:
        self._schemas.add(pointer_to(path))
        if len(self._schemas) > MAX_SCHEMA_NODES:
            raise SchemaFault(f"there are more than {MAX_SCHEMA_NODES} schemas in it", (), malformed=True)
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping):
            raise SchemaFault("must be a schema: an object, true or false", path, malformed=True)
        embedded = "$id" in schema and path != ()
        self._embedded += embedded
        written = self._keywords(schema, path)
        self._embedded -= embedded
        return written

    def _keywords(self, schema: JsonObject, path: Path) -> JsonObject:
        written: dict[str, Json] = {}
        for keyword, value in schema.items():
            try:
                self._keyword(schema, keyword, value, (*path, keyword), written)
            except SchemaFault as fault:
                if fault.malformed or not self._lenient:
                    raise
        if "patternProperties" in schema and "patternProperties" not in written:
            written.pop("additionalProperties", None)  # what it says of other names would be said of these, too
        if isinstance(name := schema.get("format"), str) and name in FORMATS:
            written["allOf"] = [*listed(written.get("allOf", [True]), path), FORMATS[name]]
        if _whole(written.get("type")):
            # Longer numbers are of no use to most readers, and a small model may not find their end.
            if not written.keys() & {"minimum", "exclusiveMinimum"}:
                written["minimum"] = -MAX_EXACT
            if not written.keys() & {"maximum", "exclusiveMaximum"}:
                written["maximum"] = MAX_EXACT
        return written

    def _keyword(self, schema: JsonObject, keyword: str, value: Json, at: Path, written: dict[str, Json]) -> None:
        """Add what enforces this keyword to ``written``."""
        if keyword in UNENFORCEABLE:
            self._refuse(schema, keyword, value, at)
        elif keyword in SCHEMA_MAPS:
            written[keyword] = self._map(keyword, value, at)
        elif keyword in SCHEMAS:
            self._items(schema, keyword, value, at, written)
        elif keyword in SCHEMA_LISTS:
            self._list(keyword, value, at, written)
        elif keyword in COUNTS:
            self._count(schema, keyword, count(value, at), at, written)
        elif keyword in BOUNDS or keyword == "multipleOf":
            written[keyword] = bound(value, at, above_zero=keyword == "multipleOf")
        else:
            self._rest(keyword, value, at, written)

    def _rest(self, keyword: str, value: Json, at: Path, written: dict[str, Json]) -> None:
        match keyword:
            case "type":
                written[keyword] = types(value, at)
            case "enum" | "const":
                written[keyword] = values(value, at, several=keyword == "enum")
            case "required":
                written[keyword] = names(value, at)
            case "pattern":
                written[keyword] = pattern(value, at)
            case "$ref":
                self._reference(value, at)
                written[keyword] = value
            case _:
                return  # an annotation

    def _refuse(self, schema: JsonObject, keyword: str, value: Json, at: Path) -> None:
        if any(value == neutral and type(value) is type(neutral) for neutral in UNENFORCEABLE[keyword]):
            return
        if keyword in CONDITIONAL and not ("if" in schema and ("then" in schema or "else" in schema)):
            return  # by itself it says nothing
        raise SchemaFault("can not be enforced", at)

    def _map(self, keyword: str, value: Json, at: Path) -> JsonObject:
        if not isinstance(value, Mapping):
            raise SchemaFault("must be an object of schemas", at, malformed=True)
        if keyword == "properties" and any(character < " " for name in value for character in name):
            raise SchemaFault("has a name with control characters, which can be written in two ways", at)
        schemas = {name: self._read(item, (*at, name)) for name, item in value.items()}
        if keyword != "patternProperties":
            return schemas
        return {pattern(name, (*at, name)): schema for name, schema in schemas.items()}

    def _items(self, schema: JsonObject, keyword: str, value: Json, at: Path, written: dict[str, Json]) -> None:
        older = isinstance(schema.get("items"), Sequence) and not isinstance(schema.get("items"), str)
        if keyword == "items" and older:
            written["items"] = [self._read(item, (*at, index)) for index, item in enumerate(listed(value, at))]
        elif keyword == _OLDER_TUPLE and not older:
            self._read(value, at)  # of no effect without a tuple, and a schema all the same
        else:
            written[keyword] = self._read(value, at)

    def _list(self, keyword: str, value: Json, at: Path, written: dict[str, Json]) -> None:
        schemas = [self._read(item, (*at, index)) for index, item in enumerate(listed(value, at))]
        if keyword != "oneOf":
            written[keyword] = schemas
            return
        if not self._lenient and not self._disjointness.pairwise(listed(value, at)):
            raise SchemaFault("its branches may hold at once, and exactly one can not be enforced; send anyOf", at)
        written["oneOf"] = schemas

    def _count(self, schema: JsonObject, keyword: str, number: int, at: Path, written: dict[str, Json]) -> None:
        if keyword not in {"minProperties", "maxProperties"}:
            written[keyword] = number
            return
        required = set(names(schema.get("required") or [], (*at[:-1], "required")))
        properties = schema.get("properties")
        declared = set(properties) if isinstance(properties, Mapping) else set()
        if keyword == "minProperties":
            if number <= len(required):
                return  # the required ones are enough
            if number > 1 or declared:
                # Names that a map makes up may repeat, and then count once.
                raise SchemaFault("more members than are required can not be enforced", at)
        elif _closed(schema) and number >= len(declared | required):
            return  # there are no more names than that
        elif not declared <= required:
            raise SchemaFault("can not be enforced beside properties that may be absent", at)
        written[keyword] = number

    def _reference(self, value: Json, at: Path) -> None:
        if not isinstance(value, str):
            raise SchemaFault("must be a string", at, malformed=True)
        target = pointer_of(value)
        if target is None or self._embedded:
            raise SchemaFault("only references into this document, such as #/$defs/name, can be enforced", at)
        self._references.append((at, target))


def _closed(schema: JsonObject) -> bool:
    """Whether an object has no members but those that are named."""
    return schema.get("additionalProperties") is False and "patternProperties" not in schema


def _whole(types: Json) -> bool:
    """Whether numbers of these types are integers."""
    return types == "integer" or (isinstance(types, Sequence) and "integer" in types and "number" not in types)
