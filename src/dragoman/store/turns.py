"""Turns: what was said and answered, in a tree of which every response has a path from the root.

A turn lives for as long as a response ends in it or another turn goes on from it. So deleting a response takes away what led to it
alone, and leaves whole what others went on from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from sqlalchemy import CTE, Connection, Subquery, delete, exists, func, insert, or_, select, update
from sqlalchemy.sql.dml import ReturningDelete

from dragoman.core.json import JsonObject
from dragoman.store.documents import unpacked
from dragoman.store.items import Holder, NewItem, put, size_of
from dragoman.store.tables import ROW_BYTES, items, responses, turns
from dragoman.store.transactions import Writing


def begin(writing: Writing, owner: str, parent: int | None, new: Sequence[NewItem]) -> int:
    """A turn with these items that goes on from ``parent``."""
    above = select(turns.c.depth).where(turns.c.key == parent).scalar_subquery()
    size = ROW_BYTES + size_of(new)
    values = {"parent": parent, "depth": 0 if parent is None else above + 1, "size": size}
    key: int = writing.connection.execute(insert(turns).values(values).returning(turns.c.key)).scalar_one()
    put(writing.connection, owner, Holder(turn=key), new)
    writing.bytes += size
    return key


def refill(writing: Writing, owner: str, turn: int, new: Sequence[NewItem]) -> None:
    """Give it these items in place of those that it had."""
    connection = writing.connection
    here = turns.c.key == turn
    had: int = connection.execute(select(turns.c.size).where(here)).scalar_one()
    size = ROW_BYTES + size_of(new)
    connection.execute(delete(items).where(items.c.turn == turn))
    put(connection, owner, Holder(turn=turn), new)
    connection.execute(update(turns).where(here).values(size=size))
    writing.bytes += size - had


def path(connection: Connection, turn: int) -> tuple[JsonObject, ...]:
    """All items from the root to the end of this turn."""
    chain = _chain(turn)
    query = select(items.c.data).join(chain, items.c.turn == chain.c.key).order_by(chain.c.depth, items.c.position)
    return tuple(unpacked(data) for data in connection.execute(query).scalars())


def own(connection: Connection, turn: int) -> tuple[list[JsonObject], list[JsonObject]]:
    """Its own items: those that were given, and the output."""
    query = select(items.c.output, items.c.data).where(items.c.turn == turn).order_by(items.c.position)
    given: list[JsonObject] = []
    output: list[JsonObject] = []
    for row in connection.execute(query):
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


def drop_unneeded(writing: Writing, ended: Iterable[int]) -> None:
    """Drop turns whose response has gone, and those above them, as far as nothing else needs them."""
    starts = list(ended)
    while starts:
        dropped = writing.connection.execute(_drop(starts)).all()
        writing.bytes -= sum(row.size for row in dropped)
        # A turn that lost several children at once was held by each of them against the others.
        lost = Counter(row.parent for row in dropped if row.parent is not None)
        starts = [key for key, children in lost.items() if children > 1]


def _drop(starts: Sequence[int]) -> ReturningDelete[tuple[int | None, int]]:
    """Delete those of them that nothing needs, and upwards each turn that had no other child."""
    answered = exists().where(responses.c.turn == turns.c.key)
    child = turns.alias("child")
    gone_on = exists().where(child.c.parent == turns.c.key)
    columns = (turns.c.key, turns.c.parent)
    first = select(*columns).where(turns.c.key.in_(starts), ~answered, ~gone_on)
    unneeded = first.cte("unneeded", recursive=True)
    otherwise = exists().where(child.c.parent == turns.c.key, child.c.key != unneeded.c.key)
    above = select(*columns).join(unneeded, turns.c.key == unneeded.c.parent).where(~answered, ~otherwise)
    unneeded = unneeded.union_all(above)
    return delete(turns).where(turns.c.key.in_(select(unneeded.c.key))).returning(turns.c.parent, turns.c.size)


def _chain(turn: int) -> CTE:
    """The turns from this one up to the root."""
    columns = (turns.c.key, turns.c.parent, turns.c.depth)
    chain = select(*columns).where(turns.c.key == turn).cte("chain", recursive=True)
    return chain.union_all(select(*columns).join(chain, turns.c.key == chain.c.parent))
