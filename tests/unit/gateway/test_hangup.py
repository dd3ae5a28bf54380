"""A disconnect ends what runs, in one exception."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.gateway.hangup import ClientGone, HangUp
from support.virtual_time import settle


class Wire:
    """A ``receive`` that says what it is told to."""

    def __init__(self) -> None:
        self._messages: asyncio.Queue[dict[str, object]] = asyncio.Queue()

    async def __call__(self) -> dict[str, object]:
        return await self._messages.get()

    def say(self, kind: str) -> None:
        self._messages.put_nowait({"type": kind})


async def test_a_disconnect_leaves_the_block_as_client_gone() -> None:
    wire = Wire()
    wire.say("http.request")
    wire.say("http.disconnect")
    with pytest.raises(ClientGone):
        async with HangUp(wire):
            await asyncio.sleep(3600)
    assert asyncio.get_running_loop().time() < 1
    assert asyncio.current_task().cancelling() == 0


async def test_a_client_that_stays_changes_nothing() -> None:
    wire = Wire()
    async with HangUp(wire):
        await asyncio.sleep(1)
    wire.say("http.disconnect")
    await settle()


async def test_a_disarmed_line_may_be_cut() -> None:
    wire = Wire()
    async with HangUp(wire) as line:
        line.disarm()
        wire.say("http.disconnect")
        await settle()


async def test_a_cancellation_from_elsewhere_stays_one() -> None:
    wire = Wire()

    async def serve() -> None:
        async with HangUp(wire):
            await asyncio.sleep(3600)

    task = asyncio.create_task(serve())
    await settle()
    task.cancel()
    await settle()
    assert task.cancelled()


async def test_both_at_once_is_the_cancellation() -> None:
    wire = Wire()

    async def serve() -> None:
        async with HangUp(wire):
            await asyncio.sleep(3600)

    task = asyncio.create_task(serve())
    await settle()
    wire.say("http.disconnect")
    task.cancel()
    await settle()
    assert task.cancelled()


async def test_an_error_raised_while_cleaning_up_is_not_hidden() -> None:
    wire = Wire()
    wire.say("http.disconnect")
    with pytest.raises(ZeroDivisionError):
        async with HangUp(wire):
            try:
                await asyncio.sleep(3600)
            finally:
                raise ZeroDivisionError
    await asyncio.sleep(1)
