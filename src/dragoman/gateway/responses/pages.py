"""How a client asks for part of a list, and how a list is told: OpenAI's cursor pages."""

from __future__ import annotations

from typing import Final, Literal

from starlette.datastructures import QueryParams

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.json import JsonObject
from dragoman.store.base import Page, PageWish

_MOST: Final = 100

_DIGITS: Final = 20
"""Of a number in a query; reading one takes time by its square."""


def page_wish(query: QueryParams) -> PageWish:
    """``limit`` (1 to 100, 20 by default), ``order`` (newest first by default) and ``after``. Raises ``InvalidRequest``."""
    limit = whole_number(query, "limit", 1, _MOST) or PageWish().limit
    return PageWish(limit=limit, order=_order(query.get("order")), after=query.get("after"))


def page_object(page: Page) -> JsonObject:
    """The ``list`` object."""
    ids = [item.get("id") for item in page.items]
    return {
        "object": "list",
        "data": list(page.items),
        "first_id": ids[0] if ids else None,
        "last_id": ids[-1] if ids else None,
        "has_more": page.more,
    }


def whole_number(query: QueryParams, name: str, low: int, high: int) -> int | None:
    """A number in the query, if it is there. Raises ``InvalidRequest``."""
    text = query.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS and low <= int(text) <= high):
        raise _wrong(name, f"must be an integer from {low} to {high}")
    return int(text)


def flag(query: QueryParams, name: str) -> bool:
    """A switch in the query, off where it is not there. Raises ``InvalidRequest``."""
    match query.get(name, "false").lower():
        case "true" | "1":
            return True
        case "false" | "0" | "":
            return False
        case _:
            raise _wrong(name, "must be true or false")


def _order(text: str | None) -> Literal["asc", "desc"]:
    match text:
        case "asc" | "desc":
            return text
        case None:
            return PageWish().order
        case _:
            raise _wrong("order", "must be asc or desc")


def _wrong(name: str, message: str) -> InvalidRequest:
    return InvalidRequest(f"{name} {message}", code=Code.INVALID_VALUE, param=name)
