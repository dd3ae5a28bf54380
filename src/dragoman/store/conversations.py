"""Conversations: lists of items that grow and shrink, item by item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import ColumnElement, Connection, Subquery, delete, func, insert, select, update

from dragoman.core.json import JsonObject
from dragoman.store import entries
from dragoman.store.base import StoredConversation
from dragoman.store.documents import packed, unpacked
from dragoman.store.entries import Entry, Kind
from dragoman.store.items import Holder, missing, prepared, put, size_of
from dragoman.store.names import is_name
from dragoman.store.tables import ROW_BYTES, conversations, items
from dragoman.store.transactions import Writing

_TOGETHER: Final = 500
"""Ids asked for in one query; SQLite takes some 32,000 values."""


def save(writing: Writing, owner: str, conversation: StoredConversation, *, now: float) -> None:
    """Begin one, or replace its metadata."""
    metadata = packed(conversation.metadata)
    entry = entries.find(writing.connection, owner, Kind.CONVERSATION, conversation.id)
    if entry is None:
        entry = entries.add(
            writing,
            owner,
            Kind.CONVERSATION,
            conversation.id,
            created_at=conversation.created_at,
            now=now,
            size=len(metadata),
        )
        writing.connection.execute(insert(conversations).values(entry=entry.key, metadata=metadata))
        return
    here = conversations.c.entry == entry.key
    old = writing.connection.execute(select(conversations.c.metadata).where(here)).scalar_one()
    writing.connection.execute(update(conversations).where(here).values(metadata=metadata))
    entries.use(writing, entry.key, now=now, grown=len(metadata) - len(old))


def load(connection: Connection, entry: Entry) -> StoredConversation:
    """The conversation of an entry."""
    query = select(conversations.c.metadata).where(conversations.c.entry == entry.key)
    metadata = connection.execute(query).scalar_one()
    return StoredConversation(id=entry.id, created_at=entry.created_at, metadata=unpacked(metadata))


def append(writing: Writing, entry: Entry, new: Sequence[JsonObject], *, now: float) -> None:
    """Add the items whose ids are not there yet."""
    connection = writing.connection
    end = select(func.max(items.c.position)).where(items.c.conversation == entry.key)
    last = connection.execute(end).scalar_one()
    seen = _present(connection, entry, [name for item in new if is_name(name := item.get("id"))])
    fresh: list[JsonObject] = []
    for item in new:
        name = item.get("id")
        if is_name(name):
            if name in seen:
                continue
            seen.add(name)
        fresh.append(item)
    start = 0 if last is None else last + 1
    added = prepared(fresh, start=start)
    put(connection, entry.owner, Holder(conversation=entry.key), added)
    entries.use(writing, entry.key, now=now, grown=size_of(added))


def listed(entry: Entry) -> Subquery:
    """Its items, numbered for ``items.page``."""
    columns = (items.c.position.label("place"), items.c.key, items.c.id)
    return select(*columns).where(items.c.conversation == entry.key).subquery()


def all_items(connection: Connection, entry: Entry) -> tuple[JsonObject, ...]:
    """All of them, oldest first."""
    query = select(items.c.data).where(items.c.conversation == entry.key).order_by(items.c.position)
    return tuple(unpacked(data) for data in connection.execute(query).scalars())


def item(connection: Connection, entry: Entry, id: str) -> JsonObject:
    """One of them. Raises ``NotFound``."""
    query = select(items.c.data).where(*_one(entry, id))
    data = connection.execute(query).scalar_one_or_none()
    if data is None:
        raise missing(id)
    return unpacked(data)


def remove_item(writing: Writing, entry: Entry, id: str, *, now: float) -> None:
    """Take it out. Raises ``NotFound``."""
    statement = delete(items).where(*_one(entry, id)).returning(func.length(items.c.data))
    size = writing.connection.execute(statement).scalar_one_or_none()
    if size is None:
        raise missing(id)
    entries.use(writing, entry.key, now=now, grown=-(ROW_BYTES + size))


def _one(entry: Entry, id: str) -> tuple[ColumnElement[bool], ...]:
    return items.c.conversation == entry.key, items.c.id == (id if is_name(id) else "")


def _present(connection: Connection, entry: Entry, ids: Sequence[str]) -> set[str]:
    """Which of the ids it has."""
    found: set[str] = set()
    for start in range(0, len(ids), _TOGETHER):
        some = ids[start : start + _TOGETHER]
        query = select(items.c.id).where(items.c.conversation == entry.key, items.c.id.in_(some))
        found.update(connection.execute(query).scalars())
    return found
