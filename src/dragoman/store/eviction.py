"""Room: what is too old goes, and of what is too much the longest unused.

All bounds are strict: if one entry alone is more than the store may hold, it goes, too. A history that still has a response at its end
is as large as its turns, so the bytes bound that as well.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Final

from sqlalchemy import ColumnElement, and_, or_

from dragoman.store.entries import Kind, Weighed, remove, weigh
from dragoman.store.limits import StoreLimits
from dragoman.store.tables import entries
from dragoman.store.transactions import Writing

_TOGETHER: Final = 100
"""Entries removed by one statement; usually one has to go."""

_REPLY: Final = entries.c.kind == Kind.REPLY.value


def make_room(writing: Writing, limits: StoreLimits, *, now: float) -> None:
    """Remove entries until all limits hold."""
    while old := _too_old(writing, limits, now=now):
        remove(writing, old)
    while (many := writing.entries - limits.max_responses) > 0 and (
        unused := _longest_unused(writing, ~_REPLY, limit=min(many, _TOGETHER))
    ):
        remove(writing, unused)
    while (much := writing.bytes - limits.max_bytes) > 0 and (unused := _longest_unused(writing)):
        remove(writing, _first(unused, much))


def _too_old(writing: Writing, limits: StoreLimits, *, now: float) -> list[Weighed]:
    """Asked at each write, so it is a look into two indexes: in no order, since that would mean to read one of them through."""
    reply_ended = and_(_REPLY, entries.c.used_at < now - limits.reply_window)
    old = or_(entries.c.used_at < now - limits.max_age, reply_ended)
    return weigh(writing.connection, lambda every: every.where(old).limit(_TOGETHER))


def _longest_unused(writing: Writing, *conditions: ColumnElement[bool], limit: int = _TOGETHER) -> list[Weighed]:
    order = (entries.c.used_at, entries.c.key)
    return weigh(writing.connection, lambda every: every.where(*conditions).order_by(*order).limit(limit))


def _first(candidates: list[Weighed], much: int) -> list[Weighed]:
    """As many as have that much, if their turns go with them."""
    sums = accumulate(entry.size + entry.turn_size for entry in candidates)
    return candidates[: sum(total < much for total in sums) + 1]
