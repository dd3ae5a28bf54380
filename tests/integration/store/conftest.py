"""Every place that a store may have: memory, a file, and a PostgreSQL server of our own."""

from __future__ import annotations

import os

import pytest

from support.postgres import cluster, programs
from support.stores import Clock, opened


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
    """A copy of one that has the tables, since making them takes longer than most tests."""
    if server.model is None:
        url = await server.new_database()
        async with opened(url):
            pass
        server.model = url.partition("@/")[2].partition("?")[0]
    return await server.new_database(like=server.model)


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
