"""Conversations of the Responses surface: their bodies, and the objects that tell of them (openai.types.conversations)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dragoman.core.json import Json, JsonObject
from dragoman.surfaces.fields import Form, Table, honoured, ignored
from dragoman.surfaces.readers import Place, Reader
from dragoman.surfaces.responses_entries import Referred
from dragoman.surfaces.responses_fields import METADATA
from dragoman.surfaces.responses_items import read_input

MAX_ITEMS: Final = 20
"""That may be added at once; OpenAI's number."""


def _items(value: Json, at: Place) -> list[Json]:
    if not isinstance(value, list):
        raise at.invalid("an array of items", value)
    if len(value) > MAX_ITEMS:
        raise at.wrong(f"{at.path} holds {len(value)} items; at most {MAX_ITEMS} can be added at once")
    return value


_ITEMS_SCHEMA: Final[JsonObject] = {"type": "array", "items": {"type": "object"}, "maxItems": MAX_ITEMS}
ITEMS: Final = honoured(
    "items", Reader("an array of items", _items, _ITEMS_SCHEMA), f"Items as in `input`, at most {MAX_ITEMS}."
)
_INCLUDE: Final = ignored("include", "Items are told whole.")

CREATE_FIELDS: Final = Table(ITEMS, METADATA)
UPDATE_FIELDS: Final = Table(METADATA)
ADD_FIELDS: Final = Table(ITEMS, _INCLUDE)

Mint = Callable[[], str]


def parse_create(body: JsonObject, *, strict: bool, mint: Mint) -> tuple[tuple[JsonObject, ...], JsonObject]:
    """Items and metadata of a new conversation. Raises ``InvalidRequest`` naming the field."""
    form = Form(body, CREATE_FIELDS, Place(strict=strict))
    return _read(form, form.read(ITEMS, []), mint), form.read(METADATA, {})


def parse_update(body: JsonObject, *, strict: bool) -> JsonObject:
    """Metadata, which must be there. Raises ``InvalidRequest`` naming the field."""
    return Form(body, UPDATE_FIELDS, Place(strict=strict)).require(METADATA)


def parse_items(body: JsonObject, *, strict: bool, mint: Mint) -> tuple[JsonObject, ...]:
    """Items to add, each with an id. Raises ``InvalidRequest`` naming the field."""
    form = Form(body, ADD_FIELDS, Place(strict=strict))
    return _read(form, form.require(ITEMS), mint)


def conversation_object(id: str, created_at: int, metadata: JsonObject) -> JsonObject:
    """A conversation, without its items."""
    return {"id": id, "object": "conversation", "created_at": created_at, "metadata": metadata}


def _read(form: Form, items: list[Json], mint: Mint) -> tuple[JsonObject, ...]:
    at = form.place(ITEMS)
    read = read_input(items, at, mint)
    for index, item in enumerate(read):
        if any(isinstance(entry, Referred) for entry in item.entries):
            raise at.child(index).wrong(f"{at.child(index).path} only names an item: send the item itself")
    return tuple(item.kept for item in read)
