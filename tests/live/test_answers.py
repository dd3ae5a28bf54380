"""What the demo model answers, and where its answers end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dragoman.core.errors import Code, EngineFailed, InvalidRequest
from dragoman.core.request import SamplingParams, TextPrompt, TokenPrompt
from dragoman.dialects.base import Dialect
from dragoman.engines.base import EngineRequest
from support.conversations import conversation
from support.live import FRANCE, FRANCE_ANSWER, LiveEngine, answer, arbitrary_prompt, greedy, read

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="session")]

EOS = 2
STORY = "Once upon a time, a dragoman"


def sampled(**params: float) -> EngineRequest:
    return greedy(STORY, 8, ignore_eos=True, sampling=SamplingParams(**params))


async def test_the_answer_is_the_one_of_other_servers(engine: LiveEngine, dialect: Dialect):
    said = await answer(engine, greedy(dialect.render(conversation([{"role": "user", "content": FRANCE}])), 20))
    assert said.text == FRANCE_ANSWER
    assert (said.accept.prompt_tokens, said.done.emitted, said.done.length_limited) == (37, 20, True)


# --- sampling --------------------------------------------------------------------------------------------------------


@pytest.mark.seeds("S26", "S32")
@pytest.mark.parametrize("params", [{"top_k": 1}, {"min_p": 1.0}, {"top_p": 1e-6}], ids=str)
async def test_a_sampler_that_leaves_one_token_is_greedy(engine: LiveEngine, params: dict):
    best = await answer(engine, sampled(temperature=0.0, seed=0))
    narrow = await answer(engine, sampled(temperature=1.5, seed=3, **params))
    assert narrow.ids == best.ids
    assert len(best.ids) == 8


@pytest.mark.seeds("S30")
async def test_the_same_seed_draws_the_same_answer_and_another_seed_another_one(engine: LiveEngine):
    first, again, other = [await answer(engine, sampled(temperature=1.0, seed=seed)) for seed in (1, 1, 2)]
    assert first.ids == again.ids
    assert first.ids != other.ids


# --- where an answer ends --------------------------------------------------------------------------------------------


@pytest.mark.seeds("S28")
async def test_the_models_end_token_ends_an_answer_before_its_budget(engine: LiveEngine):
    prompt = "<|im_start|>user\nSay OK.<|im_end|>\n<|im_start|>assistant\nOK."
    said = await answer(engine, greedy(prompt, 200))
    assert said.ids[-1] == EOS
    assert (said.data[-1].payload, said.done.length_limited) == (b"<|im_end|>", False)
    assert said.done.emitted == len(said.ids) < 200
    beyond = await answer(engine, greedy(prompt, len(said.ids) + 1, ignore_eos=True))
    assert beyond.ids[:-1] == said.ids
    assert beyond.done.length_limited


@pytest.mark.seeds("S21")
async def test_max_tokens_cuts_an_answer(engine: LiveEngine):
    said = await answer(engine, greedy(STORY, 3))
    assert (len(said.ids), said.done.emitted, said.done.length_limited) == (3, 3, True)


@pytest.mark.seeds("S23")
async def test_a_budget_of_zero_reads_the_prompt_and_generates_nothing(engine: LiveEngine):
    said = await answer(engine, greedy(arbitrary_prompt(70, 40), 0))
    assert (said.data, said.done.emitted, said.done.computed_tokens) == ([], 0, 40)
    after = await answer(engine, greedy(arbitrary_prompt(70, 40), 1))
    assert after.accept.cached_tokens == 39  # the last token is computed again, for its logits


@pytest.mark.seeds("S21", "S22")
async def test_the_end_of_the_context_ends_an_answer(small_chunks: LiveEngine):
    said = await answer(small_chunks, greedy(arbitrary_prompt(71, 504), 10**6, ignore_eos=True))
    assert (said.accept.prompt_tokens, said.done.emitted, said.done.length_limited) == (504, 8, True)


async def test_a_prompt_that_is_longer_than_the_context_is_refused_with_both_numbers(engine: LiveEngine):
    stream = await engine.client.submit(greedy(arbitrary_prompt(72, 2050), 1))
    with pytest.raises(InvalidRequest, match="2048 tokens, but the prompt has 2050") as refused:
        await read(stream)
    assert refused.value.code == Code.CONTEXT_LENGTH_EXCEEDED


@pytest.mark.seeds("S93")
async def test_an_id_that_is_no_token_is_refused(engine: LiveEngine):
    stream = await engine.client.submit(greedy(TokenPrompt(ids=(5, 49_152)), 1))
    with pytest.raises(InvalidRequest, match="not in the model's vocabulary") as refused:
        await read(stream)
    assert refused.value.feature == "prompt"


async def test_an_empty_prompt_is_refused(engine: LiveEngine):
    stream = await engine.client.submit(greedy(TextPrompt(text=""), 1))
    with pytest.raises(InvalidRequest, match="empty"):
        await read(stream)


@pytest.mark.seeds("S133", "S136")
async def test_sixteen_requests_run_together_as_alone_and_a_slot_holds_one(engine: LiveEngine):
    asked = [greedy(arbitrary_prompt(100 + slot, 20), 6, ignore_eos=True) for slot in range(16)]
    alone = [await answer(engine, request) for request in asked]
    busy = [replace(request, slot=slot, isolation="together") for slot, request in enumerate(asked)]
    streams = [await engine.client.submit(request) for request in busy]
    one_more = await engine.client.submit(greedy(arbitrary_prompt(99, 5), 1, slot=15))
    with pytest.raises(EngineFailed, match="SLOT_BUSY"):
        await read(one_more)
    said = [await read(stream) for stream in streams]
    assert [frames.ids for frames in said] == [frames.ids for frames in alone]
