"""Responses: the body as the client got it, the turn that it ended, and the events of its stream.

The output is kept once, as items of the turn; the body has a null in its place, which reading fills in again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Row, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from dragoman.core.errors import Code, NotFound
from dragoman.core.json import JsonObject
from dragoman.store import entries, turns
from dragoman.store.base import StoredEvent, StoredResponse
from dragoman.store.database import Writing
from dragoman.store.documents import packed, unpacked
from dragoman.store.entries import Entry, Kind
from dragoman.store.items import prepared
from dragoman.store.names import MAX_NAME
from dragoman.store.tables import ROW_BYTES, events, responses


async def save(writing: Writing, owner: str, response: StoredResponse, *, now: float, since: float) -> None:
    """Keep it, or replace what its id has. Raises ``NotFound`` if what it goes on from was not used ``since`` then."""
    body, output = _taken_apart(response.body)
    values = {"body": body, "background": response.background, "updated_at": int(now)}
    new = prepared(response.input, output)
    entry = await entries.find(writing.connection, owner, Kind.RESPONSE, response.id)
    if entry is None:
        parent = await _parent(writing, owner, response.previous, now=now, since=since)
        turn = await turns.begin(writing, owner, parent, new)
        entry = await entries.add(
            writing, owner, Kind.RESPONSE, response.id, created_at=response.created_at, now=now, size=len(body)
        )
        row = insert(responses).values(entry=entry.key, turn=turn, previous=response.previous, **values)
        await writing.connection.execute(row)
    else:
        old = await _row(writing.connection, entry)
        await writing.connection.execute(update(responses).where(responses.c.entry == entry.key).values(values))
        await entries.use(writing, entry.key, now=now, grown=len(body) - len(old.body))
        await turns.refill(writing, owner, old.turn, new)  # what it goes on from was settled when it was first kept


async def load(connection: AsyncConnection, entry: Entry) -> StoredResponse:
    """The response of an entry."""
    row = await _row(connection, entry)
    given, output = await turns.own(connection, row.turn)
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


async def turn_of(connection: AsyncConnection, entry: Entry) -> int:
    """The turn that it ends."""
    turn: int = (await _row(connection, entry)).turn
    return turn


async def append(writing: Writing, entry: Entry, new: Sequence[StoredEvent], *, now: float) -> None:
    """Add to its events."""
    rows = [
        {"response": entry.key, "sequence": event.sequence, "name": event.name, "data": event.data} for event in new
    ]
    if rows:
        await writing.connection.execute(insert(events), rows)
    await entries.use(writing, entry.key, now=now, grown=sum(ROW_BYTES + len(event.data) for event in new))


async def events_after(connection: AsyncConnection, entry: Entry, number: int) -> tuple[StoredEvent, ...]:
    """Its events with a greater number."""
    query = select(events).where(events.c.response == entry.key, events.c.sequence > number)
    found = await connection.execute(query.order_by(events.c.sequence))
    return tuple(StoredEvent(sequence=row.sequence, name=row.name, data=row.data) for row in found)


async def _parent(writing: Writing, owner: str, previous: str | None, *, now: float, since: float) -> int | None:
    """The turn to go on from; going on from a response is a use of it."""
    if previous is None:
        return None
    entry = await entries.find(writing.connection, owner, Kind.RESPONSE, previous, since=since)
    if entry is None:
        message = f"no previous response {previous[:MAX_NAME]!r} is stored"
        raise NotFound(message, code=Code.PREVIOUS_RESPONSE_NOT_FOUND)
    await entries.use(writing, entry.key, now=now)
    return await turn_of(writing.connection, entry)


async def _row(connection: AsyncConnection, entry: Entry) -> Row[tuple[int, int, bytes, str | None, bool, int]]:
    return (await connection.execute(select(responses).where(responses.c.entry == entry.key))).one()


def _taken_apart(body: JsonObject) -> tuple[bytes, Sequence[JsonObject]]:
    """The body without its output, and that. An output that is no list of objects stays where it is."""
    output = body.get("output")
    if not isinstance(output, Sequence) or isinstance(output, str):
        return packed(body), ()
    objects = [item for item in output if isinstance(item, Mapping)]
    if len(objects) < len(output):
        return packed(body), ()
    return packed({**body, "output": None}), objects
