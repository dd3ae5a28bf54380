"""Opening a store: the place made ready for nobody else's eyes, its tables brought up to date, what grew old removed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import assert_never

from sqlalchemy import Connection

from dragoman.core.errors import Internal
from dragoman.store import schema
from dragoman.store.base import Store
from dragoman.store.failures import StoreError
from dragoman.store.limits import StoreLimits
from dragoman.store.place import Memory, Place, PostgresServer, SqliteFile, locate
from dragoman.store.postgres import Postgres
from dragoman.store.sql import SqlStore
from dragoman.store.sqlite import Sqlite
from dragoman.store.transactions import Database, Transactions


async def open_store(url: str, limits: StoreLimits, now: Callable[[], float]) -> Store:
    """The store at ``url`` (``place.locate`` tells its forms); ``now`` tells Unix seconds.

    Raises ``StoreError`` when it cannot be used, and leaves alone what it cannot read.
    """
    place = locate(url)
    database = _database(place)
    try:
        await database.write(lambda connection: _prepare(connection, place))
        store = SqlStore(Transactions(database), limits, now)
        await store.tidy()
    except BaseException as error:
        await database.aclose()
        if isinstance(error, database.errors):
            raise _unusable(place, error) from error
        if isinstance(error, Internal):
            raise StoreError(f"cannot use the store {place}: {error.message}") from error
        raise
    return store


def _database(place: Place) -> Database:
    match place:
        case Memory():
            return Sqlite(None)
        case SqliteFile(path):
            _make_file(path)
            return Sqlite(path)
        case PostgresServer(url):
            return Postgres(url)
        case _:
            assert_never(place)


def _prepare(connection: Connection, place: Place) -> None:
    if isinstance(place, Memory):
        schema.create(connection)
    else:
        schema.bring_up_to_date(connection, str(place))


def _make_file(path: Path) -> None:
    """SQLite would let others read a file that it makes; its companions get the rights of the file."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        hint = "let this user write there, or name another place for the store"
        raise StoreError(
            f"cannot open the store {path}: {(error.strerror or str(error)).lower()}", hint=hint
        ) from error


def _unusable(place: Place, error: Exception) -> StoreError:
    cause = str(getattr(error, "orig", None) or error) or type(error).__name__
    match place:
        case PostgresServer():
            return StoreError(f"cannot use the store {place}: {cause}", hint="is the server up, and the URL right?")
        case SqliteFile(path) if "not a database" in cause or "malformed" in cause:
            hint = f"put a backup in its place, or move it away to begin with an empty store: mv {path} {path}.damaged"
            return StoreError(
                f"the store {path} is damaged, or no SQLite database ({cause}); it was left as it is", hint=hint
            )
        case SqliteFile() | Memory():
            return StoreError(f"cannot use the store {place}: {cause}")
        case _:
            assert_never(place)
