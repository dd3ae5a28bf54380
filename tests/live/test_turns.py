"""Tool loops with the demo model over Messages and Responses: the second turn computes what is new, and hardly more (S141).

This server is deterministic, so it also computes again what it generated itself; by default that is reused, too.
"""

from __future__ import annotations

import anthropic
import openai
import pytest

from support.live import FRANCE, FRANCE_ANSWER, PATIENCE
from support.serve import Running

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="session")]

SYSTEM = "You are a careful assistant for the weather. " * 30
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string", "enum": ["Paris", "Rome"]}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}
RESULT = "Sunny, 20 degrees."

TURN = 32
"""Tokens around a tool's result: the end of one turn, the beginnings of two, and where the template writes a call otherwise than the model."""


@pytest.fixture
async def claude(served: Running):
    """The official client of Messages."""
    async with anthropic.AsyncAnthropic(
        base_url=served.url, api_key="unused", timeout=PATIENCE, max_retries=0
    ) as client:
        yield client


@pytest.mark.seeds("S119", "S141")
async def test_a_tool_result_over_messages_goes_on_from_what_is_cached(claude: anthropic.AsyncAnthropic):
    tools = [{"name": "get_weather", "description": "The weather in a city.", "input_schema": PARAMETERS}]
    asked = [{"role": "user", "content": "What is the weather in Paris?"}]
    first = await claude.messages.create(
        model="default", max_tokens=100, system=SYSTEM, tools=tools, tool_choice={"type": "any"}, messages=asked
    )
    assert first.stop_reason == "tool_use"
    (call,) = first.content
    assert call.type == "tool_use"
    assert call.input["city"] in {"Paris", "Rome"}
    answered = [
        *asked,
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": RESULT}]},
    ]
    second = await claude.messages.create(model="default", max_tokens=8, system=SYSTEM, tools=tools, messages=answered)
    read = first.usage.input_tokens + (first.usage.cache_read_input_tokens or 0)
    assert (second.usage.cache_read_input_tokens or 0) >= read, "not even the first prompt was found whole"
    counted = await claude.messages.count_tokens(
        model="default", system=SYSTEM, tools=tools, messages=[asked[0], *answered[1:]]
    )
    assert counted.input_tokens == second.usage.input_tokens + (second.usage.cache_read_input_tokens or 0)
    result = await claude.messages.count_tokens(model="default", messages=[{"role": "user", "content": RESULT}])
    empty = await claude.messages.count_tokens(model="default", messages=[{"role": "user", "content": "."}])
    new = result.input_tokens - empty.input_tokens
    assert second.usage.input_tokens <= first.usage.output_tokens + new + TURN


@pytest.mark.seeds("S119", "S141", "S144")
async def test_a_tool_result_over_responses_goes_on_from_what_is_cached(sdk: openai.AsyncOpenAI):
    tools = [
        {"type": "function", "name": "get_weather", "description": "The weather in a town.", "parameters": PARAMETERS}
    ]
    first = await sdk.responses.create(
        model="default",
        input="What is the weather in Rome?",
        instructions=SYSTEM,
        tools=tools,
        tool_choice="required",
        max_output_tokens=100,
    )
    call = first.output[-1]
    assert call.type == "function_call"
    second = await sdk.responses.create(
        model="default",
        input=[{"type": "function_call_output", "call_id": call.call_id, "output": RESULT}],
        instructions=SYSTEM,
        tools=tools,
        previous_response_id=first.id,
        max_output_tokens=16,
    )
    assert first.usage is not None
    assert second.usage is not None
    cached = second.usage.input_tokens_details.cached_tokens
    assert cached >= first.usage.input_tokens
    assert second.usage.input_tokens - cached <= first.usage.output_tokens + TURN + len(RESULT.split()) * 2


@pytest.mark.seeds("S23")
async def test_a_budget_of_zero_warms_the_cache(claude: anthropic.AsyncAnthropic):
    asked = [{"role": "user", "content": "Ships and their captains: a question that nobody has asked before."}]
    warm = await claude.messages.create(model="default", max_tokens=0, messages=asked)
    assert (warm.content, warm.stop_reason) == ([], "max_tokens")
    hot = await claude.messages.create(model="default", max_tokens=4, messages=asked)
    assert hot.usage.input_tokens == 1, "all but the token whose logits are needed"


@pytest.mark.seeds("S134")
async def test_a_billing_header_that_changes_costs_nothing(claude: anthropic.AsyncAnthropic):
    """peers.md 106."""
    usages = []
    for suffix in ("cch=aaaa", "cch=bbbb"):
        system = [
            {"type": "text", "text": f"x-anthropic-billing-header: cc_version=2.1.332; {suffix};"},
            {
                "type": "text",
                "text": "You are a sailor who tells stories. " * 20,
                "cache_control": {"type": "ephemeral"},
            },
        ]
        told = await claude.messages.create(
            model="default", max_tokens=2, system=system, messages=[{"role": "user", "content": "Ahoy"}]
        )
        usages.append(told.usage)
    assert usages[1].input_tokens == 1
    assert usages[1].cache_read_input_tokens == usages[0].input_tokens + usages[0].cache_read_input_tokens - 1


@pytest.mark.seeds("S114")
async def test_a_stream_adds_up_to_what_it_says(claude: anthropic.AsyncAnthropic):
    asked = {"model": "default", "max_tokens": 24, "extra_body": {"temperature": 0}}
    messages = [{"role": "user", "content": FRANCE}]
    whole = await claude.messages.create(**asked, messages=messages)
    async with claude.messages.stream(**asked, messages=messages) as stream:
        final = await stream.get_final_message()
    assert [block.text for block in final.content] == [block.text for block in whole.content]
    assert whole.content[0].text.startswith(FRANCE_ANSWER)
    assert final.stop_reason == whole.stop_reason
    assert final.usage.output_tokens == whole.usage.output_tokens
