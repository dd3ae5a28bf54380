"""The official SDK against the demo model: what each field does to a real answer. Greedy answers are those of llama.cpp's own server."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

import httpx
import openai
import pytest

from support.live import FRANCE, FRANCE_ANSWER, PATIENCE
from support.serve import Running

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="session")]

QUESTION = [{"role": "user", "content": FRANCE}]
GREEDY = {"model": "default", "messages": QUESTION, "temperature": 0, "max_tokens": 20}
DRAWN = {"model": "default", "messages": QUESTION, "seed": 11, "max_tokens": 12}
USAGE = {"include_usage": True}


async def post(server: Running, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """A route that the SDK does not know."""
    async with httpx.AsyncClient(timeout=PATIENCE) as http:
        return (await http.post(f"{server.url}{path}", json=body)).raise_for_status().json()


async def text_of(client: openai.AsyncOpenAI, **asked: Any) -> str:
    """What a chat says."""
    return (await client.chat.completions.create(**asked)).choices[0].message.content or ""


@pytest.mark.seeds("S42", "S53")
async def test_three_streams_are_woven_into_one_and_are_the_three_whole_answers(sdk: openai.AsyncOpenAI):
    whole = await sdk.chat.completions.create(**DRAWN, n=3)
    assert [choice.index for choice in whole.choices] == [0, 1, 2]
    assert len({choice.message.content for choice in whole.choices}) > 1
    texts: dict[int, str] = defaultdict(str)
    roles: list[int] = []
    ends: list[int] = []
    usages = []
    async for chunk in await sdk.chat.completions.create(**DRAWN, n=3, stream=True, stream_options=USAGE):
        usages += [chunk.usage] if chunk.usage else []
        for choice in chunk.choices:
            assert choice.index not in ends, "a chunk after the end of its choice"
            texts[choice.index] += choice.delta.content or ""
            roles += [choice.index] if choice.delta.role else []
            ends += [choice.index] if choice.finish_reason else []
    assert [texts[index] for index in range(3)] == [choice.message.content for choice in whole.choices]
    assert sorted(roles) == sorted(ends) == [0, 1, 2]
    assert [usage.prompt_tokens for usage in usages] == [37], "the prompt is counted once"
    assert usages[0].completion_tokens == whole.usage.completion_tokens
    assert usages[0].completion_tokens <= 36


@pytest.mark.seeds("S71", "S82")
@pytest.mark.parametrize("more", [{"temperature": 0}, {"n": 3}, {"stop": ["Marseille", "the"]}])
async def test_each_delta_carries_the_records_of_its_own_text(sdk: openai.AsyncOpenAI, more: dict[str, Any]):
    asked = {**DRAWN, **more, "logprobs": True, "top_logprobs": 2}
    seen: dict[int, list[Any]] = defaultdict(list)
    async for chunk in await sdk.chat.completions.create(**asked, stream=True):
        (choice,) = chunk.choices
        rows = choice.logprobs.content if choice.logprobs else []
        assert "".join(row.token for row in rows) == (choice.delta.content or "")
        seen[choice.index] += rows
    whole = await sdk.chat.completions.create(**asked)
    assert len(whole.choices) == len(seen)
    for choice in whole.choices:
        assert seen[choice.index] == choice.logprobs.content
        for row in choice.logprobs.content:
            values = [top.logprob for top in row.top_logprobs]
            assert values == sorted(values, reverse=True)
            assert (row.token, row.logprob) in [(top.token, top.logprob) for top in row.top_logprobs]
            assert more != {"temperature": 0} or row.logprob == values[0]


@pytest.mark.seeds("S27", "S38")
async def test_a_stop_cuts_the_answer_before_itself_or_after_it(sdk: openai.AsyncOpenAI):
    before, stop = FRANCE_ANSWER.partition("la femme")[:2]
    for stream in (False, True):
        for keep in (False, True):
            asked = {**GREEDY, "stop": ["nowhere", stop], "extra_body": {"include_stop_str_in_output": keep}}
            wanted = before + stop if keep else before
            if stream:
                chunks = [chunk async for chunk in await sdk.chat.completions.create(**asked, stream=True)]
                assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == wanted
                assert chunks[-1].choices[0].finish_reason == "stop"
            else:
                (choice,) = (await sdk.chat.completions.create(**asked)).choices
                assert (choice.message.content, choice.finish_reason) == (wanted, "stop")


@pytest.mark.seeds("S37")
async def test_a_token_that_stops_ends_the_answer_and_is_not_shown(served: Running, sdk: openai.AsyncOpenAI):
    (comma,) = (await post(served, "/tokenize", {"prompt": ",", "add_special_tokens": False}))["tokens"]
    reply = await sdk.chat.completions.create(**GREEDY, extra_body={"stop_token_ids": [comma]})
    assert reply.choices[0].message.content == FRANCE_ANSWER.partition(",")[0] == "L'Étoile"
    assert reply.choices[0].finish_reason == "stop"
    said = await post(served, "/tokenize", {"prompt": "L'Étoile,", "add_special_tokens": False})
    assert reply.usage.completion_tokens == said["count"]


async def test_a_seed_gives_one_answer_alone_among_neighbours_and_again(sdk: openai.AsyncOpenAI):
    alone = await text_of(sdk, **DRAWN)
    others = [text_of(sdk, **{**DRAWN, "seed": seed, "max_tokens": 40}) for seed in range(8)]
    among, *_ = await asyncio.gather(text_of(sdk, **DRAWN), *others)
    assert among == alone == await text_of(sdk, **DRAWN)
    assert len({await text_of(sdk, **{**DRAWN, "seed": seed}) for seed in range(4)}) > 1


async def test_best_of_gives_the_likeliest_of_the_answers_that_n_gives(sdk: openai.AsyncOpenAI):
    """OpenAI: the one with the highest log probability per token. All have equally many here."""
    asked = {"model": "default", "prompt": "Once upon a time", "seed": 3, "max_tokens": 8, "logprobs": 1}
    four = await sdk.completions.create(**asked, n=4)
    assert {len(choice.logprobs.tokens) for choice in four.choices} == {8}
    best = await sdk.completions.create(**asked, best_of=4)
    likeliest = max(four.choices, key=lambda choice: sum(choice.logprobs.token_logprobs))
    assert [choice.text for choice in best.choices] == [likeliest.text]
    assert (best.choices[0].index, best.usage.completion_tokens) == (0, 32)


@pytest.mark.seeds("S22", "S23", "S47")
@pytest.mark.parametrize("logprobs", [None, 1])
async def test_an_echo_with_no_budget_is_the_prompt_and_nothing_more(
    served: Running, sdk: openai.AsyncOpenAI, logprobs: int | None
):
    prompt = "Grüße from Tromsø 🙂"
    reply = await sdk.completions.create(model="default", prompt=prompt, echo=True, max_tokens=0, logprobs=logprobs)
    counted = (await post(served, "/tokenize", {"prompt": prompt}))["count"]
    (choice,) = reply.choices
    assert (choice.text, choice.finish_reason) == (prompt, "length")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (counted, 0)
    if logprobs is None:
        assert choice.logprobs is None
    else:
        assert "".join(choice.logprobs.tokens) == prompt
        assert len(choice.logprobs.tokens) == len(choice.logprobs.token_logprobs) == counted
        assert choice.logprobs.token_logprobs[0] is None
        starts = [len("".join(choice.logprobs.tokens[:place])) for place in range(counted)]
        assert choice.logprobs.text_offset == starts


@pytest.mark.seeds("S95")
async def test_a_batch_of_sixteen_is_sixteen_answers_in_order(sdk: openai.AsyncOpenAI):
    prompts = [f"The number after {number} is" for number in range(16)]
    asked = {"model": "default", "temperature": 0, "max_tokens": 6}
    batch = await sdk.completions.create(**asked, prompt=prompts)
    alone = [(await sdk.completions.create(**asked, prompt=prompt)).choices[0].text for prompt in prompts]
    assert [(choice.index, choice.text) for choice in batch.choices] == list(enumerate(alone))


@pytest.mark.seeds("S48")
@pytest.mark.seeds("S95", "S161")
async def test_a_batch_is_its_members_alone_in_either_order_and_with_twins(sdk: openai.AsyncOpenAI):
    """Five arms: singles, batch, reversed batch, singles again, every member twice; text, end and usage agree."""
    prompts = ["The capital of France is", "Once upon a time", "1, 2, 3, 4,", "Dear Sir,"]
    asked = {"model": "default", "max_tokens": 8, "temperature": 0}

    async def arm(batch: Any) -> tuple[list[tuple[str, str]], int]:
        answer = await sdk.completions.create(prompt=batch, **asked)
        assert [choice.index for choice in answer.choices] == list(range(len(answer.choices)))
        return [(choice.text, choice.finish_reason) for choice in answer.choices], answer.usage.completion_tokens

    singles = [await arm(prompt) for prompt in prompts]
    expected, tokens = [answer[0] for answer, _ in singles], sum(count for _, count in singles)
    assert await arm(prompts) == (expected, tokens)
    assert await arm(prompts[::-1]) == (expected[::-1], tokens)
    assert [await arm(prompt) for prompt in prompts] == singles
    assert await arm(prompts + prompts) == (expected + expected, 2 * tokens)


async def test_a_suffix_is_refused_by_name_by_a_model_that_knows_no_gaps(sdk: openai.AsyncOpenAI):
    with pytest.raises(openai.BadRequestError) as refused:
        await sdk.completions.create(model="default", prompt="def f(", suffix="    return 1\n")
    assert refused.value.param == "suffix"


@pytest.mark.seeds("S35")
async def test_a_bias_forces_a_token_or_bans_it(served: Running, sdk: openai.AsyncOpenAI):
    (cat,) = (await post(served, "/tokenize", {"prompt": " cat", "add_special_tokens": False}))["tokens"]
    assert await text_of(sdk, **{**GREEDY, "max_tokens": 5}, logit_bias={str(cat): 100}) == " cat" * 5
    free = await sdk.chat.completions.create(**{**GREEDY, "max_tokens": 1}, logprobs=True, top_logprobs=2)
    first, second = free.choices[0].logprobs.content[0].top_logprobs
    assert free.choices[0].message.content == first.token
    (banned,) = (await post(served, "/tokenize", {"prompt": first.token, "add_special_tokens": False}))["tokens"]
    assert await text_of(sdk, **{**GREEDY, "max_tokens": 1}, logit_bias={str(banned): -100}) == second.token


@pytest.mark.seeds("S36")
async def test_an_answer_that_would_end_goes_on_until_min_tokens(sdk: openai.AsyncOpenAI):
    asked = {**GREEDY, "messages": [{"role": "user", "content": "Say yes."}], "max_tokens": 100}
    free = await sdk.chat.completions.create(**asked)
    assert (free.choices[0].finish_reason, free.usage.completion_tokens < 80) == ("stop", True)
    held = await sdk.chat.completions.create(**asked, extra_body={"min_tokens": 80})
    assert held.usage.completion_tokens >= 80
    assert held.choices[0].message.content.startswith(free.choices[0].message.content)
    assert "<|im_end|>" not in held.choices[0].message.content


@pytest.mark.seeds("S33")
@pytest.mark.parametrize("penalty", ["presence_penalty", "frequency_penalty"])
async def test_a_penalty_keeps_a_greedy_answer_from_repeating_itself(sdk: openai.AsyncOpenAI, penalty: str):
    """Without one it says `la femme` twice."""
    assert FRANCE_ANSWER.count("la femme") == 2
    said = await text_of(sdk, **GREEDY, **{penalty: 2.0})
    assert said.startswith("L'Étoile, la"), "nothing is repeated so far"
    assert said.count("la femme") < 2


@pytest.mark.seeds("S49", "S54", "S64")
async def test_an_answer_goes_on_inside_the_last_message_of_the_assistant(served: Running, sdk: openai.AsyncOpenAI):
    started = {"role": "assistant", "content": "The capital of France is"}
    inside = {"continue_final_message": True, "add_generation_prompt": False}
    asked = {**GREEDY, "messages": [*QUESTION, started], "max_tokens": 1}
    reply = await sdk.chat.completions.create(**asked, extra_body=inside)
    assert reply.choices[0].message.content == " Paris"
    counted = await post(served, "/tokenize", {"messages": asked["messages"], **inside})
    assert counted["count"] == reply.usage.prompt_tokens == 37 + 5


@pytest.mark.seeds("S54", "S143")
async def test_ids_are_those_of_the_tokenizer(served: Running, sdk: openai.AsyncOpenAI):
    reply = await sdk.chat.completions.create(**GREEDY, extra_body={"return_token_ids": True})
    counted = await post(served, "/tokenize", {"messages": QUESTION})
    assert reply.model_extra["prompt_token_ids"] == counted["tokens"]
    ids = reply.choices[0].model_extra["token_ids"]
    assert len(ids) == reply.usage.completion_tokens == 20
    assert (await post(served, "/detokenize", {"tokens": ids}))["prompt"] == FRANCE_ANSWER
