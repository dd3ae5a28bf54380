"""Calls of the demo model, whose template knows no tools, through the server, as clients ask for them."""

from __future__ import annotations

import json

import openai
import pytest

from support.forced_calls import forced

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="session")]

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 20}, "days": {"enum": [1, 2]}},
            "required": ["city", "days"],
            "additionalProperties": False,
        },
    },
}
NAMED = {"type": "function", "function": {"name": "get_weather"}}
QUESTION = {"role": "user", "content": "What is the weather in Paris?"}
ASKED = {"model": "default", "temperature": 0, "tools": [WEATHER], "max_tokens": 60}


@pytest.mark.seeds("S119", "S121", "S122", "S127")
async def test_calls_that_are_forced_are_what_their_tools_say(sdk: openai.AsyncOpenAI):
    """A small part of what ``make judges ARGS=tool_calls`` does."""
    found = await forced(sdk, range(8))
    assert found.faults == []
    assert found.calls >= 6, found.ends


@pytest.mark.seeds("S119")
async def test_a_tools_result_is_read_and_answered(sdk: openai.AsyncOpenAI):
    first = await sdk.chat.completions.create(**ASKED, messages=[QUESTION], tool_choice=NAMED)
    (choice,) = first.choices
    (call,) = choice.message.tool_calls
    assert set(json.loads(call.function.arguments)) == {"city", "days"}
    result = {"role": "tool", "tool_call_id": call.id, "content": '{"sky": "blue", "degrees": 21}'}
    talk = [QUESTION, choice.message.model_dump(exclude_none=True), result]
    second = await sdk.chat.completions.create(**ASKED, messages=talk)
    assert second.choices[0].message.content
    assert "<tool_" not in second.choices[0].message.content
    assert second.usage.prompt_tokens_details.cached_tokens >= first.usage.prompt_tokens
    untold = await sdk.chat.completions.create(**ASKED, messages=talk, tool_choice="none")
    assert untold.choices[0].message.content
    assert untold.choices[0].message.tool_calls is None


@pytest.mark.seeds("S57")
@pytest.mark.parametrize("choice", ["required", NAMED])
async def test_a_call_that_is_cut_is_told_as_far_as_it_came_and_nothing_else(sdk: openai.AsyncOpenAI, choice):
    """Peers' bug list, 30: the budget ends behind each of the tokens of a call."""
    asked = {**ASKED, "messages": [QUESTION], "tool_choice": choice, "parallel_tool_calls": False}
    whole = await sdk.chat.completions.create(**asked)
    (final,) = whole.choices[0].message.tool_calls
    assert whole.choices[0].finish_reason == ("tool_calls" if choice == "required" else "stop")
    told = []
    for budget in range(1, whole.usage.completion_tokens - 1):
        (cut,) = (await sdk.chat.completions.create(**asked | {"max_tokens": budget})).choices
        assert (cut.finish_reason, cut.message.content or "") == ("length", "")
        told += [call.function.arguments for call in cut.message.tool_calls or ()]
    assert all(final.function.arguments.startswith(arguments) for arguments in told)
    assert "" in told
    assert final.function.arguments in told, "the budget ended in the closing tag, too"


@pytest.mark.seeds("S127")
async def test_each_of_several_answers_has_calls_of_its_own(sdk: openai.AsyncOpenAI):
    asked = {**ASKED, "temperature": 1, "seed": 3, "n": 3}
    reply = await sdk.chat.completions.create(
        **asked, messages=[QUESTION], tool_choice="required", parallel_tool_calls=False
    )
    ids = [call.id for choice in reply.choices for call in choice.message.tool_calls]
    assert len(set(ids)) == len(ids) == 3


async def test_a_model_that_may_call_or_not_shows_no_syntax(sdk: openai.AsyncOpenAI):
    """Peers' bug list, 28: an answer without a call has ended as one."""
    reply = await sdk.chat.completions.create(**ASKED, messages=[QUESTION], logprobs=True)
    (choice,) = reply.choices
    called = bool(choice.message.tool_calls)
    assert choice.finish_reason in ({"tool_calls", "length"} if called else {"stop", "length"})
    assert "<tool_call" not in (choice.message.content or "")
    assert "".join(row.token for row in choice.logprobs.content) == (choice.message.content or "")
