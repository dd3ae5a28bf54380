"""What a client is told when a database fails, by what drivers really raise."""

from __future__ import annotations

import sqlite3

import asyncpg
import pytest
from sqlalchemy.exc import OperationalError

from dragoman.core.errors import Code
from dragoman.store.failures import failed_at_work


def wrapped(cause):
    return OperationalError("INSERT INTO t VALUES (?)", ("a secret",), cause)


@pytest.mark.parametrize(
    "error, reason",
    [
        (wrapped(sqlite3.OperationalError("database or disk is full")), "its disk is full"),
        (wrapped(asyncpg.DiskFullError('could not extend file "base/1"')), "its disk is full"),
        (OSError(28, "No space left on device"), "its disk is full"),
        (wrapped(sqlite3.OperationalError("database is locked")), "another program holds its database"),
        (wrapped(sqlite3.OperationalError("disk I/O error")), "its database reports an error"),
        (ConnectionRefusedError(111, "Connect call failed ('10.0.0.7', 5432)"), "its database does not answer"),
        (TimeoutError(), "its database does not answer"),
    ],
)
def test_the_reason_is_told_and_nothing_else(error, reason):
    told = failed_at_work(error)
    assert told.message == f"the store could not do this: {reason}"
    assert told.code is Code.INTERNAL
