"""Transactions: the work of one is a plain function over a connection, done whole or not at all.

How it runs is the database's affair (``sqlite``, ``postgres``). Writes happen one at a time, in the order in which they were asked for,
and none is cut short by a client that leaves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from sqlalchemy import Connection, select, update

from dragoman.core.errors import Code, Internal
from dragoman.store.failures import failed_at_work
from dragoman.store.tables import totals

T = TypeVar("T")

MAX_WAITING: Final = 1024
"""Transactions at once, each of which holds what it is to write: while a database hangs, they must not fill the memory."""

CLOSING_SECONDS: Final = 20.0
"""For what runs to end: more than one transaction has to answer, less than all that may wait for a database that hangs."""


class Database(Protocol):
    """Where transactions run."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What the database may do to us. A query that is wrong is our own mistake and none of these."""
        ...

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run it over one snapshot."""
        ...

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run it and commit, after all writes that were asked for before."""
        ...

    async def aclose(self) -> None:
        """Let go of all connections."""
        ...


@dataclass(slots=True)
class Writing:
    """A transaction that may change what is stored. ``entries`` and ``bytes`` are the totals, which whoever changes them keeps right."""

    connection: Connection
    entries: int
    bytes: int


class Transactions:
    """Runs what the store does, and tells what goes wrong in our words."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._running: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def read(self, work: Callable[[Connection], T]) -> T:
        """What it finds. Raises ``Internal`` when the database fails."""
        return await self._finish(self._database.read(work))

    async def write(self, work: Callable[[Writing], T]) -> T:
        """What it returns, once that is done. Raises ``Internal`` when the database fails."""
        return await self._finish(self._database.write(lambda connection: _counted(connection, work)))

    async def aclose(self) -> None:
        """Let what runs come to its end, if that is soon."""
        self._closed = True
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=CLOSING_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._database.aclose()

    async def _finish(self, transaction: Coroutine[Any, Any, T]) -> T:
        """Run it to its end even if the caller is cancelled: an answer is kept although its client has left."""
        if self._closed:
            transaction.close()
            raise Internal("the store is closed", code=Code.SHUTTING_DOWN)
        if len(self._running) >= MAX_WAITING:
            transaction.close()
            raise Internal("the store could not do this: too much waits for its database", code=Code.INTERNAL)
        task = asyncio.create_task(transaction)
        self._running.add(task)
        task.add_done_callback(self._ended)
        try:
            return await asyncio.shield(task)
        except self._database.errors as error:
            raise failed_at_work(error) from error

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # its caller may have left; asyncio complains about an error that nobody looked at


def _counted(connection: Connection, work: Callable[[Writing], T]) -> T:
    """Do it while holding the totals, which keeps other servers from writing where the database would let them."""
    held = connection.execute(select(totals.c.entries, totals.c.bytes).with_for_update()).one()
    writing = Writing(connection, held.entries, held.bytes)
    result = work(writing)
    if (writing.entries, writing.bytes) != (held.entries, held.bytes):
        connection.execute(update(totals).values(entries=writing.entries, bytes=writing.bytes))
    return result
