"""Room: what is too old goes, and of what is too much the longest unused.

All bounds are strict: if one entry alone is more than the store may hold, it goes, too. A history that still has a response at its end
is as large as its turns, so the bytes bound that as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import ColumnElement, and_, or_, select

from dragoman.store.database import Writing
from dragoman.store.entries import Kind, remove
from dragoman.store.limits import StoreLimits
from dragoman.store.tables import entries

_TOGETHER: Final = 64
"""Entries looked up at once; usually one has to go."""

_REPLY = entries.c.kind == Kind.REPLY.value


async def make_room(writing: Writing, limits: StoreLimits, *, now: float) -> None:
    """Remove entries until all limits hold."""
    while keys := await _too_old(writing, limits, now=now):
        for key in keys:
            await remove(writing, key)
    while writing.entries > limits.max_responses:
        for key in await _longest_unused(writing, ~_REPLY, limit=writing.entries - limits.max_responses):
            await remove(writing, key)
    while writing.bytes > limits.max_bytes and (keys := await _longest_unused(writing)):
        for key in keys:
            if writing.bytes > limits.max_bytes:
                await remove(writing, key)


async def _too_old(writing: Writing, limits: StoreLimits, *, now: float) -> Sequence[int]:
    reply_ended = and_(_REPLY, entries.c.used_at < now - limits.reply_window)
    return await _longest_unused(writing, or_(entries.c.used_at < now - limits.max_age, reply_ended))


async def _longest_unused(writing: Writing, *conditions: ColumnElement[bool], limit: int = _TOGETHER) -> Sequence[int]:
    query = select(entries.c.key).where(*conditions).order_by(entries.c.used_at, entries.c.key)
    return (await writing.connection.execute(query.limit(min(limit, _TOGETHER)))).scalars().all()
