"""How long a conversation is, and a shorter one that stands for it."""

from __future__ import annotations

import pytest
from openai.types.responses import CompactedResponse

from dragoman.engines.simulated import Begin, Hold, say, tapes
from support.house import house_of
from support.virtual_time import settle

TALK = [
    {"role": "user", "content": "We start on Tuesday."},
    {"role": "assistant", "content": "Understood."},
    {"role": "user", "content": "And tell the others."},
]


@pytest.mark.parametrize(
    "body",
    [
        {"input": "hi"},
        {"input": TALK, "instructions": "Be brief."},
        {
            "input": "hi",
            "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False}],
        },
    ],
)
async def test_a_count_is_what_the_response_reports(body):
    async with house_of() as house:
        counted = (await house.client.post("/v1/responses/input_tokens", body)).json()
        told = (await house.client.post("/v1/responses", body)).json()
        assert counted == {"object": "response.input_tokens", "input_tokens": told["usage"]["input_tokens"]}


async def test_a_count_goes_on_from_an_earlier_response():
    async with house_of() as house:
        first = (await house.client.post("/v1/responses", {"input": "hi"})).json()
        body = {"input": "and", "previous_response_id": first["id"]}
        counted = (await house.client.post("/v1/responses/input_tokens", body)).json()
        told = (await house.client.post("/v1/responses", body)).json()
        assert counted["input_tokens"] == told["usage"]["input_tokens"]


@pytest.mark.feature("compaction", "responses")
async def test_a_compaction_keeps_what_the_user_said_and_stands_for_the_rest():
    async with house_of(lambda request: say("They start on Tuesday.")) as house:
        body = {"model": "small", "input": TALK}
        compacted = (await house.client.post("/v1/responses/compact", body)).json()
        *kept, summary = compacted["output"]
        # The type's own words promise user messages, for which its union has no member.
        CompactedResponse.model_validate({**compacted, "output": [summary]}, strict=True)
        assert [item["content"][0]["text"] for item in kept] == [TALK[0]["content"], TALK[2]["content"]]
        assert summary["type"] == "compaction"
        assert compacted["usage"]["output_tokens"] > 0
        # The summary is read where the compaction stands: as many tokens more as the text has, and what goes around a turn.
        asked = [*compacted["output"], {"role": "user", "content": "Go on."}]
        without = [*kept, {"role": "user", "content": "Go on."}]
        count = "/v1/responses/input_tokens"
        longer = (await house.client.post(count, {"input": asked})).json()["input_tokens"]
        shorter = (await house.client.post(count, {"input": without})).json()["input_tokens"]
        assert longer - shorter >= len("They start on Tuesday.")


async def test_nothing_to_compact_costs_nothing():
    async with house_of() as house:
        compacted = (await house.client.post("/v1/responses/compact", {"model": "small"})).json()
        assert [item["type"] for item in compacted["output"]] == ["compaction"]
        assert compacted["usage"]["total_tokens"] == 0


async def test_a_compaction_needs_to_know_its_model():
    async with house_of() as house:
        reply = await house.client.post("/v1/responses/compact", {"input": "hi"})
        assert (reply.status, reply.json()["error"]["param"]) == (400, "model")


async def test_a_client_that_leaves_ends_its_compaction():
    async with house_of(lambda request: [Begin(), *say("a"), Hold()]) as house:
        exchange = house.client.open("POST", "/v1/responses/compact", {"model": "small", "input": "hi"})
        await settle(100)
        exchange.hang_up()
        await exchange.end()
        await settle(100)
        assert house.metric("scheduler_active") == 0


async def test_a_foreign_compaction_has_no_effect_and_is_listed():
    async with house_of(tapes({})) as house:
        foreign = {"type": "compaction", "id": "cmp_1", "encrypted_content": "bW9jaw=="}
        plain = await house.client.post("/v1/responses", {"input": [TALK[0]]})
        reply = await house.client.post("/v1/responses", {"input": [foreign, TALK[0]]})
        assert reply.status == 200
        assert reply.json()["usage"]["input_tokens"] == plain.json()["usage"]["input_tokens"]
        assert "encrypted_content" in reply.headers["x-dragoman-ignored"]
