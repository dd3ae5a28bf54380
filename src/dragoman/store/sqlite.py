"""SQLite: one thread that writes, some that read. A transaction is one trip to a thread, however many queries it makes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, QueuePool, create_engine, event
from sqlalchemy.engine import URL, Engine
from sqlalchemy.exc import DBAPIError

T = TypeVar("T")

_READERS: Final = 4
"""Each query takes a millisecond; more of them would only wait for each other."""

_PATIENCE: Final = 15.0
"""Seconds to wait for another process to finish its write."""

_PRAGMAS: Final = (
    "journal_mode = WAL",  # readers do not wait for the writer, and a killed process loses no committed write
    "synchronous = NORMAL",  # no sync for each write: a power cut may lose the latest ones, and damages nothing
    "foreign_keys = ON",
    "secure_delete = ON",  # what a client deletes is overwritten, not left in a free page
)


class Sqlite:
    """A file, or a database in memory when there is no ``path``; that has one connection, for everything."""

    errors: Final = (DBAPIError, OSError)

    def __init__(self, path: Path | None) -> None:
        self._writer = _Lane(path, 1, "BEGIN IMMEDIATE")
        self._readers = self._writer if path is None else _Lane(path, _READERS, "BEGIN")

    async def read(self, work: Callable[[Connection], T]) -> T:
        return await self._readers.run(work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        return await self._writer.run(work)

    async def aclose(self) -> None:
        self._readers.close()
        self._writer.close()


class _Lane:
    """Threads with as many connections, which take work in its order."""

    def __init__(self, path: Path | None, width: int, begin: str) -> None:
        self._engine = _engine(path, width, begin)
        self._threads = ThreadPoolExecutor(width, thread_name_prefix="store")

    async def run(self, work: Callable[[Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._transaction, work)

    def close(self) -> None:
        self._threads.shutdown()
        self._engine.dispose()

    def _transaction(self, work: Callable[[Connection], T]) -> T:
        with self._engine.begin() as connection:
            return work(connection)


def _engine(path: Path | None, connections: int, begin: str) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=":memory:" if path is None else str(path)),
        poolclass=QueuePool,
        pool_size=connections,
        max_overflow=0,
        hide_parameters=True,
        connect_args={"timeout": _PATIENCE, "check_same_thread": False},
    )
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine


def _prepare(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # Python's driver begins transactions late; we say when
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
