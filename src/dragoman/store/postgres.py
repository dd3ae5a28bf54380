"""PostgreSQL, by asyncpg: one connection that writes, some that read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar

from sqlalchemy import Connection
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnection
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

T = TypeVar("T")

_READERS: Final = 4
"""A server's connections are few, and each query takes a millisecond."""

_PATIENCE: Final = 15.0
"""Seconds to wait for the server, for each query."""


class Postgres:
    """A database of a server. Who writes holds the row of totals; who reads has a snapshot, since it asks more than once."""

    def __init__(self, url: URL) -> None:
        import asyncpg

        # asyncpg's own errors pass SQLAlchemy by while it connects.
        self.errors = (DBAPIError, NoConnection, OSError, asyncpg.PostgresError, asyncpg.InterfaceError)
        self._writer = _engine(url, 1, "READ COMMITTED")
        self._readers = _engine(url, _READERS, "REPEATABLE READ")
        self._turn = asyncio.Lock()

    async def read(self, work: Callable[[Connection], T]) -> T:
        async with self._readers.connect() as connection:
            return await connection.run_sync(work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        async with self._turn, self._writer.begin() as connection:
            return await connection.run_sync(work)

    async def aclose(self) -> None:
        await self._writer.dispose()
        await self._readers.dispose()


def _engine(url: URL, connections: int, isolation: Any) -> AsyncEngine:
    return create_async_engine(
        url,
        pool_size=connections,
        max_overflow=0,
        pool_pre_ping=True,  # a server that was restarted costs nobody a request
        isolation_level=isolation,
        hide_parameters=True,
        connect_args={"timeout": _PATIENCE, "command_timeout": _PATIENCE},
    )
