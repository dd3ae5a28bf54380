"""Which texts can name something here."""

from __future__ import annotations

from typing import Final, TypeGuard

MAX_NAME: Final = 256
"""Characters of an id. Ours have forty; a row in an index of PostgreSQL holds 2,700 bytes."""


def is_name(text: object) -> TypeGuard[str]:
    """Whether it can be an id. What is no text to every database is none: a NUL, half a surrogate pair."""
    return (
        isinstance(text, str)
        and 0 < len(text) <= MAX_NAME
        and "\0" not in text
        and not any("\ud800" <= character <= "\udfff" for character in text)
    )
