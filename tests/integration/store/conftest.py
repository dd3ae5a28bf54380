"""Every place that a store may have: memory, a file, and a PostgreSQL server of our own."""

from __future__ import annotations

import os

import pytest

from support.postgres import cluster, programs
from support.stores import Clock, opened

EMPTY = """
TRUNCATE dragoman_entries, dragoman_turns CASCADE;
UPDATE dragoman_totals SET entries = 0, bytes = 0
"""


@pytest.fixture(scope="session")
def postgres():
    binaries = programs()
    if binaries is None:
        reason = "PostgreSQL is not installed (Debian: apt-get install postgresql)"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{reason}, and .ci/run should have done it")
        pytest.skip(reason)
    with cluster(binaries) as server:
        yield server


async def _url(kind, tmp_path, request):
    match kind:
        case "memory":
            return "memory"
        case "file":
            return str(tmp_path / "store.db")
        case _:
            return await _database(request.getfixturevalue("postgres"))


async def _database(server):
    """One with the tables and nothing in them; the same one for all tests, since making databases takes longer than most tests."""
    if server.tables is None:
        server.tables = await server.new_database()
        async with opened(server.tables):
            pass
    await server.run(server.tables, EMPTY)
    return server.tables


@pytest.fixture(params=["memory", "file", "postgres"])
async def url(request, tmp_path):
    """A place that nobody has used."""
    return await _url(request.param, tmp_path, request)


@pytest.fixture(params=["file", "postgres"])
async def lasting(request, tmp_path):
    """The same, of those that outlive the process."""
    return await _url(request.param, tmp_path, request)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def store(url, clock):
    async with opened(url, clock) as one:
        yield one
