"""Turns: what was said and answered, in a tree of which every response has a path from the root.

A turn lives for as long as a response ends in it or another turn goes on from it. So deleting a response takes away what led to it
alone, and leaves whole what others went on from.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import CTE, Subquery, delete, exists, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from dragoman.core.json import JsonObject
from dragoman.store.database import Writing
from dragoman.store.documents import unpacked
from dragoman.store.items import Holder, put
from dragoman.store.tables import ROW_BYTES, items, responses, turns


async def begin(writing: Writing, parent: int | None) -> int:
    """A new turn, empty, that goes on from ``parent``."""
    above = select(turns.c.depth).where(turns.c.key == parent).scalar_subquery()
    depth = 0 if parent is None else above + 1
    statement = insert(turns).values(parent=parent, depth=depth, size=ROW_BYTES).returning(turns.c.key)
    key: int = (await writing.connection.execute(statement)).scalar_one()
    writing.bytes += ROW_BYTES
    return key


async def fill(
    writing: Writing, owner: str, turn: int, given: Sequence[JsonObject], output: Sequence[JsonObject]
) -> None:
    """Give it these items in place of those that it had."""
    connection = writing.connection
    had = (await connection.execute(select(turns.c.size).where(turns.c.key == turn))).scalar_one()
    if had > ROW_BYTES:
        await connection.execute(delete(items).where(items.c.turn == turn))
    size = ROW_BYTES
    size += await put(connection, owner, Holder(turn=turn), given)
    size += await put(connection, owner, Holder(turn=turn), output, start=len(given), output=True)
    await connection.execute(update(turns).where(turns.c.key == turn).values(size=size))
    writing.bytes += size - had


async def path(connection: AsyncConnection, turn: int) -> tuple[JsonObject, ...]:
    """All items from the root to the end of this turn."""
    chain = _chain(turn)
    query = select(items.c.data).join(chain, items.c.turn == chain.c.key).order_by(chain.c.depth, items.c.position)
    return tuple(unpacked(data) for data in (await connection.execute(query)).scalars())


async def own(connection: AsyncConnection, turn: int) -> tuple[list[JsonObject], list[JsonObject]]:
    """Its own items: those that were given, and the output."""
    query = select(items.c.output, items.c.data).where(items.c.turn == turn).order_by(items.c.position)
    given: list[JsonObject] = []
    output: list[JsonObject] = []
    for row in await connection.execute(query):
        (output if row.output else given).append(unpacked(row.data))
    return given, output


def given_to(turn: int) -> Subquery:
    """The list of items that its output answers, numbered for ``items.page``."""
    chain = _chain(turn)
    place = func.row_number().over(order_by=(chain.c.depth, items.c.position)).label("place")
    return (
        select(place, items.c.key, items.c.id)
        .join(chain, items.c.turn == chain.c.key)
        .where(or_(items.c.turn != turn, ~items.c.output))
        .subquery()
    )


async def drop_unneeded(writing: Writing, turn: int) -> None:
    """Drop this turn, and those above it for as long as nothing else needs them."""
    ended = exists().where(responses.c.turn == turns.c.key)
    child = turns.alias("child")
    gone_on = exists().where(child.c.parent == turns.c.key)
    unneeded = (
        select(turns.c.key, turns.c.parent).where(turns.c.key == turn, ~ended, ~gone_on).cte("unneeded", recursive=True)
    )
    by_another = exists().where(child.c.parent == turns.c.key, child.c.key != unneeded.c.key)
    unneeded = unneeded.union_all(
        select(turns.c.key, turns.c.parent).join(unneeded, turns.c.key == unneeded.c.parent).where(~ended, ~by_another)
    )
    statement = delete(turns).where(turns.c.key.in_(select(unneeded.c.key))).returning(turns.c.size)
    writing.bytes -= sum((await writing.connection.execute(statement)).scalars())


def _chain(turn: int) -> CTE:
    """The turns from this one up to the root."""
    columns = (turns.c.key, turns.c.parent, turns.c.depth)
    chain = select(*columns).where(turns.c.key == turn).cte("chain", recursive=True)
    return chain.union_all(select(*columns).join(chain, turns.c.key == chain.c.parent))
