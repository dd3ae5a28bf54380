"""Stores for tests: a clock that stands until it is moved, and small answers with one item in and one out."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from dragoman.core.json import JsonObject
from dragoman.store.base import Store, StoredResponse
from dragoman.store.limits import StoreLimits
from dragoman.store.opening import open_store

NOON = 1_700_000_000.0


class Clock:
    """Unix seconds that pass when the test says so."""

    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def pass_(self, *, seconds: float = 0.0, days: float = 0.0) -> None:
        self.now += seconds + days * 86_400


def item(id: str, text: str = "") -> JsonObject:
    return {"id": id, "type": "message", "text": text or id}


def answer(name: str, *, previous: str | None = None, status: str = "completed", text: str = "") -> StoredResponse:
    """The response ``resp_name``: the item ``in_name`` was answered with ``out_name``."""
    own = f"resp_{name}"
    return StoredResponse(
        id=own,
        created_at=int(NOON),
        body={"id": own, "status": status, "output": [item(f"out_{name}", text)], "usage": None},
        input=(item(f"in_{name}"),),
        previous=None if previous is None else f"resp_{previous}",
    )


def ids(items: tuple[JsonObject, ...]) -> str:
    """Their ids in one line."""
    return " ".join(str(one["id"]) for one in items)


@asynccontextmanager
async def opened(url: str = "memory", now: Callable[[], float] = time.time, **limits: float) -> AsyncIterator[Store]:
    """A store that is closed at the end."""
    store = await open_store(url, StoreLimits(**limits), now)
    try:
        yield store
    finally:
        await store.aclose()
