"""What outlives a process: its end, its death, and others that work on the same place (peers.md 97)."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.core.errors import Code, Internal, NotFound
from dragoman.store.base import KeptReply, StoredConversation
from support.stores import answer, ids, item, opened

TESTS = Path(__file__).resolve().parents[2]

CHILD = """
import asyncio, sys, time
sys.path.insert(0, {tests!r})
from dragoman.store.limits import StoreLimits
from dragoman.store.opening import open_store
from support.stores import answer, opened

{code}
asyncio.run(main(sys.argv[1]))
"""

WRITER = """
async def main(url):
    async with opened(url) as store:
        previous, turn = None, 0
        while True:
            await store.save_response("ada", answer(str(turn), previous=previous, text="x" * 5000))
            print(turn, flush=True)
            previous, turn = str(turn), turn + 1
"""

FULL = """
import resource
from dragoman.core.errors import Internal

async def main(url):
    async with opened(url) as store:
        await store.save_response("ada", answer("small"))
        unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, unlimited[1]))
        try:
            for number in range(100):
                await store.save_response("ada", answer(str(number), text="x" * 50_000))
        except Internal as error:
            print(error.code, "|", error.message)
        await store.response("ada", "resp_small")
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        await store.save_response("ada", answer("after"))
        print("read")
"""


def child(code, url, **options):
    program = CHILD.format(tests=str(TESTS), code=code)
    return subprocess.Popen([sys.executable, "-c", program, url], stdout=subprocess.PIPE, text=True, **options)


async def test_everything_is_there_after_a_restart(lasting, clock):
    reply = KeptReply(digest="d", status=200, headers=(("a", "b"),), body=b"{}")
    async with opened(lasting, clock) as store:
        await store.save_response("ada", answer("1"))
        await store.save_conversation("ada", StoredConversation(id="conv_1", created_at=1))
        await store.add_items("ada", "conv_1", [item("a")])
        await store.keep_reply("ada", "key", reply)
    async with opened(lasting, clock) as store:
        await store.save_response("ada", answer("2", previous="1"))
        assert ids(await store.history("ada", "resp_2")) == "in_1 out_1 in_2 out_2"
        assert ids(await store.all_items("ada", "conv_1")) == "a"
        assert await store.kept_reply("ada", "key") == reply


@pytest.mark.seeds("S144")
async def test_a_killed_server_loses_no_response_that_it_had_kept(lasting):
    process = child(WRITER, lasting)
    try:
        told = [int(process.stdout.readline()) for _ in range(10)]
        process.send_signal(signal.SIGKILL)
        told += [int(line) for line in process.stdout if line.endswith("\n")]
    finally:
        process.kill()
        process.communicate()
    last = told[-1]
    async with opened(lasting) as store:
        history = ids(await store.history("ada", f"resp_{last}"))
        assert history == " ".join(f"in_{turn} out_{turn}" for turn in range(last + 1))
        with contextlib.suppress(NotFound):  # the write that ran then is there whole or not at all
            assert len(await store.history("ada", f"resp_{last + 1}")) == 2 * (last + 2)
        await store.save_response("ada", answer("next", previous=str(last)))


async def test_two_servers_work_on_one_place(lasting):
    async with opened(lasting) as one, opened(lasting) as other:
        await one.save_response("ada", answer("root"))

        async def chain(store, name):
            previous = "root"
            for turn in range(20):
                await store.save_response("ada", answer(f"{name}{turn}", previous=previous))
                previous = f"{name}{turn}"

        await asyncio.gather(chain(one, "a"), chain(other, "b"))
        for store in one, other:
            for name in "ab":
                assert len(await store.history("ada", f"resp_{name}19")) == 2 * 21
        await other.delete_response("ada", "resp_root")
        with pytest.raises(NotFound):
            await one.response("ada", "resp_root")


async def test_servers_that_start_together_make_the_tables_once(tmp_path, request):
    for url in str(tmp_path / "new.db"), await request.getfixturevalue("postgres").new_database():
        starts = [child("async def main(url):\n    async with opened(url): print('up')", url) for _ in range(3)]
        assert [process.communicate(timeout=60)[0] for process in starts] == ["up\n"] * 3


async def test_a_full_disk_is_said_and_what_is_there_can_still_be_read(tmp_path):
    process = child(FULL, str(tmp_path / "store.db"), stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    refusal, read = out.splitlines()
    assert refusal.startswith("internal_error | the store could not do this: ")
    assert read == "read"


async def test_a_database_that_fails_is_one_error_that_tells_no_words_of_the_database(tmp_path):
    path = tmp_path / "store.db"
    async with opened(str(path)) as store:
        other = sqlite3.connect(path)
        other.execute("DROP TABLE dragoman_totals")
        other.close()
        with pytest.raises(Internal) as caught:
            await store.save_response("ada", answer("1"))
        assert caught.value.code is Code.INTERNAL
        assert caught.value.message == "the store could not do this: its database reports an error"


async def test_a_closed_store_says_so(url):
    async with opened(url) as store:
        pass
    with pytest.raises(Internal) as caught:
        await store.response("ada", "resp_1")
    assert caught.value.code is Code.SHUTTING_DOWN


async def test_nobody_else_may_read_the_file(tmp_path):
    path = tmp_path / "made" / "for it" / "50%.db"
    async with opened(str(path)) as store:
        await store.save_response("ada", answer("1"))
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {"50%.db": 0o600, "50%.db-wal": 0o600, "50%.db-shm": 0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_what_was_deleted_is_not_left_in_the_file(tmp_path):
    path = tmp_path / "store.db"
    async with opened(str(path)) as store:
        await store.save_response("ada", answer("1", text="a secret word" * 1000))
        await store.delete_response("ada", "resp_1")
    assert b"secret" not in path.read_bytes()


async def test_memory_is_forgotten_and_shared_with_nobody():
    async with opened("memory") as one, opened("memory") as other:
        await one.save_response("ada", answer("1"))
        with pytest.raises(NotFound):
            await other.response("ada", "resp_1")
