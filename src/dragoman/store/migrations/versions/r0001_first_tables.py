"""Responses and the turns that led to them, conversations, events, kept replies."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create all of them; the row of totals begins at nothing."""
    op.create_table(
        "dragoman_entries",
        sa.Column("key", KEY, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("used_at", sa.Double, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("key", name="dragoman_entries_key"),
        sa.UniqueConstraint("owner", "kind", "id", name="dragoman_entries_owner_kind_id_unique"),
    )
    op.create_index("dragoman_entries_used_at_index", "dragoman_entries", ["used_at"])
    op.create_index("dragoman_entries_kind_used_at_index", "dragoman_entries", ["kind", "used_at"])
    op.create_table(
        "dragoman_turns",
        sa.Column("key", KEY, nullable=False),
        sa.Column("parent", KEY, nullable=True),
        sa.Column("depth", sa.BigInteger, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("key", name="dragoman_turns_key"),
        sa.ForeignKeyConstraint(["parent"], ["dragoman_turns.key"], name="dragoman_turns_parent_reference"),
    )
    op.create_index("dragoman_turns_parent_index", "dragoman_turns", ["parent"])
    op.create_table(
        "dragoman_responses",
        sa.Column("entry", KEY, nullable=False, autoincrement=False),
        sa.Column("turn", KEY, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("previous", sa.Text, nullable=True),
        sa.Column("background", sa.Boolean, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("entry", name="dragoman_responses_key"),
        _belongs_to("entry", "dragoman_entries", of="dragoman_responses"),
        sa.ForeignKeyConstraint(["turn"], ["dragoman_turns.key"], name="dragoman_responses_turn_reference"),
    )
    op.create_index("dragoman_responses_turn_index", "dragoman_responses", ["turn"])
    op.create_table(
        "dragoman_conversations",
        sa.Column("entry", KEY, nullable=False, autoincrement=False),
        sa.Column("metadata", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("entry", name="dragoman_conversations_key"),
        _belongs_to("entry", "dragoman_entries", of="dragoman_conversations"),
    )
    op.create_table(
        "dragoman_items",
        sa.Column("key", KEY, nullable=False),
        sa.Column("turn", KEY, nullable=True),
        sa.Column("conversation", KEY, nullable=True),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("output", sa.Boolean, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("id", sa.Text, nullable=True),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("key", name="dragoman_items_key"),
        _belongs_to("turn", "dragoman_turns", of="dragoman_items"),
        _belongs_to("conversation", "dragoman_entries", of="dragoman_items"),
    )
    op.create_index("dragoman_items_turn_position_index", "dragoman_items", ["turn", "position"])
    op.create_index("dragoman_items_conversation_position_index", "dragoman_items", ["conversation", "position"])
    op.create_index("dragoman_items_owner_id_index", "dragoman_items", ["owner", "id"])
    op.create_table(
        "dragoman_events",
        sa.Column("response", KEY, nullable=False, autoincrement=False),
        sa.Column("sequence", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("response", "sequence", name="dragoman_events_key"),
        _belongs_to("response", "dragoman_entries", of="dragoman_events"),
    )
    op.create_table(
        "dragoman_replies",
        sa.Column("entry", KEY, nullable=False, autoincrement=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("headers", sa.LargeBinary, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("entry", name="dragoman_replies_key"),
        _belongs_to("entry", "dragoman_entries", of="dragoman_replies"),
    )
    totals = op.create_table(
        "dragoman_totals",
        sa.Column("key", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("entries", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("key", name="dragoman_totals_key"),
    )
    op.bulk_insert(totals, [{"key": 1, "entries": 0, "bytes": 0}])


def _belongs_to(column: str, table: str, *, of: str) -> sa.ForeignKeyConstraint:
    """A row that goes with the one that it refers to."""
    return sa.ForeignKeyConstraint([column], [f"{table}.key"], name=f"{of}_{column}_reference", ondelete="CASCADE")
