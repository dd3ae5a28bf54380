"""The field table: what a surface does with each field of a body, as data that docs and tests read, too.

A field is honoured, refused by name, or accepted without effect and listed as such; there is no fourth way. A
field that is ``null`` counts as absent everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.json import Json, JsonObject
from dragoman.surfaces.readers import ANYTHING, OBJECT, Place, Reader

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
D = TypeVar("D")


class Disposition(StrEnum):
    """What becomes of a field."""

    HONOURED = "honoured"
    IGNORED = "ignored"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field(Generic[T_co]):
    """One row. ``neutral`` holds the values of a refused field that ask for nothing, and are let through.

    ``required`` is for documents: what must be there, and when, is said by whoever reads the form.
    """

    name: str
    disposition: Disposition
    note: str
    reader: Reader[T_co]
    neutral: tuple[Json, ...] = ()
    code: Code = Code.UNSUPPORTED_FIELD
    required: bool = False

    @property
    def schema(self) -> JsonObject:
        """A JSON Schema of what is let through, with the note as its description. ``null`` is absent, so it passes."""
        if self.disposition is Disposition.REFUSED:
            return {"enum": [*self.neutral, None], "description": self.note}
        accepted = self.reader.schema if self.required else _or_null(self.reader.schema)
        return {**accepted, "description": self.note}


class Table:
    """The rows of one object, in the order of its documentation, and found by name."""

    __slots__ = ("_rows",)

    def __init__(self, *rows: Field[object]) -> None:
        self._rows = {row.name: row for row in rows}
        if len(self._rows) != len(rows):
            raise ValueError("a field has two rows")

    def __iter__(self) -> Iterator[Field[object]]:
        return iter(self._rows.values())

    def get(self, name: str) -> Field[object] | None:
        """The row of a field, if it has one."""
        return self._rows.get(name)

    @property
    def schema(self) -> JsonObject:
        """A JSON Schema of the object. Further fields pass, as they do where the server is not strict."""
        schema: dict[str, Json] = {"type": "object", "properties": {row.name: row.schema for row in self}}
        if required := [row.name for row in self if row.required]:
            schema["required"] = list(required)
        return schema


def honoured(name: str, reader: Reader[T], note: str, *, required: bool = False) -> Field[T]:
    """A field that does what its contract says."""
    return Field(name=name, disposition=Disposition.HONOURED, note=note, reader=reader, required=required)


def ignored(name: str, note: str, reader: Reader[object] = ANYTHING) -> Field[object]:
    """A field without effect; with a reader, its value must be well-formed all the same."""
    return Field(name=name, disposition=Disposition.IGNORED, note=note, reader=reader)


def refused(
    name: str,
    note: str,
    *neutral: Json,
    reader: Reader[object] = ANYTHING,
    code: Code = Code.UNSUPPORTED_FIELD,
) -> Field[object]:
    """A field that cannot be served; ``reader`` tells a malformed value from an unsupported one."""
    return Field(name=name, disposition=Disposition.REFUSED, note=note, reader=reader, neutral=neutral, code=code)


class Form:
    """One JSON object read through its table.

    Building it refuses what must be refused and notes what is ignored; ``read`` and ``require`` then give typed
    values. Both raise ``InvalidRequest`` naming the field by its path.
    """

    def __init__(self, body: Json, table: Table, at: Place) -> None:
        self._body = OBJECT.read(body, at)
        self._at = at
        for name, value in self._body.items():
            if value is None:
                continue
            field = table.get(name)
            if field is None:
                _unknown(at.child(name))
            elif field.disposition is not Disposition.HONOURED:
                _settle(field, value, at.child(name))

    @property
    def ignored(self) -> tuple[str, ...]:
        """Every field that had no effect so far, of this object and of those inside it that were read."""
        return tuple(self._at.ignored)

    def read(self, field: Field[T], default: D) -> T | D:
        """The field's value, or ``default`` where it is absent."""
        value = self._body.get(field.name)
        return default if value is None else field.reader.read(value, self._at.child(field.name))

    def require(self, field: Field[T]) -> T:
        """The field's value; raises ``InvalidRequest`` where it is absent."""
        value = self._body.get(field.name)
        at = self._at.child(field.name)
        if value is None:
            raise at.missing()
        return field.reader.read(value, at)

    def place(self, field: Field[object]) -> Place:
        """Where the field stands."""
        return self._at.child(field.name)

    def has(self, field: Field[object]) -> bool:
        """Whether the client sent the field."""
        return self._body.get(field.name) is not None

    def ignore(self, field: Field[object]) -> None:
        """Note a field that this request made pointless, such as a budget that another one overrides."""
        if self.has(field):
            self._at.child(field.name).ignore()


def record(table: Table, build: Callable[[Form], T]) -> Reader[T]:
    """A reader of an object with a table of its own; ``build`` makes the value of its form."""

    def read(value: Json, at: Place) -> T:
        return build(Form(value, table, at))

    return Reader(OBJECT.wants, read, table.schema)


def _or_null(schema: JsonObject) -> JsonObject:
    if not schema:  # anything, so null already
        return schema
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def _settle(field: Field[object], value: Json, at: Place) -> None:
    seen = field.reader.read(value, at)
    if field.disposition is Disposition.IGNORED:
        at.ignore()
    elif not any(_same(seen, neutral) for neutral in field.neutral):
        what = at.path if field.code is Code.UNSUPPORTED_FIELD else f"this value of {at.path}"
        raise at.unsupported(f"{what} is not supported: {field.note}", field.code)


def _same(seen: object, neutral: Json) -> bool:
    # In Python True equals 1; in JSON it does not.
    return isinstance(seen, bool) is isinstance(neutral, bool) and seen == neutral


def _unknown(at: Place) -> None:
    if at.strict:
        raise InvalidRequest(f"{at.path} is not a known field", code=Code.UNKNOWN_FIELD, param=at.path)
    at.ignore()
