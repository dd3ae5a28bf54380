"""An answer does not depend on what else the engine does: tokens and six decimals of log-probabilities, everywhere equal."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.core.request import SamplingParams, TokenPrompt
from dragoman.engines.base import EngineRequest
from dragoman.protocol.frames import Data
from support.live import PATIENCE, LiveEngine, answer, arbitrary, arbitrary_prompt, greedy, together

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="session"), pytest.mark.seeds("S136")]

TEXT = tuple(json.loads((Path(__file__).parents[1] / "fixtures" / "smollm2_float32.json").read_text())["ids"])

GREEDY = SamplingParams(temperature=0.0, seed=0)
SEEDED = SamplingParams(temperature=1.0, seed=4711)


def target(sampling: SamplingParams, isolation: str) -> EngineRequest:
    """Ask for the same; a key of its own makes it cold."""
    return greedy(TokenPrompt(ids=TEXT), 12, logprobs=5, sampling=sampling, isolation=isolation, ignore_eos=True)


@pytest.fixture(params=[GREEDY, SEEDED], ids=["greedy", "seeded"])
def sampling(request: pytest.FixtureRequest) -> SamplingParams:
    return request.param


async def test_the_engine_says_that_it_is_deterministic(engine: LiveEngine):
    assert "deterministic" in engine.client.info.features
    assert re.fullmatch(r"fp_[0-9a-f]{16}_deterministic_invariant", engine.client.info.fingerprint)


async def test_an_answer_is_the_same_beside_seven_others(engine: LiveEngine, sampling: SamplingParams):
    key = f"beside {sampling.seed}"
    alone = await answer(engine, target(sampling, f"alone {sampling.seed}"))
    others = [greedy(arbitrary_prompt(300 + n, 20 + 20 * n), 16, isolation=key, ignore_eos=True) for n in range(7)]
    said = await together(engine, [*others[:4], target(sampling, key), *others[4:]])
    assert said[4].accept.cached_tokens == 0
    assert said[4].numbers == alone.numbers
    assert len(alone.numbers) == 12


async def test_an_answer_is_the_same_after_a_prefix_hit(engine: LiveEngine, sampling: SamplingParams):
    key = f"hit {sampling.seed}"
    cold = await answer(engine, target(sampling, f"cold {sampling.seed}"))
    cut = greedy(TokenPrompt(ids=TEXT[:120] + arbitrary(310, 50)), 1, isolation=key)
    await answer(engine, cut)
    warm = await answer(engine, target(sampling, key))
    hot = await answer(engine, target(sampling, key))
    assert (cold.accept.cached_tokens, warm.accept.cached_tokens) == (0, 120)
    assert hot.accept.cached_tokens == len(TEXT) - 1
    assert cold.numbers == warm.numbers == hot.numbers


async def test_an_answer_is_the_same_in_one_chunk_and_in_many(
    engine: LiveEngine, small_chunks: LiveEngine, sampling: SamplingParams
):
    key = f"chunks {sampling.seed}"
    whole = await answer(engine, target(sampling, key))
    many = await answer(small_chunks, target(sampling, key))
    assert (len(whole.progress), len(many.progress)) == (0, 11)
    assert whole.numbers == many.numbers


async def test_every_prompt_position_is_the_same_in_one_chunk_and_in_many(engine: LiveEngine, small_chunks: LiveEngine):
    score = greedy(TokenPrompt(ids=TEXT), 0, echo=5)
    whole, many = await answer(engine, score), await answer(small_chunks, score)
    assert whole.numbers == many.numbers
    assert len(whole.numbers) == len(TEXT) - 1


async def test_a_turn_that_goes_on_from_an_answer_is_the_same_as_one_that_was_never_seen(engine: LiveEngine):
    """The answer's tokens were computed one by one; those of a prompt are not, and only equal bits are reused."""
    first = await answer(engine, greedy(TokenPrompt(ids=TEXT[:60]), 12, isolation="turns", ignore_eos=True))
    history = (*TEXT[:60], *first.ids, *arbitrary(320, 20))
    warm = await answer(engine, greedy(TokenPrompt(ids=history), 8, logprobs=5, isolation="turns", ignore_eos=True))
    cold = await answer(engine, greedy(TokenPrompt(ids=history), 8, logprobs=5, isolation="turn", ignore_eos=True))
    assert (warm.accept.cached_tokens, cold.accept.cached_tokens) == (60, 0)
    assert warm.numbers == cold.numbers


@pytest.mark.seeds("S31")
async def test_a_seed_gives_the_same_tokens_in_whatever_order_requests_come_and_whatever_runs_beside_them(
    engine: LiveEngine,
):
    """Eight sampled requests, with penalties and without, alone, all at once, in reverse, and each a few tokens after the other."""
    plain = SamplingParams(temperature=1.0)
    shaped = replace(plain, top_p=0.95, min_p=0.02, repetition_penalty=1.1, presence_penalty=0.5, frequency_penalty=0.2)
    asked = [
        greedy(
            arbitrary_prompt(330 + index, 20 + 15 * index),
            16,
            sampling=replace(shaped if index % 2 else plain, seed=index),
            ignore_eos=True,
        )
        for index in range(8)
    ]

    def keyed(order: str) -> list[EngineRequest]:
        """Cold: nothing is taken from an earlier round."""
        return [replace(request, isolation=f"{order} {index}") for index, request in enumerate(asked)]

    alone = [(await answer(engine, request)).ids for request in keyed("alone")]
    at_once = [said.ids for said in await together(engine, keyed("at once"))]
    reverse = [said.ids for said in await together(engine, keyed("reverse")[::-1])][::-1]
    staggered = await one_after_another(engine, keyed("staggered"))
    assert alone == at_once == reverse == staggered
    assert len({tuple(ids) for ids in alone}) == 8
    other = await answer(engine, replace(asked[0], sampling=replace(plain, seed=99), isolation="other"))
    assert other.ids != alone[0]


async def one_after_another(engine: LiveEngine, requests: list[EngineRequest]) -> list[list[int]]:
    """Each begins when the one before it has said two tokens, so that every step has another mixture."""
    answers: list[asyncio.Task[list[int]]] = []
    for slot, request in enumerate(requests):
        said_some = asyncio.Event()
        answers.append(asyncio.create_task(follow(engine, replace(request, slot=slot), said_some)))
        await asyncio.wait_for(said_some.wait(), PATIENCE)
    return list(await asyncio.gather(*answers))


async def follow(engine: LiveEngine, request: EngineRequest, said_some: asyncio.Event) -> list[int]:
    """The tokens of an answer; the event is set after two of them."""
    ids: list[int] = []
    async for output in await engine.client.submit(request):
        if isinstance(output, Data):
            ids.append(output.token if output.token is not None else -1)
            if len(ids) == 2:
                said_some.set()
    return ids
