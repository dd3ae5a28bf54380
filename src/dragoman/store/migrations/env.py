"""Alembic's entry: it runs the revisions in the transaction that the caller has begun."""

from __future__ import annotations

from alembic import context

from dragoman.store.tables import METADATA, VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"], target_metadata=METADATA, version_table=VERSION_TABLE
)
context.run_migrations()
