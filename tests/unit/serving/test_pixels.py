"""Pixels have a bound, whatever waits: a file of 300 bytes may hold megabytes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import cast

import pytest

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.limits import MAX_IMAGES
from dragoman.core.request import ImagePart, SamplingParams, TextPrompt, TokenPrompt
from dragoman.engines.base import MAX_PIXELS, EngineRequest
from dragoman.serving.choice import Desk, Reading, begin
from dragoman.serving.pieces import Pieces
from dragoman.serving.pixels import ROOM_BYTES, PictureDecoder, Room
from support.hand_engine import HandEngine
from support.pictures import file

RED, BLUE = (255, 0, 0), (0, 0, 255)


def part(colour: tuple[int, int, int] = RED, size: tuple[int, int] = (1, 1)) -> ImagePart:
    return ImagePart(data=file(size, colour), media_type="image/png", place="image")


def showing(*parts: ImagePart) -> TextPrompt:
    return TextPrompt(text="", images=tuple((0, each) for each in parts))


async def soon() -> None:
    """Let everything run that can."""
    for _ in range(10):
        await asyncio.sleep(0)


class TestAPrompt:
    async def test_its_pictures_come_in_their_order(self):
        decoder = PictureDecoder()
        pixels = decoder.pixels(await decoder.check(showing(part(RED), part(BLUE, (2, 1)))))
        assert [picture.rgb for picture in await pixels.decode()] == [bytes(RED), bytes(BLUE) * 2]

    @pytest.mark.parametrize("prompt", [TextPrompt(text="a"), TokenPrompt(ids=(1,))])
    async def test_one_without_any_waits_for_no_room(self, prompt: TextPrompt | TokenPrompt):
        decoder = PictureDecoder(room=0)
        assert await decoder.pixels(await decoder.check(prompt)).decode() == ()

    async def test_a_refusal_lets_the_next_request_have_its_turn(self):
        decoder = PictureDecoder()
        with pytest.raises(InvalidRequest) as refusal:
            await decoder.check(showing(replace(part(), data=b"")))
        assert refusal.value.code is Code.INVALID_IMAGE
        assert (await decoder.check(showing(part()))).size == 3

    async def test_pixels_wait_until_others_are_released(self):
        decoder = PictureDecoder(room=8)
        checked = await decoder.check(showing(part(), part()))
        assert checked.size == 6
        first, second = decoder.pixels(checked), decoder.pixels(checked)
        await first.decode()
        waiting = asyncio.create_task(second.decode())
        await soon()
        assert not waiting.done()
        first.release()
        first.release()
        assert len(await waiting) == 2

    def test_the_largest_request_has_room(self):
        assert MAX_IMAGES * 3 * MAX_PIXELS <= ROOM_BYTES


class TestASubmission:
    async def test_one_that_is_cancelled_while_it_waits_for_room_gives_its_slot_back_and_leaves_the_queue(self):
        engine, decoder = HandEngine(), PictureDecoder(room=3)
        checked = await decoder.check(showing(part()))
        first = decoder.pixels(checked)
        await first.decode()
        tasks: list[asyncio.Task[None]] = []

        def spawn(work: Coroutine[object, object, None]) -> asyncio.Task[None]:
            tasks.append(asyncio.get_running_loop().create_task(work))
            return tasks[-1]

        outcomes: list[str] = []
        desk = Desk(engine=engine, info=engine.info, pieces=Pieces(engine), spawn=spawn)
        request = EngineRequest(prompt=showing(part()), max_tokens=1, sampling=SamplingParams())
        waiting = asyncio.create_task(
            begin(
                desk,
                request,
                decoder.pixels(checked),
                lambda: cast(Reading, None),
                lambda outcome, _usage: outcomes.append(outcome),
            )
        )
        await soon()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.gather(*tasks)
        assert outcomes == ["cancelled"]
        assert engine.submitted == []
        first.release()
        assert len(await decoder.pixels(checked).decode()) == 1


class TestRoom:
    async def test_a_small_claim_does_not_pass_a_large_one(self):
        room = Room(10)
        await room.claim(6)
        large, small = asyncio.create_task(room.claim(8)), asyncio.create_task(room.claim(1))
        await soon()
        assert not large.done()
        assert not small.done()
        room.release(6)
        await asyncio.gather(large, small)

    async def test_who_leaves_makes_way(self):
        room = Room(10)
        await room.claim(6)
        large, small = asyncio.create_task(room.claim(8)), asyncio.create_task(room.claim(1))
        await soon()
        large.cancel()
        await small
        assert large.cancelled()

    async def test_who_leaves_just_when_it_is_granted_gives_it_back(self):
        room = Room(10)
        await room.claim(10)
        waiting = asyncio.create_task(room.claim(10))
        await soon()
        room.release(10)
        waiting.cancel()
        await soon()
        assert waiting.cancelled()
        await room.claim(10)

    async def test_more_than_all_gets_all(self):
        room = Room(10)
        await room.claim(1)
        huge = asyncio.create_task(room.claim(11))
        await soon()
        assert not huge.done()
        room.release(1)
        await huge
        room.release(11)
        await room.claim(10)
