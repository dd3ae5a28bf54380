"""How the tables came to be, one revision after another, for Alembic."""

from __future__ import annotations

from typing import Final

HEAD: Final = "0001"
"""The newest revision. A database that has it needs nothing, so that a usual start does not load Alembic."""
