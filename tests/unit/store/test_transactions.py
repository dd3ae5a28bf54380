"""Transactions over a database that hangs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection

from dragoman.core.errors import Internal
from dragoman.store.transactions import CLOSING_SECONDS, MAX_WAITING, Transactions
from support.virtual_time import VirtualTimeLoop


class HungDatabase:
    """Does nothing until it is ``free``, and counts what is ``done``."""

    errors: tuple[type[Exception], ...] = (OSError,)

    def __init__(self) -> None:
        self.free = asyncio.Event()
        self.done = 0

    async def read(self, work: Callable[[Connection], Any]) -> Any:
        await self.free.wait()
        self.done += 1

    write = read

    async def aclose(self) -> None:
        pass


async def test_only_so_many_wait_for_a_database_that_hangs():
    database = HungDatabase()
    transactions = Transactions(database)
    waiting = [asyncio.create_task(transactions.write(lambda _: None)) for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(Internal, match="too much waits"):
        await transactions.read(lambda _: None)
    database.free.set()
    await asyncio.gather(*waiting)
    await transactions.read(lambda _: None)
    await transactions.aclose()


async def test_a_write_whose_client_leaves_is_done_to_its_end():
    database = HungDatabase()
    transactions = Transactions(database)
    client = asyncio.create_task(transactions.write(lambda _: None))
    await asyncio.sleep(0)
    client.cancel()
    database.free.set()
    await transactions.aclose()
    assert client.cancelled()
    assert database.done == 1


def test_the_end_does_not_wait_for_a_database_that_hangs_for_ever():
    async def close() -> float:
        transactions = Transactions(HungDatabase())
        client = asyncio.create_task(transactions.write(lambda _: None))
        await asyncio.sleep(0)
        await transactions.aclose()
        with pytest.raises(asyncio.CancelledError):
            await client
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(close()) == CLOSING_SECONDS
