"""Kept replies: what a retry under the same idempotency key gets. They end with their window, however often they are read."""

from __future__ import annotations

import hashlib

import msgspec
from sqlalchemy import Connection, insert, select

from dragoman.store import entries
from dragoman.store.base import KeptReply
from dragoman.store.entries import Kind
from dragoman.store.tables import replies
from dragoman.store.transactions import Writing


def save(writing: Writing, owner: str, key: str, reply: KeptReply, *, now: float) -> None:
    """Keep it in place of what the key had."""
    name = _name(key)
    old = entries.find(writing.connection, owner, Kind.REPLY, name)
    if old is not None:
        entries.remove_one(writing, old.key)
    headers = msgspec.json.encode(reply.headers)
    size = len(headers) + len(reply.body)
    entry = entries.add(writing, owner, Kind.REPLY, name, created_at=int(now), now=now, size=size)
    row = {"digest": reply.digest, "status": reply.status, "headers": headers, "body": reply.body}
    writing.connection.execute(insert(replies).values(entry=entry.key, **row))


def load(connection: Connection, owner: str, key: str, *, since: float) -> KeptReply | None:
    """What was kept under the key ``since`` then."""
    entry = entries.find(connection, owner, Kind.REPLY, _name(key), since=since)
    if entry is None:
        return None
    row = connection.execute(select(replies).where(replies.c.entry == entry.key)).one()
    headers = msgspec.json.decode(row.headers, type=tuple[tuple[str, str], ...])
    return KeptReply(digest=row.digest, status=row.status, headers=headers, body=row.body)


def _name(key: str) -> str:
    """A key is the client's, of any length and any characters."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
