"""What lm-evaluation-harness sends to Completions, and what it reads out of the reply: the numbers are the engine's own."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from dragoman.core.request import SamplingParams, TextPrompt, TokenPrompt
from dragoman.engines.base import EngineRequest
from dragoman.protocol.frames import Echo
from support.live import PATIENCE, LiveEngine, answer, arbitrary
from support.serve import Running

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="session")]

PAIRS = [
    ("The capital of France is", " Paris"),
    ("The capital of France is", " Lyon"),
    ("The capital of France is", " a city that is called Paris."),
    ("The capital of Italy is", " Rome"),
    ("The capital of Italy is", " Tromsø"),
    ("Q: Is water wet?\nA:", " yes"),
    ("Q: Is water wet?\nA:", " no"),
    ("She said", " 🙂 and left"),
    ("one, two, three, four,", " five, six, seven, eight, nine, ten"),
    ("def double(x):\n    return", " 2 * x\n"),
]
"""Contexts, and continuations to score."""

ENDED = "<|im_start|>user\nSay hi.<|im_end|>\n<|im_start|>assistant\nHello!"
QUESTION = " How can I help you today?"
"""What the model says after ``ENDED``; its next token is the end of its turn."""


def body(*members: tuple[int, ...]) -> dict[str, object]:
    """The harness's request, as it is on the wire: ids in an array of arrays, also of one."""
    return {
        "model": "default",
        "prompt": [list(member) for member in members],
        "temperature": 0,
        "max_tokens": 1,
        "logprobs": 1,
        "seed": 1234,
        "echo": True,
    }


async def post(server: Running, *members: tuple[int, ...]) -> list[dict]:
    """The choices, in the order of their indexes as the harness sorts them."""
    async with httpx.AsyncClient(timeout=PATIENCE) as http:
        reply = await http.post(f"{server.url}/v1/completions", json=body(*members))
    assert reply.status_code == 200, reply.text
    return sorted(reply.json()["choices"], key=lambda choice: choice["index"])


async def members(engine: LiveEngine) -> list[tuple[tuple[int, ...], int]]:
    """Sixteen prompts with the lengths of their contexts: sentences, and tokens that make no sense, some of 300."""
    found = []
    for context, continuation in PAIRS:
        whole = await engine.client.tokenize(TextPrompt(text=context + continuation))
        found.append((whole, len(await engine.client.tokenize(TextPrompt(text=context)))))
    found += [(arbitrary(seed, count), count - 3) for seed, count in enumerate((4, 17, 40, 300, 301), start=900)]
    whole = await engine.client.tokenize(TextPrompt(text=ENDED + QUESTION))
    found.append((whole, len(whole) - 7))
    assert len(found) == 16
    return found


async def direct(engine: LiveEngine, ids: tuple[int, ...]) -> list[Echo]:
    """The engine's own values of a prompt."""
    sampling = SamplingParams(temperature=0.0, seed=1234)
    request = EngineRequest(prompt=TokenPrompt(ids=ids), max_tokens=1, sampling=sampling, logprobs=1, echo=1)
    return (await answer(engine, request)).echoes


@pytest.mark.seeds("S70", "S76", "S93", "S95")
async def test_sixteen_members_are_scored_as_the_engine_scores_each(served: Running, engine: LiveEngine):
    asked = await members(engine)
    choices = await post(served, *(ids for ids, _ in asked))
    assert len(choices) == 16
    for choice, (ids, context) in zip(choices, asked, strict=True):
        values, tops = choice["logprobs"]["token_logprobs"], choice["logprobs"]["top_logprobs"]
        assert len(values) == len(tops) == len(ids) + 1, "the generated token is in the arrays, whatever it is"
        echoes = (await direct(engine, ids))[context:]
        assert values[context:-1] == [echo.numeric.logprob for echo in echoes]
        greedy = all(
            value == max(top.values()) for value, top in zip(values[context:-1], tops[context:-1], strict=True)
        )
        assert greedy == all(echo.numeric.top[0][0] == echo.token for echo in echoes)
        assert "".join(choice["logprobs"]["tokens"]) == choice["text"]


async def test_a_likely_and_an_unlikely_continuation_are_told_apart(served: Running, engine: LiveEngine):
    """What the harness counts as right: the sum of a continuation's values, and whether each token is the likeliest one."""
    asked = (await members(engine))[:2]
    paris, lyon = await post(served, *(ids for ids, _ in asked))
    start = asked[0][1]
    right, wrong = (sum(choice["logprobs"]["token_logprobs"][start:-1]) for choice in (paris, lyon))
    assert right > wrong + 3
    assert max(paris["logprobs"]["top_logprobs"][start].values()) == right
    assert max(lyon["logprobs"]["top_logprobs"][start].values()) > wrong


@pytest.mark.seeds("S91")
async def test_an_array_of_one_is_scored_like_the_same_member_among_sixteen(served: Running, engine: LiveEngine):
    """The harness's ``batch_size=1`` sends ``[[ids]]``, and several of them at once with ``num_concurrent``."""
    asked = [ids for ids, _ in await members(engine)]
    among = await post(served, *asked)
    alone = await asyncio.gather(*(post(served, ids) for ids in asked))
    for whole, (single,) in zip(among, alone, strict=True):
        assert single["index"] == 0
        assert {**single, "index": whole["index"]} == whole


async def test_the_end_token_is_in_the_arrays_when_it_is_what_was_generated(served: Running, engine: LiveEngine):
    """The harness cuts the last one off: without it, it would cut off a token of the continuation."""
    whole = await engine.client.tokenize(TextPrompt(text=ENDED + QUESTION))
    (choice,) = await post(served, whole)
    assert (choice["finish_reason"], choice["text"]) == ("stop", ENDED + QUESTION)
    assert len(choice["logprobs"]["token_logprobs"]) == len(whole) + 1
    assert choice["logprobs"]["tokens"][-1] == ""
