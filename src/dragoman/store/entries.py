"""Entries: what an owner has under a name. To anybody else, and after its time, it is not there.

The same query answers for an id that never was and for one of somebody else, so that neither words nor time tell them apart (S17).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from sqlalchemy import Connection, Row, Select, delete, insert, select, update

from dragoman.core.errors import Code, NotFound
from dragoman.store import turns
from dragoman.store.names import MAX_NAME, is_name
from dragoman.store.tables import ROW_BYTES, entries, responses
from dragoman.store.tables import turns as turn_rows
from dragoman.store.transactions import Writing


class Kind(StrEnum):
    """What an entry is."""

    RESPONSE = "response"
    CONVERSATION = "conversation"
    REPLY = "reply"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Its row."""

    key: int
    id: str
    kind: Kind
    owner: str
    created_at: int
    used_at: float


def find(connection: Connection, owner: str, kind: Kind, id: str, *, since: float = 0.0) -> Entry | None:
    """The entry of that name, if it has been used ``since`` then."""
    query = select(entries).where(
        entries.c.owner == owner,
        entries.c.kind == kind.value,
        entries.c.id == (id if is_name(id) else ""),
        entries.c.used_at >= since,
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else entry_of(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """What goes with an entry: ``size`` bytes of its own, and ``turn_size`` of its turn, unless another needs that."""

    key: int
    kind: Kind
    size: int
    turn: int | None
    turn_size: int


Choice: TypeAlias = "Callable[[Select[Any]], Select[Any]]"


def entry_of(row: Row[Any]) -> Entry:
    """A row of the table."""
    return Entry(
        key=row.key,
        id=row.id,
        kind=Kind(row.kind),
        owner=row.owner,
        created_at=row.created_at,
        used_at=row.used_at,
    )


def need(connection: Connection, owner: str, kind: Kind, id: str, *, since: float) -> Entry:
    """The same, or ``NotFound``."""
    found = find(connection, owner, kind, id, since=since)
    if found is None:
        raise missing(kind, id)
    return found


def missing(kind: Kind, id: str) -> NotFound:
    """Nothing of that name, whatever the cause."""
    code = Code.CONVERSATION_NOT_FOUND if kind is Kind.CONVERSATION else Code.RESPONSE_NOT_FOUND
    return NotFound(f"no {kind.value} {id[:MAX_NAME]!r} is stored", code=code)


def add(writing: Writing, owner: str, kind: Kind, id: str, *, created_at: int, now: float, size: int) -> Entry:
    """A new entry; ``size`` are the bytes of what hangs on it."""
    values = {"owner": owner, "kind": kind.value, "id": id, "created_at": created_at, "used_at": now}
    statement = insert(entries).values(size=ROW_BYTES + size, **values).returning(entries.c.key)
    key: int = writing.connection.execute(statement).scalar_one()
    writing.bytes += ROW_BYTES + size
    writing.entries += kind is not Kind.REPLY
    return Entry(key=key, id=id, kind=kind, owner=owner, created_at=created_at, used_at=now)


def use(writing: Writing, key: int, *, now: float, grown: int = 0) -> None:
    """It was used, and has ``grown`` by so many bytes."""
    changed = {"used_at": now, "size": entries.c.size + grown}
    writing.connection.execute(update(entries).where(entries.c.key == key).values(changed))
    writing.bytes += grown


def weigh(connection: Connection, choice: Choice) -> list[Weighed]:
    """The entries that ``choice`` leaves of a query for all of them."""
    columns = (entries.c.key, entries.c.kind, entries.c.size, responses.c.turn, turn_rows.c.size.label("turn_size"))
    every = (
        select(*columns)
        .select_from(entries)
        .outerjoin(responses)
        .outerjoin(turn_rows, responses.c.turn == turn_rows.c.key)
    )
    return [
        Weighed(key=row.key, kind=Kind(row.kind), size=row.size, turn=row.turn, turn_size=row.turn_size or 0)
        for row in connection.execute(choice(every))
    ]


def remove(writing: Writing, gone: Sequence[Weighed]) -> None:
    """Take them out with all that hangs on them. The turns stay that others need."""
    writing.connection.execute(delete(entries).where(entries.c.key.in_([entry.key for entry in gone])))
    writing.bytes -= sum(entry.size for entry in gone)
    writing.entries -= sum(entry.kind is not Kind.REPLY for entry in gone)
    turns.drop_unneeded(writing, [entry.turn for entry in gone if entry.turn is not None])


def remove_one(writing: Writing, key: int) -> None:
    """The same for a single one."""
    remove(writing, weigh(writing.connection, lambda every: every.where(entries.c.key == key)))
