"""The tables. An entry is what an owner has under a name, with its age and size; what it consists of hangs on it.

::

    entries ─┬─ responses ── turns ── items      a response ends a turn; turns form a tree, each knows what it went on from
             │      └── events
             ├─ conversations ── items
             └─ replies
    totals                                       how much all of them are

A turn has the items of one answer, input and output. It stays for as long as a response or a later turn needs it, so that a history
does not depend on which of its responses are still kept. Whoever writes holds the row of ``totals``: there is one writer at a time.

Names begin with ``dragoman_``, because a database of PostgreSQL may be shared with other programs. JSON is kept as bytes, since
PostgreSQL's text and JSON have no place for a NUL, which a string of JSON may hold.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

ROW_BYTES: Final = 128
"""What a row counts beside its documents: its keys and its part of the indexes, roughly."""

VERSION_TABLE: Final = "dragoman_schema"
"""Where Alembic notes the revision."""

METADATA: Final = MetaData(
    naming_convention={
        "ix": "%(table_name)s_%(column_0_N_name)s_index",
        "uq": "%(table_name)s_%(column_0_N_name)s_unique",
        "fk": "%(table_name)s_%(column_0_N_name)s_reference",
        "pk": "%(table_name)s_key",
    }
)

_KEY: Final = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up by itself for INTEGER alone


def _belongs_to(name: str, table: str, *, primary: bool = False, nullable: bool = False) -> Column[int]:
    """A row that goes with the one that it refers to."""
    reference = ForeignKey(f"{table}.key", ondelete="CASCADE")
    return Column(name, _KEY, reference, primary_key=primary, nullable=nullable, autoincrement=False)


entries = Table(
    "dragoman_entries",
    METADATA,
    Column("key", _KEY, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("used_at", Double, nullable=False, index=True),
    Column("size", BigInteger, nullable=False),
    UniqueConstraint("owner", "kind", "id"),
    Index(None, "kind", "used_at"),
)

turns = Table(
    "dragoman_turns",
    METADATA,
    Column("key", _KEY, primary_key=True),
    Column("parent", _KEY, ForeignKey("dragoman_turns.key"), nullable=True, index=True),
    Column("depth", BigInteger, nullable=False),
    Column("size", BigInteger, nullable=False),
)

responses = Table(
    "dragoman_responses",
    METADATA,
    _belongs_to("entry", "dragoman_entries", primary=True),
    Column("turn", _KEY, ForeignKey("dragoman_turns.key"), nullable=False, index=True),
    Column("body", LargeBinary, nullable=False),
    Column("previous", Text, nullable=True),
    Column("background", Boolean, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
)

conversations = Table(
    "dragoman_conversations",
    METADATA,
    _belongs_to("entry", "dragoman_entries", primary=True),
    Column("metadata", LargeBinary, nullable=False),
)

items = Table(
    "dragoman_items",
    METADATA,
    Column("key", _KEY, primary_key=True),
    _belongs_to("turn", "dragoman_turns", nullable=True),
    _belongs_to("conversation", "dragoman_entries", nullable=True),
    Column("position", BigInteger, nullable=False),
    Column("output", Boolean, nullable=False),
    Column("owner", Text, nullable=False),
    Column("id", Text, nullable=True),
    Column("data", LargeBinary, nullable=False),
    Index(None, "turn", "position"),
    Index(None, "conversation", "position"),
    Index(None, "owner", "id"),
)

events = Table(
    "dragoman_events",
    METADATA,
    _belongs_to("response", "dragoman_entries", primary=True),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

replies = Table(
    "dragoman_replies",
    METADATA,
    _belongs_to("entry", "dragoman_entries", primary=True),
    Column("digest", Text, nullable=False),
    Column("status", Integer, nullable=False),
    Column("headers", LargeBinary, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

totals = Table(
    "dragoman_totals",
    METADATA,
    Column("key", Integer, primary_key=True, autoincrement=False),
    Column("entries", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
)
