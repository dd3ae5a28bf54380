"""Where the store is, read from what an operator writes: ``memory``, a path, or the URL of a server."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from dragoman.store.failures import StoreError

_FORMS: Final = "a path, sqlite:///path, postgresql://user@host/database, or memory"

_PARAMETERS: Final = frozenset({"host", "passfile", "port", "ssl", "target_session_attrs"})
"""Of a PostgreSQL URL, as asyncpg has them; ``ssl`` is libpq's ``sslmode``. Anything else it would take for an argument of its own."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Nowhere: it ends with the process."""

    def __str__(self) -> str:
        return "memory"


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """A file of this machine, which several servers may share."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A database of a server."""

    url: URL

    def __str__(self) -> str:
        return self.url.set(drivername="postgresql").render_as_string(hide_password=True)


Place: TypeAlias = "Memory | SqliteFile | PostgresServer"


def locate(text: str) -> Place:
    """The place that is meant. Raises ``StoreError`` for a URL that cannot be read, and where a driver is missing."""
    if text == "memory":
        return Memory()
    if "://" not in text:
        return SqliteFile(Path(text).expanduser()) if text else _unknown("the name of the store is empty")
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):  # whatever it is, it may hold a password
        return _unknown("the URL of the store cannot be read")
    match url.get_backend_name():
        case "sqlite" if url.database in {None, "", ":memory:"}:
            return Memory()
        case "sqlite":
            return SqliteFile(Path(str(url.database)).expanduser())
        case "postgresql" | "postgres":
            return _postgres(url)
        case scheme:
            return _unknown(f"the store cannot be a database of the kind {scheme!r}")


def _postgres(url: URL) -> PostgresServer:
    if importlib.util.find_spec("asyncpg") is None:
        raise StoreError("PostgreSQL needs asyncpg, which is not installed", hint="pip install 'dragoman[postgres]'")
    query = {("ssl" if name == "sslmode" else name): value for name, value in url.query.items()}
    if unknown := sorted(query.keys() - _PARAMETERS):
        names = ", ".join(sorted({"sslmode", *_PARAMETERS}))
        raise StoreError(
            f"the URL of the store has {unknown[0]!r}", hint=f"it may have {names} after the question mark"
        )
    return PostgresServer(url.set(drivername="postgresql+asyncpg", query=query))


def _unknown(message: str) -> Place:
    raise StoreError(message, hint=f"name {_FORMS}")
