"""Opening a store: the place made ready for nobody else's eyes, its tables brought up to date, what grew old removed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import assert_never

from dragoman.core.errors import Internal
from dragoman.store import schema
from dragoman.store.base import Store
from dragoman.store.database import Database
from dragoman.store.failures import StoreError, driver_errors
from dragoman.store.limits import StoreLimits
from dragoman.store.place import Memory, Place, PostgresServer, SqliteFile, locate
from dragoman.store.sql import SqlStore


async def open_store(url: str, limits: StoreLimits, now: Callable[[], float]) -> Store:
    """The store at ``url`` (``place.locate`` tells its forms); ``now`` tells Unix seconds.

    Raises ``StoreError`` when it cannot be used, and leaves alone what it cannot read.
    """
    place = locate(url)
    if isinstance(place, SqliteFile):
        _make_file(place.path)
    database = Database(place)
    try:
        await _prepare(database, place)
        store = SqlStore(database, limits, now)
        await store.tidy()
    except BaseException as error:
        await database.aclose()
        if isinstance(error, Internal):
            raise StoreError(f"cannot use the store {place}: {error.message}") from error
        raise
    return store


async def _prepare(database: Database, place: Place) -> None:
    try:
        async with database.writer.begin() as connection:
            if isinstance(place, Memory):
                await connection.run_sync(schema.create)
            else:
                await connection.run_sync(schema.bring_up_to_date, str(place))
    except driver_errors(postgres=isinstance(place, PostgresServer)) as error:
        raise _unusable(place, error) from error


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
