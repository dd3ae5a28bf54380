"""Transactions over a place: many that read, one at a time that writes, none cut short by a client that leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, TypeVar, assert_never

from sqlalchemy import AsyncAdaptedQueuePool, Connection, event, select, update
from sqlalchemy.engine import URL, Engine
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from dragoman.core.errors import Code, Internal
from dragoman.store.failures import driver_errors, failed_at_work
from dragoman.store.place import Memory, Place, PostgresServer, SqliteFile
from dragoman.store.tables import totals

T = TypeVar("T")

_READERS: Final = 4
"""Connections that read at once; each query takes a millisecond, so more would only wait for the disk together."""

_PATIENCE: Final = 15.0
"""Seconds to wait for another process to finish its write, and for a server to answer."""

_PRAGMAS: Final = (
    "journal_mode = WAL",  # readers do not wait for the writer, and a killed process loses no committed write
    "synchronous = NORMAL",  # no sync for each write: a power cut may lose the latest ones, and damages nothing
    "foreign_keys = ON",
    "secure_delete = ON",  # what a client deletes is overwritten, not left in a free page
)


@dataclass(slots=True)
class Writing:
    """A transaction that may change what is stored. ``entries`` and ``bytes`` are the totals, which whoever changes them keeps right."""

    connection: AsyncConnection
    entries: int
    bytes: int


class Database:
    """The connections to one place."""

    def __init__(self, place: Place) -> None:
        self._errors = driver_errors(postgres=isinstance(place, PostgresServer))
        self._running: set[asyncio.Task[Any]] = set()
        self._turn = asyncio.Lock()
        self._closed = False
        self.writer, self.reader = _engines(place)

    async def read(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """What ``work`` finds in one snapshot. Raises ``Internal`` when the database fails."""

        async def transaction() -> T:
            async with self.reader.connect() as connection:
                return await work(connection)

        return await self._finish(transaction())

    async def write(self, work: Callable[[Writing], Awaitable[T]]) -> T:
        """Do ``work`` whole or not at all, after all writes that were asked for before. Raises ``Internal`` when the database fails."""

        async def transaction() -> T:
            async with self._turn, self.writer.begin() as connection:
                query = select(totals.c.entries, totals.c.bytes).with_for_update()
                held = (await connection.execute(query)).one()
                writing = Writing(connection, held.entries, held.bytes)
                result = await work(writing)
                if (writing.entries, writing.bytes) != (held.entries, held.bytes):
                    await connection.execute(update(totals).values(entries=writing.entries, bytes=writing.bytes))
                return result

        return await self._finish(transaction())

    async def aclose(self) -> None:
        """Let what runs come to its end, and close the connections."""
        self._closed = True
        await asyncio.gather(*self._running, return_exceptions=True)
        await self.writer.dispose()
        await self.reader.dispose()

    async def _finish(self, transaction: Coroutine[Any, Any, T]) -> T:
        """Run to the end even if the caller is cancelled: an answer is kept although its client has left.

        Besides, a connection is lost when its query is cancelled, and with the last one a database in memory.
        """
        if self._closed:
            transaction.close()
            raise Internal("the store is closed", code=Code.SHUTTING_DOWN)
        task = asyncio.create_task(transaction)
        self._running.add(task)
        task.add_done_callback(self._ended)
        try:
            return await asyncio.shield(task)
        except self._errors as error:
            raise failed_at_work(error) from error

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # its caller may have left; asyncio complains about an error that nobody looked at


def _engines(place: Place) -> tuple[AsyncEngine, AsyncEngine]:
    """One for who writes, with a single connection, and one for those who read."""
    match place:
        case Memory():
            alone = _sqlite(":memory:", connections=1, begin="BEGIN IMMEDIATE")
            return alone, alone
        case SqliteFile(path):
            writer = _sqlite(str(path), connections=1, begin="BEGIN IMMEDIATE")
            return writer, _sqlite(str(path), connections=_READERS, begin="BEGIN")
        case PostgresServer(url):
            # Snapshots for those who read, since they ask more than once; who writes holds the row of totals instead.
            return _postgres(url, 1, "READ COMMITTED"), _postgres(url, _READERS, "REPEATABLE READ")
        case _:
            assert_never(place)


def _postgres(url: URL, connections: int, isolation: Any) -> AsyncEngine:
    return create_async_engine(
        url,
        pool_size=connections,
        max_overflow=0,
        pool_pre_ping=True,  # a server that was restarted costs nobody a request
        isolation_level=isolation,
        hide_parameters=True,
        connect_args={"timeout": _PATIENCE, "command_timeout": _PATIENCE},
    )


def _sqlite(path: str, *, connections: int, begin: str) -> AsyncEngine:
    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=path),
        poolclass=AsyncAdaptedQueuePool,
        pool_size=connections,
        max_overflow=0,
        hide_parameters=True,
        connect_args={"timeout": _PATIENCE},
    )
    _on_connect(engine.sync_engine)
    _on_begin(engine.sync_engine, begin)
    return engine


def _on_connect(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # Python's driver begins transactions late; we say when
        cursor = connection.cursor()
        for pragma in _PRAGMAS:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()


def _on_begin(engine: Engine, statement: str) -> None:
    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql(statement)
