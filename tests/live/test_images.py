"""Pictures through llama.cpp's mtmd, with a projector that we wrote: what it sees means nothing, but all that depends on it is real."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from dragoman.core.errors import EngineFailed
from dragoman.core.request import ImagePart, TextPrompt
from dragoman.engines.base import EngineImage
from dragoman.engines.sampling import log_softmax
from support.live import CALM, LiveEngine, answer, greedy, live_engine, running, together
from support.mtmd import mtmd_answer
from support.projector import POSITIONS, write_projector

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="session")]

BEFORE = "<|im_start|>user\nLook at this:"
AFTER = "What is it?<|im_end|>\n<|im_start|>assistant\n"
CLOSE = 0.02
"""Nats: their cache holds half precision, and their kernels round elsewhere. A position that is off by one moves them by more."""

PART = ImagePart(data=b"", media_type="image/png")


def picture(seed: int, width: int = 40, height: int = 30) -> EngineImage:
    pixels = np.random.default_rng(seed).integers(0, 256, 3 * width * height, dtype=np.uint8)
    return EngineImage(width=width, height=height, rgb=pixels.tobytes())


def seeing(*images: EngineImage, after: str = AFTER, max_tokens: int = 12, **more):
    """Pictures one after another between the two texts."""
    places = tuple((len(BEFORE), PART) for _ in images)
    return greedy(TextPrompt(text=BEFORE + after, images=places), max_tokens, images=images, **more)


@pytest.fixture(scope="session")
def projector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_projector(tmp_path_factory.mktemp("projector") / "mmproj.gguf")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def eyes(demo_model: Path, cache_dir: Path, engine: LiveEngine, projector: Path) -> AsyncIterator[LiveEngine]:
    """Like ``engine``, and it sees."""
    flags = (*CALM, "--context", "2048", "--slots", "8", "--prefill-chunk", "256", "--projector", str(projector))
    async with running(live_engine(demo_model, cache_dir, *flags)) as live:
        yield live


@pytest.mark.seeds("S153")
async def test_a_picture_takes_its_positions_of_the_prompt_and_counting_agrees(eyes: LiveEngine) -> None:
    assert "images" in eyes.client.info.features
    text = await eyes.client.tokenize(TextPrompt(text=BEFORE + AFTER))
    request = seeing(picture(1), max_tokens=1)
    seen = await answer(eyes, request)
    counted = await eyes.client.tokenize(request.prompt, request.images)
    assert seen.accept.prompt_tokens == len(counted) == seen.done.prompt_tokens
    assert counted.count(eyes.client.info.vocabulary_size) == POSITIONS == 16
    assert len(counted) >= len(text) + POSITIONS  # no merge across the place of the picture


async def test_the_answer_is_that_of_llama_cpp_s_own_helper(
    eyes: LiveEngine, demo_model: Path, projector: Path
) -> None:
    for seed in (2, 3):
        image = picture(seed)
        ours = await answer(eyes, seeing(image, max_tokens=16, logprobs=5))
        theirs, logits = mtmd_answer(demo_model, projector, [BEFORE, AFTER], [image], 16)
        assert ours.ids == theirs
        assert ours.data[0].numeric is not None
        expected = log_softmax(logits)
        for token, logprob in ours.data[0].numeric.top:
            assert logprob == pytest.approx(expected[token], abs=CLOSE)


async def test_what_is_seen_matters(eyes: LiveEngine) -> None:
    answers = {tuple((await answer(eyes, seeing(picture(seed), logprobs=1))).numbers) for seed in range(4, 7)}
    assert len(answers) == 3


async def test_the_same_picture_is_found_in_the_cache_and_another_one_is_not(eyes: LiveEngine) -> None:
    first = await answer(eyes, seeing(picture(10), logprobs=2))
    again = await answer(eyes, seeing(picture(10), logprobs=2))
    other = await answer(eyes, seeing(picture(11), logprobs=2))
    text = await eyes.client.tokenize(TextPrompt(text=BEFORE))
    assert again.accept.cached_tokens == first.accept.prompt_tokens - 1
    assert again.numbers == first.numbers
    assert other.accept.cached_tokens in {0, len(text)}  # only what stands before the picture, if it is worth a copy
    assert other.done.computed_tokens == other.accept.prompt_tokens - other.accept.cached_tokens


async def test_a_conversation_goes_on_after_its_picture_without_looking_again(eyes: LiveEngine) -> None:
    image = picture(12)
    first = await answer(eyes, seeing(image, max_tokens=8))
    longer = AFTER + "a cat<|im_end|>\n<|im_start|>user\nSure?<|im_end|>\n<|im_start|>assistant\n"
    second = await answer(eyes, seeing(image, after=longer, max_tokens=8))
    assert second.accept.cached_tokens >= first.accept.prompt_tokens - 1
    fresh = await answer(eyes, seeing(image, after=longer, max_tokens=8, isolation="another"))
    assert fresh.accept.cached_tokens == 0
    assert fresh.ids == second.ids


async def test_several_pictures_stand_in_their_order(eyes: LiveEngine) -> None:
    one, two = picture(13), picture(14)
    both = await answer(eyes, seeing(one, two, logprobs=1))
    turned = await answer(eyes, seeing(two, one, logprobs=1))
    assert both.accept.prompt_tokens == turned.accept.prompt_tokens
    assert both.numbers != turned.numbers


async def test_pictures_beside_texts_change_neither(eyes: LiveEngine) -> None:
    text = greedy("<|im_start|>user\nCount to ten.<|im_end|>\n<|im_start|>assistant\n", 24, logprobs=2)
    requests = [text, seeing(picture(20), logprobs=2), seeing(picture(21), picture(22), logprobs=2)]
    alone = [(await answer(eyes, request)).numbers for request in requests]
    fresh = [seeing(*request.images, logprobs=2, isolation="beside") for request in requests[1:]]
    beside = await together(eyes, [greedy(text.prompt, 24, logprobs=2, isolation="beside"), *fresh])
    assert [each.numbers for each in beside] == alone


async def test_text_alone_has_the_bits_that_it_has_without_a_projector(eyes: LiveEngine, engine: LiveEngine) -> None:
    request = greedy("The dragoman said:", 24, logprobs=5)
    assert (await answer(eyes, request)).numbers == (await answer(engine, request)).numbers


async def test_a_cancelled_picture_leaves_nothing_behind(eyes: LiveEngine) -> None:
    request = seeing(picture(30), max_tokens=200, ignore_eos=True)
    stream = await eyes.client.submit(request)
    await stream.aclose()
    finished = await answer(eyes, seeing(picture(30), max_tokens=8))
    again = await answer(eyes, seeing(picture(30), max_tokens=8, isolation="after"))
    assert finished.ids == again.ids


@pytest.mark.parametrize("shape", [(1, 1), (1, 700), (700, 1), (2300, 2300)])
async def test_pictures_of_odd_shapes_are_taken(eyes: LiveEngine, shape: tuple[int, int]) -> None:
    seen = await answer(eyes, seeing(picture(31, *shape), max_tokens=1))
    assert seen.done.emitted == 1


async def test_a_projector_for_another_model_ends_the_start_and_says_which_numbers_differ(
    demo_model: Path, cache_dir: Path, tmp_path: Path
) -> None:
    wrong = write_projector(tmp_path / "mmproj.gguf", embedding=64)
    engine = live_engine(demo_model, cache_dir, *CALM, "--context", "512", "--slots", "1", "--projector", str(wrong))
    with pytest.raises(EngineFailed, match="n_embd = 576.*n_embd = 64"):
        async with running(engine):
            pass


async def test_a_model_is_no_projector(demo_model: Path, cache_dir: Path) -> None:
    flags = (*CALM, "--context", "512", "--slots", "1", "--projector", str(demo_model))
    with pytest.raises(EngineFailed, match="the projector .* can not be used with this model"):
        async with running(live_engine(demo_model, cache_dir, *flags)):
            pass
