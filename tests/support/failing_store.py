"""A store that is slow or fails, method by method, as a database does when its disk is full or its server gone."""

from __future__ import annotations

import asyncio
from typing import Any

from dragoman.core.errors import Code, Internal
from support.memory_store import MemoryStore
from support.stores import Clock

_ALWAYS = 1 << 30


class FailingStore:
    """``fail`` makes a method raise, ``delay`` makes it answer late, with what it found when it was asked; in all else a ``MemoryStore``."""

    def __init__(self) -> None:
        self._store = MemoryStore(Clock())
        self._failures: dict[str, int] = {}
        self._delays: dict[str, float] = {}

    def fail(self, method: str, times: int = _ALWAYS) -> None:
        self._failures[method] = times

    def delay(self, method: str, seconds: float) -> None:
        self._delays[method] = seconds

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not asyncio.iscoroutinefunction(found):
            return found

        async def called(*arguments: Any) -> Any:
            if self._failures.get(name, 0) > 0:
                self._failures[name] -= 1
                raise Internal("the store could not do this: its disk is full", code=Code.INTERNAL)
            result = await found(*arguments)
            await asyncio.sleep(self._delays.get(name, 0))
            return result

        return called
