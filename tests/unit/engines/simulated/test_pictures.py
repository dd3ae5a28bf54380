"""The simulated engine takes pictures through the whole protocol, as a real one does."""

from __future__ import annotations

import pytest

from dragoman.core.errors import InvalidRequest, Unsupported
from dragoman.core.request import ImagePart, TextPrompt
from dragoman.engines.base import EngineImage
from dragoman.engines.simulated import SEEING, Begin, SimulatedEngine, SimulatedRequest, say
from dragoman.protocol.frames import Accept, Done
from support.engines import asking, outputs, running

RED = EngineImage(width=1, height=1, rgb=b"\xff\0\0")
BLUE = EngineImage(width=1, height=1, rgb=b"\0\0\xff")
PART = ImagePart(data=b"", media_type="image/png")


def looking(image: EngineImage, text: str = "ab", at: int = 1, **more):
    return asking(prompt=TextPrompt(text=text, images=((at, PART),)), images=(image,), **more)


@pytest.mark.seeds("S107", "S153")
async def test_what_was_sent_is_what_the_script_sees():
    seen: list[SimulatedRequest] = []

    def script(request: SimulatedRequest):
        seen.append(request)
        return [Begin(), *say("red")]

    async with running(SimulatedEngine(script, info=SEEING)) as engine:
        frames = await outputs(await engine.submit(looking(RED, keep_prefix=True)))
        assert isinstance(frames[0], Accept)
        assert frames[0].prompt_tokens == 2 + 4
        assert await engine.tokenize(TextPrompt(text="ab", images=((1, PART),)), (RED,)) == (
            97, *[SEEING.vocabulary_size] * 4, 98,
        )  # fmt: skip
    assert (seen[0].images, seen[0].keep_prefix, seen[0].text) == ((RED,), True, "ab")


@pytest.mark.seeds("S134")
async def test_equal_pictures_count_as_cached_and_others_do_not():
    async with running(SimulatedEngine(info=SEEING)) as engine:
        accepts = [
            frames[0].cached_tokens
            for image in (RED, RED, BLUE)
            if isinstance((frames := await outputs(await engine.submit(looking(image, reports=True))))[0], Accept)
        ]
    assert accepts == [0, 5, 1]


async def test_a_picture_is_no_end_of_a_prompt():
    async with running(SimulatedEngine(info=SEEING)) as engine:
        with pytest.raises(InvalidRequest) as refusal:
            await outputs(await engine.submit(looking(RED, at=2)))
    assert refusal.value.feature == "images"


async def test_one_that_does_not_see_is_not_asked_to():
    async with running(SimulatedEngine()) as engine:
        with pytest.raises(Unsupported) as refusal:
            await engine.submit(looking(RED))
        assert refusal.value.feature == "images"
        assert isinstance((await outputs(await engine.submit(asking("ab"))))[-1], Done)
