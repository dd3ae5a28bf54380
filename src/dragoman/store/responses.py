"""Responses: the body as the client got it, the turn that it ended, and the events of its stream.

The output is kept once, as items of the turn; the body has a null in its place, which reading fills in again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, Row, insert, select, update

from dragoman.core.errors import Code, NotFound
from dragoman.core.json import JsonObject
from dragoman.store import entries, turns
from dragoman.store.base import StoredEvent, StoredResponse
from dragoman.store.documents import packed, unpacked
from dragoman.store.entries import Entry, Kind
from dragoman.store.items import prepared
from dragoman.store.names import MAX_NAME
from dragoman.store.tables import ROW_BYTES, events, responses
from dragoman.store.transactions import Writing


def save(writing: Writing, owner: str, response: StoredResponse, *, now: float, since: float) -> None:
    """Keep it, or replace what its id has. Raises ``NotFound`` if what it goes on from was not used ``since`` then."""
    body, output = _taken_apart(response.body)
    values = {"body": body, "background": response.background, "updated_at": int(now)}
    new = prepared(response.input, output)
    entry = entries.find(writing.connection, owner, Kind.RESPONSE, response.id)
    if entry is None:
        parent = _parent(writing, owner, response.previous, now=now, since=since)
        turn = turns.begin(writing, owner, parent, new)
        entry = entries.add(
            writing, owner, Kind.RESPONSE, response.id, created_at=response.created_at, now=now, size=len(body)
        )
        row = insert(responses).values(entry=entry.key, turn=turn, previous=response.previous, **values)
        writing.connection.execute(row)
    else:
        old = _row(writing.connection, entry)
        writing.connection.execute(update(responses).where(responses.c.entry == entry.key).values(values))
        entries.use(writing, entry.key, now=now, grown=len(body) - len(old.body))
        turns.refill(writing, owner, old.turn, new)  # what it goes on from was settled when it was first kept


def load(connection: Connection, entry: Entry) -> StoredResponse:
    """The response of an entry."""
    row = _row(connection, entry)
    given, output = turns.own(connection, row.turn)
    body = unpacked(row.body)
    if "output" in body and body["output"] is None:
        body = {**body, "output": output}  # where it stood
    return StoredResponse(
        id=entry.id,
        created_at=entry.created_at,
        body=body,
        input=tuple(given),
        previous=row.previous,
        background=row.background,
        updated_at=row.updated_at,
    )


def turn_of(connection: Connection, entry: Entry) -> int:
    """The turn that it ends."""
    turn: int = _row(connection, entry).turn
    return turn


def append(writing: Writing, entry: Entry, new: Sequence[StoredEvent], *, now: float) -> None:
    """Add to its events."""
    rows = [
        {"response": entry.key, "sequence": event.sequence, "name": event.name, "data": event.data} for event in new
    ]
    if rows:
        writing.connection.execute(insert(events), rows)
    entries.use(writing, entry.key, now=now, grown=sum(ROW_BYTES + len(event.data) for event in new))


def all_events(connection: Connection, entry: Entry) -> tuple[StoredEvent, ...]:
    """Its events in the order of their numbers."""
    found = connection.execute(select(events).where(events.c.response == entry.key).order_by(events.c.sequence))
    return tuple(StoredEvent(sequence=row.sequence, name=row.name, data=row.data) for row in found)


def _parent(writing: Writing, owner: str, previous: str | None, *, now: float, since: float) -> int | None:
    """The turn to go on from; going on from a response is a use of it."""
    if previous is None:
        return None
    entry = entries.find(writing.connection, owner, Kind.RESPONSE, previous, since=since)
    if entry is None:
        message = f"no previous response {previous[:MAX_NAME]!r} is stored"
        raise NotFound(message, code=Code.PREVIOUS_RESPONSE_NOT_FOUND)
    entries.use(writing, entry.key, now=now)
    return turn_of(writing.connection, entry)


def _row(connection: Connection, entry: Entry) -> Row[tuple[int, int, bytes, str | None, bool, int]]:
    return connection.execute(select(responses).where(responses.c.entry == entry.key)).one()


def _taken_apart(body: JsonObject) -> tuple[bytes, Sequence[JsonObject]]:
    """The body without its output, and that. An output that is no list of objects stays where it is."""
    output = body.get("output")
    if not isinstance(output, Sequence) or isinstance(output, str):
        return packed(body), ()
    objects = [item for item in output if isinstance(item, Mapping)]
    if len(objects) < len(output):
        return packed(body), ()
    return packed({**body, "output": None}), objects
