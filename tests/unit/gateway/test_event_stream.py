"""When something is written to a stream."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from dragoman.gateway.event_stream import EventStream
from dragoman.surfaces.base import ServerEvent


class Sink:
    """Keeps what was sent, and when. Takes nothing while it is ``stuck``."""

    def __init__(self) -> None:
        self.writes: list[tuple[float, bytes]] = []
        self.ended = False
        self.open = asyncio.Event()
        self.open.set()

    async def __call__(self, message) -> None:
        await self.open.wait()
        if message["type"] == "http.response.body":
            self.ended = not message["more_body"]
            if message["body"]:
                self.writes.append((asyncio.get_running_loop().time(), message["body"]))


async def opened(sink: Sink) -> EventStream:
    stream = EventStream(sink, keepalive=lambda: b": ping\n\n", interval=9.0)
    await stream.open([])
    return stream


async def test_each_event_is_one_write() -> None:
    sink = Sink()
    stream = await opened(sink)
    await stream.write([ServerEvent(b"1"), ServerEvent(b"2", event="two")])
    await stream.close()
    assert [data for _, data in sink.writes] == [b"data: 1\n\n", b"event: two\ndata: 2\n\n"]
    assert sink.ended


async def test_silence_is_measured_from_the_last_write() -> None:
    sink = Sink()
    stream = await opened(sink)
    await asyncio.sleep(5)
    await stream.write([ServerEvent(b"x")])
    await asyncio.sleep(25)
    assert [when for when, _ in sink.writes] == pytest.approx([5, 14, 23])
    await stream.close()


async def test_a_timer_that_comes_a_hair_early_does_not_fire_over_and_over() -> None:
    moment = next(time for time in (tick / 1000 for tick in range(40_000)) if time + 9.0 - time < 9.0)
    sink = Sink()
    await asyncio.sleep(moment - asyncio.get_running_loop().time())
    stream = await opened(sink)
    await asyncio.sleep(10)
    assert [when for when, _ in sink.writes] == pytest.approx([moment + 9.0])
    await stream.close()


async def test_nothing_follows_the_end() -> None:
    sink = Sink()
    stream = await opened(sink)
    await stream.close()
    await asyncio.sleep(60)
    assert sink.writes == []


async def test_a_keepalive_that_has_its_number_is_not_lost_when_the_end_comes() -> None:
    """peers.md 100: numbers without a hole, to a client that was slow just then."""
    sink, numbers = Sink(), itertools.count()
    stream = EventStream(sink, keepalive=lambda: b"%d" % next(numbers), interval=9.0)
    await stream.open([])
    sink.open.clear()
    await asyncio.sleep(10)

    async def end() -> None:
        event = ServerEvent(b"%d" % next(numbers))
        stream.stop()
        await stream.write([event])
        await stream.close()

    ending = asyncio.create_task(end())
    await asyncio.sleep(1)
    sink.open.set()
    await ending
    assert [data for _, data in sink.writes] == [b"0", b"data: 1\n\n"]
    assert sink.ended


async def test_a_keepalive_that_is_due_just_when_the_end_comes_is_not_made() -> None:
    sink = Sink()
    stream = await opened(sink)
    asyncio.get_running_loop().call_at(9.0, stream.stop)
    await asyncio.sleep(9.0)
    await stream.close()
    await asyncio.sleep(1)
    assert sink.writes == []
    assert sink.ended


async def test_a_client_that_takes_nothing_is_not_heaped_with_keepalives() -> None:
    sink = Sink()
    stream = await opened(sink)
    sink.open.clear()
    await asyncio.sleep(100)
    sink.open.set()
    await asyncio.sleep(1)
    assert len(sink.writes) == 1
    stream.stop()
