"""What a database does wrong, in words: for the operator when it cannot be opened, for a client when it fails at work."""

from __future__ import annotations

from typing import Final

from sqlalchemy.exc import DBAPIError

from dragoman.core.errors import Code, Internal

_FULL: Final = ("disk is full", "no space left", "53100")
"""SQLite's words, those of a system call, and PostgreSQL's state ``disk_full``."""

_BUSY: Final = ("database is locked", "database table is locked")


class StoreError(Exception):
    """The store cannot be opened: ``message`` says why, ``hint`` what to do about it."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def failed_at_work(error: Exception) -> Internal:
    """What a client is told. The driver's own text may hold values or paths, so it stays with the operator, as the cause."""
    text = _driver_text(error).lower()
    if any(sign in text for sign in _FULL):
        reason = "its disk is full"
    elif any(sign in text for sign in _BUSY):
        reason = "another program holds its database"
    elif isinstance(error, DBAPIError) and not error.connection_invalidated:
        reason = "its database reports an error"
    else:
        reason = "its database does not answer"
    return Internal(f"the store could not do this: {reason}", code=Code.INTERNAL)


def _driver_text(error: Exception) -> str:
    if isinstance(error, DBAPIError):
        return f"{error.orig} {getattr(error.orig, 'sqlstate', '')}"
    return str(error)
