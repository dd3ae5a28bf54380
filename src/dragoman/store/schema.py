"""The tables in a database: made, brought up to date, or refused when they are not ours to touch."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import Connection, column, insert, inspect, select, table, text

from dragoman.store import migrations
from dragoman.store.failures import StoreError
from dragoman.store.tables import METADATA, VERSION_TABLE, totals

_LOCK: Final = 0x647261676F6D616E
"""PostgreSQL's advisory locks are numbers: this is our name in ASCII."""


def create(connection: Connection) -> None:
    """All tables at once, in a database that is empty and will be forgotten."""
    METADATA.create_all(connection)
    connection.execute(insert(totals).values(key=1, entries=0, bytes=0))


def bring_up_to_date(connection: Connection, name: str) -> None:
    """Run the revisions that are missing, in the caller's transaction; servers that start together do it one after another.

    ``name`` is what the operator calls the database. Raises ``StoreError`` for a database of others, and for one of the future.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    revision = _revision(connection, name)
    if revision != migrations.HEAD:
        _upgrade(connection, name, revision)


def _revision(connection: Connection, name: str) -> str | None:
    present = inspect(connection).get_table_names()
    if VERSION_TABLE in present:
        found: str | None = connection.scalar(select(column("version_num")).select_from(table(VERSION_TABLE)))
        return found
    if present and connection.dialect.name == "sqlite":
        raise StoreError(f"{name} is the database of another program", hint="name another file for the store")
    return None


def _upgrade(connection: Connection, name: str, revision: str | None) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if revision is not None and revision not in known:
        raise StoreError(
            f"{name} was written by a newer version of this program (its tables are at {revision!r})",
            hint="run that version, or name another place for the store; nothing was changed",
        )
    command.upgrade(config, "head")
