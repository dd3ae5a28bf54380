"""The tables of a database: what the revisions make, and databases that are not ours to touch."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import create_async_engine

from dragoman.store import migrations
from dragoman.store.failures import StoreError
from dragoman.store.place import SqliteFile, locate
from dragoman.store.tables import METADATA, VERSION_TABLE
from support.stores import answer, opened


async def on(url, work):
    """Do it in the database, past the store."""
    place = locate(url)
    if isinstance(place, SqliteFile):
        engine = create_engine(f"sqlite:///{place.path}")
        with engine.begin() as connection:
            done = work(connection)
        engine.dispose()
        return done
    engine = create_async_engine(place.url)
    try:
        async with engine.begin() as connection:
            return await connection.run_sync(work)
    finally:
        await engine.dispose()


async def test_the_revisions_make_the_tables_that_the_code_speaks_of(lasting):
    async with opened(lasting):
        pass

    def differences(connection):
        options = {"version_table": VERSION_TABLE, "compare_type": True, "compare_server_default": True}
        return compare_metadata(MigrationContext.configure(connection, opts=options), METADATA)

    assert await on(lasting, differences) == []


def test_the_newest_revision_is_the_one_that_a_start_compares_with():
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    assert ScriptDirectory.from_config(config).get_heads() == [migrations.HEAD]


START = """
import asyncio, sys, time
from dragoman.store.limits import StoreLimits
from dragoman.store.opening import open_store

async def main():
    await (await open_store(sys.argv[1], StoreLimits(), time.time)).aclose()
    print("alembic" in sys.modules)

asyncio.run(main())
"""


def test_only_the_first_start_loads_alembic(tmp_path):
    command = [sys.executable, "-c", START, str(tmp_path / "store.db")]
    starts = [subprocess.run(command, capture_output=True, text=True, timeout=60, check=False) for _ in range(2)]
    assert [start.stdout for start in starts] == ["True\n", "False\n"], starts


async def test_a_database_of_a_newer_version_is_refused_and_left_alone(lasting):
    async with opened(lasting) as store:
        await store.save_response("ada", answer("1"))
    await on(lasting, lambda connection: connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")))
    with pytest.raises(StoreError, match="newer version.*9999") as caught:
        async with opened(lasting):
            pass
    assert str(locate(lasting)) in caught.value.message
    assert "nothing was changed" in caught.value.hint
    await on(lasting, lambda connection: connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '0001'")))
    async with opened(lasting) as store:
        assert (await store.response("ada", "resp_1")).id == "resp_1"


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to be read as its header" * 20, b"SQLite format 3\0" + b"\xff" * 8000]
)
async def test_a_damaged_file_is_named_and_left_as_it_was(tmp_path, content):
    path = tmp_path / "store.db"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="store.db") as caught:
        async with opened(str(path)):
            pass
    assert "backup" in caught.value.hint
    assert path.read_bytes() == content


async def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    other.close()
    with pytest.raises(StoreError, match="another program"):
        async with opened(str(path)):
            pass
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("bookmarks",)]
    other.close()


async def test_a_server_may_have_other_programs_tables(request):
    url = await request.getfixturevalue("postgres").new_database()
    await on(url, lambda connection: connection.execute(text("CREATE TABLE bookmarks (url TEXT)")))
    async with opened(url) as store:
        await store.save_response("ada", answer("1"))


async def test_an_empty_file_is_a_new_store(tmp_path):
    (tmp_path / "store.db").touch()
    async with opened(str(tmp_path / "store.db")) as store:
        await store.save_response("ada", answer("1"))


async def test_a_place_where_nothing_can_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    for path in tmp_path, tmp_path / "file" / "store.db":
        with pytest.raises(StoreError) as caught:
            async with opened(str(path)):
                pass
        assert str(path) in caught.value.message


async def test_a_server_that_is_not_there_is_named_without_its_password():
    with pytest.raises(StoreError) as caught:
        async with opened("postgresql://ada:secret@127.0.0.1:1/store"):
            pass
    assert "127.0.0.1:1/store" in caught.value.message
    assert "secret" not in f"{caught.value.message} {caught.value.hint}"


async def test_a_database_that_a_server_does_not_have_is_named(request):
    url = request.getfixturevalue("postgres").url("nowhere")
    with pytest.raises(StoreError, match='"nowhere" does not exist'):
        async with opened(url):
            pass
