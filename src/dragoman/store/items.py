"""Items: the JSON objects of which turns and conversations consist, each found by its id, listed in pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, FromClause, func, insert, select

from dragoman.core.errors import Code, NotFound
from dragoman.core.json import JsonObject
from dragoman.store.base import Page, PageWish
from dragoman.store.documents import packed, unpacked
from dragoman.store.names import MAX_NAME, is_name
from dragoman.store.tables import ROW_BYTES, items


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """What an item stands in: one of both."""

    turn: int | None = None
    conversation: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewItem:
    """One that is ready to be kept; ``output``: the model made it."""

    position: int
    output: bool
    id: str | None
    data: bytes


def prepared(given: Sequence[JsonObject], output: Sequence[JsonObject] = (), *, start: int = 0) -> list[NewItem]:
    """Items in their order, from the position ``start`` on."""
    return [
        NewItem(
            position=start + number,
            output=number >= len(given),
            id=name if is_name(name := item.get("id")) else None,
            data=packed(item),
        )
        for number, item in enumerate((*given, *output))
    ]


def size_of(new: Sequence[NewItem]) -> int:
    """What they count, in bytes."""
    return sum(ROW_BYTES + len(item.data) for item in new)


def put(connection: Connection, owner: str, holder: Holder, new: Sequence[NewItem]) -> None:
    """Add them."""
    common = {"owner": owner, "turn": holder.turn, "conversation": holder.conversation}
    if new:
        connection.execute(insert(items), [{**asdict(item), **common} for item in new])


def find(connection: Connection, owner: str, id: str) -> JsonObject:
    """The newest item with that id. Raises ``NotFound``."""
    query = select(items.c.data).where(items.c.owner == owner, items.c.id == (id if is_name(id) else ""))
    data = connection.execute(query.order_by(items.c.key.desc()).limit(1)).scalar_one_or_none()
    if data is None:
        raise missing(id)
    return unpacked(data)


def missing(id: str) -> NotFound:
    """No such item, or it is somebody else's."""
    return NotFound(f"no item {id[:MAX_NAME]!r} is stored", code=Code.ITEM_NOT_FOUND)


def page(connection: Connection, listed: FromClause, wish: PageWish) -> Page:
    """Part of a list that has the columns ``place``, ``key`` and ``id``. Raises ``NotFound`` if the item before it is not there."""
    ascending = wish.order == "asc"
    place = listed.c.place
    query = select(items.c.data).join(listed, items.c.key == listed.c.key)
    if wish.after is not None:
        # An item may have been sent twice. Only the place that is last in this order leaves nothing to be listed again and again.
        last = select(func.max(place) if ascending else func.min(place)).where(listed.c.id == wish.after)
        after = connection.execute(last).scalar_one() if is_name(wish.after) else None
        if after is None:
            raise missing(wish.after)
        query = query.where(place > after if ascending else place < after)
    query = query.order_by(place if ascending else place.desc()).limit(wish.limit + 1)
    found = [unpacked(data) for data in connection.execute(query).scalars()]
    return Page(items=tuple(found[: wish.limit]), more=len(found) > wish.limit)
