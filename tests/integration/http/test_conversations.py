"""Conversations: lists of items that responses go on from and add to."""

from __future__ import annotations

import pytest
from openai.types.conversations import Conversation, ConversationDeletedResource, ConversationItemList

from dragoman.engines.simulated import Fail, say, tapes
from support.house import House, house_of

PATH = "/v1/conversations"


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


async def begin(house: House, *texts: str, **fields: object) -> str:
    reply = await house.client.post(PATH, {"items": [user(text) for text in texts], **fields})
    assert reply.status == 200, reply.body
    return Conversation.model_validate(reply.json(), strict=True).id


async def texts_of(house: House, name: str) -> list[str]:
    listed = (await house.client.get(f"{PATH}/{name}/items?order=asc")).json()
    return [
        item["content"][0]["text"]
        for item in ConversationItemList.model_validate(listed, strict=True).to_dict()["data"]
    ]


@pytest.mark.feature("conversations", "responses")
@pytest.mark.seeds("S144")
async def test_a_response_goes_on_from_a_conversation_and_adds_its_turn():
    async with house_of(tapes({"two": say("answer")})) as house:
        name = await begin(house, "one")
        told = (await house.client.post("/v1/responses", {"input": "two", "conversation": name})).json()
        assert told["conversation"] == {"id": name}
        assert await texts_of(house, name) == ["one", "two", "answer"]
        alone = (await house.client.post("/v1/responses", {"input": "two"})).json()
        assert told["usage"]["input_tokens"] > alone["usage"]["input_tokens"]
        again = (await house.client.post("/v1/responses", {"input": "two", "conversation": {"id": name}})).json()
        assert again["usage"]["input_tokens"] > told["usage"]["input_tokens"]


async def test_a_turn_that_failed_is_not_added():
    async with house_of(tapes({"two": [*say("a"), Fail("ENGINE", "broken")]})) as house:
        name = await begin(house, "one")
        assert (await house.client.post("/v1/responses", {"input": "two", "conversation": name})).status >= 500
        assert await texts_of(house, name) == ["one"]


async def test_what_is_not_to_be_stored_cannot_be_added():
    async with house_of() as house:
        name = await begin(house)
        reply = await house.client.post("/v1/responses", {"input": "hi", "conversation": name, "store": False})
        assert (reply.status, reply.json()["error"]["param"]) == (400, "conversation")


async def test_a_conversation_is_named_once():
    async with house_of() as house:
        body = {"input": "hi", "conversation": "conv_none"}
        reply = await house.client.post("/v1/responses", body)
        assert (reply.status, reply.json()["error"]["code"]) == (404, "conversation_not_found")
        reply = await house.client.post("/v1/responses", {**body, "previous_response_id": "resp_none"})
        assert (reply.status, reply.json()["error"]["param"]) == (400, "previous_response_id")


async def test_metadata_can_be_changed():
    async with house_of() as house:
        name = await begin(house, metadata={"topic": "trains"})
        assert (await house.client.get(f"{PATH}/{name}")).json()["metadata"] == {"topic": "trains"}
        changed = await house.client.post(f"{PATH}/{name}", {"metadata": {"topic": "ships"}})
        assert changed.json() == (await house.client.get(f"{PATH}/{name}")).json()
        assert changed.json()["metadata"] == {"topic": "ships"}


async def test_items_are_added_read_and_taken_out():
    async with house_of() as house:
        name = await begin(house, "one")
        added = (await house.client.post(f"{PATH}/{name}/items", {"items": [user("two"), user("three")]})).json()
        ConversationItemList.model_validate(added, strict=True)
        two = added["data"][0]
        assert (await house.client.get(f"{PATH}/{name}/items/{two['id']}")).json() == two
        left = await house.client.open("DELETE", f"{PATH}/{name}/items/{two['id']}").end()
        assert left.json()["id"] == name
        assert await texts_of(house, name) == ["one", "three"]
        assert (await house.client.get(f"{PATH}/{name}/items/{two['id']}")).status == 404


async def test_a_deleted_conversation_is_gone():
    async with house_of() as house:
        name = await begin(house, "one")
        gone = await house.client.open("DELETE", f"{PATH}/{name}").end()
        assert ConversationDeletedResource.model_validate(gone.json(), strict=True).deleted is True
        for path in (name, f"{name}/items"):
            reply = await house.client.get(f"{PATH}/{path}")
            assert (reply.status, reply.json()["error"]["code"]) == (404, "conversation_not_found")


@pytest.mark.parametrize(
    "body, param",
    [
        ({"items": "x"}, "items"),
        ({"items": [user(str(number)) for number in range(21)]}, "items"),
        ({"items": [{"role": "nobody", "content": "x"}]}, "items.0.role"),
        ({"items": [{"type": "item_reference", "id": "msg_1"}]}, "items.0"),
        ({"metadata": {"a": 1}}, "metadata.a"),
    ],
)
async def test_a_wrong_field_is_named(body, param):
    async with house_of() as house:
        reply = await house.client.post(PATH, body)
        assert (reply.status, reply.json()["error"]["param"]) == (400, param)
