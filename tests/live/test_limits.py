"""What ends an answer of the demo model early or late, what steers its draw, and what warms its cache."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dragoman.core.request import SamplingParams, TextPrompt, TokenPrompt
from support.live import LiveEngine, answer, arbitrary_prompt, greedy

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="session")]

QUESTION = "<|im_start|>user\nWhat is 2 + 2?<|im_end|>\n<|im_start|>assistant\n"
END = 2
"""<|im_end|> of SmolLM2, which ends every turn."""


@pytest.mark.seeds("S37")
async def test_a_full_stop_ends_the_answer_where_it_is_the_stop_token(engine: LiveEngine):
    """The probe of FreeToken's list of features: stop at the token of "."."""
    (stop,) = await engine.client.tokenize(TextPrompt(text="."))
    free = await answer(engine, greedy(QUESTION, 60))
    assert stop in free.ids[:-1]
    stopped = await answer(engine, greedy(QUESTION, 60, stop_token_ids=(stop,)))
    assert stopped.ids == free.ids[: free.ids.index(stop) + 1]
    assert (stopped.done.emitted, stopped.done.length_limited) == (len(stopped.ids), False)


@pytest.mark.seeds("S36")
async def test_min_tokens_keep_a_turn_open(engine: LiveEngine):
    """FreeToken saw 2 tokens become 35; SmolLM2 ends this turn by itself, too, and later where it must not."""
    free = await answer(engine, greedy(QUESTION, 120))
    assert free.ids[-1] == END
    wanted = len(free.ids) + 10
    longer = await answer(engine, greedy(QUESTION, 120, min_tokens=wanted))
    assert len(longer.ids) >= wanted
    assert END not in longer.ids[:wanted]
    assert longer.ids[: len(free.ids) - 1] == free.ids[:-1]


@pytest.mark.seeds("S35")
async def test_a_bias_of_a_hundred_produces_its_token(engine: LiveEngine):
    request = greedy(QUESTION, 4, logprobs=1)
    biased = SamplingParams(temperature=0.0, logit_bias=((1000, 100.0),))
    said = await answer(engine, replace(request, sampling=biased))
    assert said.ids == [1000] * 4
    assert all(frame.numeric is not None and frame.numeric.top[0][0] != 1000 for frame in said.data[:1])


async def test_penalties_take_repetition_out_of_a_greedy_answer(engine: LiveEngine):
    prompt = "one two one two one two one two one"
    plain = await answer(engine, greedy(prompt, 24, ignore_eos=True))
    penalised = SamplingParams(temperature=0.0, presence_penalty=1000.0)
    varied = await answer(engine, greedy(prompt, 24, ignore_eos=True, sampling=penalised))
    assert len(set(plain.ids)) < 24
    assert len(set(varied.ids)) == 24


@pytest.mark.seeds("S23", "S134")
@pytest.mark.parametrize("echo", [None, 0], ids=["read", "scored"])
async def test_a_budget_of_nothing_warms_the_cache_for_who_comes_next(engine: LiveEngine, echo: int | None):
    prompt = arbitrary_prompt(400 if echo is None else 401, 150)
    cold = await answer(engine, greedy(prompt, 0, echo=echo))
    warm = await answer(engine, greedy(prompt, 4))
    again = await answer(engine, greedy(TokenPrompt(ids=prompt.ids), 4, echo=0))
    assert (cold.done.emitted, len(cold.data)) == (0, 0)
    assert (cold.accept.cached_tokens, cold.accept.miss) == (0, "cold" if echo is None else "echo")
    assert (warm.accept.cached_tokens, warm.accept.miss) == (149, "")
    assert (again.accept.cached_tokens, again.accept.miss) == (0, "echo")
    assert warm.ids == again.ids
