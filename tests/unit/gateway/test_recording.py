"""One response for several readers."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.gateway.recording import Recording
from support.virtual_time import settle

START = {"type": "http.response.start", "status": 200, "headers": []}


def part(body: bytes) -> dict[str, object]:
    return {"type": "http.response.body", "body": body, "more_body": True}


class Reader:
    """Takes a message only while it is ``open``."""

    def __init__(self, recording: Recording) -> None:
        self.got: list[dict[str, object]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.task = asyncio.create_task(recording.play(self._take))

    async def _take(self, message) -> None:
        await self.open.wait()
        self.got.append(message)


async def test_who_comes_early_and_who_comes_late_hear_the_same() -> None:
    recording = Recording(limit=100)
    early = Reader(recording)
    await recording.add(START)
    await recording.add(part(b"a"))
    await settle()
    assert early.got == [START, part(b"a")]
    late = Reader(recording)
    await settle()
    assert late.got == early.got
    await recording.add(part(b"b"))
    recording.end()
    after = Reader(recording)
    await asyncio.gather(early.task, late.task, after.task)
    assert early.got == late.got == after.got == [START, part(b"a"), part(b"b")]
    assert recording.readers == 0


async def test_a_slow_reader_holds_nobody_up_within_the_limit() -> None:
    recording = Recording(limit=3)
    slow = Reader(recording)
    slow.open.clear()
    for letter in (b"a", b"b", b"c"):
        await recording.add(part(letter))
    assert recording.whole
    slow.open.set()
    recording.end()
    await slow.task
    assert slow.got == [part(b"a"), part(b"b"), part(b"c")]


async def test_beyond_the_limit_the_sender_waits_for_its_readers_and_holds_one_message() -> None:
    recording = Recording(limit=2)
    quick, slow = Reader(recording), Reader(recording)
    slow.open.clear()
    await recording.add(part(b"abc"))
    assert not recording.whole
    sending = asyncio.create_task(recording.add(part(b"d")))
    await settle()
    assert quick.got == [part(b"abc")]
    assert not sending.done()
    slow.open.set()
    await sending
    assert recording.messages == (part(b"d"),)
    recording.end()
    await asyncio.gather(quick.task, slow.task)
    assert quick.got == slow.got == [part(b"abc"), part(b"d")]


async def test_beyond_the_limit_a_reader_that_leaves_is_not_waited_for() -> None:
    recording = Recording(limit=0)
    stuck = Reader(recording)
    stuck.open.clear()
    await recording.add(part(b"a"))
    sending = asyncio.create_task(recording.add(part(b"b")))
    await settle()
    stuck.task.cancel()
    await sending
    for _ in range(10):
        await recording.add(part(b"c"))
    assert len(recording.messages) == 1


async def test_what_the_application_raised_is_raised_to_each_reader_after_what_it_sent() -> None:
    recording = Recording(limit=100)
    readers = [Reader(recording), Reader(recording)]
    await recording.add(START)
    recording.end(ValueError("no"))
    for reader in readers:
        with pytest.raises(ValueError, match="no"):
            await reader.task
        assert reader.got == [START]
