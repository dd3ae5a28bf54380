"""Responses that are kept: read again, gone on from, listed, deleted, and nobody else's."""

from __future__ import annotations

import pytest

from dragoman.engines.simulated import Fail, say, tapes
from dragoman.gateway.options import GatewayOptions
from support.house import House, house_of

ASK = {"input": "hi"}


async def respond(house: House, body: dict, **options) -> dict:
    reply = await house.client.post("/v1/responses", body, **options)
    assert reply.status == 200, reply.body
    return reply.json()


def text_of(response: dict) -> str:
    return "".join(part["text"] for item in response["output"] if item["type"] == "message" for part in item["content"])


def prompts(house: House) -> list[str]:
    """What the engine was given, in order."""
    return [text.decode() for text in house.engine.links.spawned[0].prompts]


@pytest.mark.feature("stored", "responses")
@pytest.mark.seeds("S144")
async def test_a_response_can_be_read_again_as_it_was_told():
    async with house_of() as house:
        told = await respond(house, ASK)
        assert (await house.client.get(f"/v1/responses/{told['id']}")).json() == told


@pytest.mark.seeds("S144")
async def test_a_streamed_response_is_stored_before_its_last_event():
    async with house_of() as house:
        stream = await house.client.post("/v1/responses", {**ASK, "stream": True})
        final = stream.data[-2]["response"]
        assert final["status"] == "completed"
        assert (await house.client.get(f"/v1/responses/{final['id']}")).json() == final


@pytest.mark.feature("stored", "responses")
@pytest.mark.seeds("S144")
async def test_the_next_turn_answers_all_that_was_said_before():
    async with house_of(tapes({"one": say("first answer"), "two": say("second answer")})) as house:
        first = await respond(house, {"input": "one", "instructions": "Be brief."})
        second = await respond(house, {"input": "two", "previous_response_id": first["id"]})
        assert second["previous_response_id"] == first["id"]
        items = (await house.client.get(f"/v1/responses/{second['id']}/input_items?order=asc")).json()["data"]
        assert [item["role"] for item in items] == ["user", "assistant", "user"]
        assert items[1] == first["output"][0]
        # OpenAI: instructions are of one response, and do not go over to the next.
        assert second["instructions"] is None


@pytest.mark.seeds("S144")
async def test_a_response_that_is_not_there_cannot_be_gone_on_from():
    async with house_of() as house:
        reply = await house.client.post("/v1/responses", {**ASK, "previous_response_id": "resp_none"})
        assert reply.status == 400
        error = reply.json()["error"]
        assert (error["code"], error["param"]) == ("previous_response_not_found", "previous_response_id")


@pytest.mark.seeds("S144")
async def test_store_false_leaves_no_trace():
    async with house_of() as house:
        told = await respond(house, {**ASK, "store": False})
        assert (await house.client.get(f"/v1/responses/{told['id']}")).status == 404
        assert house.store.responses == {}
        reply = await house.client.post("/v1/responses", {**ASK, "previous_response_id": told["id"]})
        assert reply.json()["error"]["code"] == "previous_response_not_found"


@pytest.mark.seeds("S144")
async def test_a_deleted_response_is_gone():
    async with house_of() as house:
        told = await respond(house, ASK)
        gone = await house.client.open("DELETE", f"/v1/responses/{told['id']}").end()
        assert gone.json() == {"id": told["id"], "object": "response", "deleted": True}
        assert (await house.client.get(f"/v1/responses/{told['id']}")).status == 404
        assert (await house.client.open("DELETE", f"/v1/responses/{told['id']}").end()).status == 404


@pytest.mark.seeds("S17")
@pytest.mark.parametrize("way", ["get", "delete", "cancel", "input_items", "previous", "reference", "conversation"])
async def test_an_id_is_no_key(way):
    """Another caller who knows an id can do no more with it than with one that he made up."""
    options = GatewayOptions(keys=("mine", "theirs"))
    house = House(options=options)
    mine, theirs = {"authorization": "Bearer mine"}, {"authorization": "Bearer theirs"}
    task = house.client.open("POST", "/v1/responses", ASK, headers=mine)
    stream = await house.engine.next_stream()
    stream.accept()
    stream.say("secret")
    stream.done(emitted=1)
    told = (await task.end()).json()
    conversation = (await house.client.post("/v1/conversations", {}, headers=mine)).json()["id"]

    async def ask(headers, id, item, conversation):
        match way:
            case "get":
                return await house.client.get(f"/v1/responses/{id}", headers=headers)
            case "delete":
                return await house.client.open("DELETE", f"/v1/responses/{id}", headers=headers).end()
            case "cancel":
                return await house.client.post(f"/v1/responses/{id}/cancel", headers=headers)
            case "input_items":
                return await house.client.get(f"/v1/responses/{id}/input_items", headers=headers)
            case "previous":
                body = {**ASK, "previous_response_id": id}
            case "reference":
                body = {"input": [{"type": "item_reference", "id": item}]}
            case _:
                body = {**ASK, "conversation": conversation}
        return await house.client.post("/v1/responses", body, headers=headers)

    stranger = await ask(theirs, told["id"], told["output"][0]["id"], conversation)
    unknown = await ask(theirs, "resp_none", "msg_none", "conv_none")
    assert stranger.status == unknown.status in {400, 404}
    assert stranger.json()["error"]["code"] == unknown.json()["error"]["code"]
    assert b"secret" not in stranger.body
    assert (await house.client.get(f"/v1/responses/{told['id']}", headers=mine)).json() == told


@pytest.mark.seeds("S156")
async def test_a_buffered_response_that_fails_is_an_error_and_is_not_kept():
    async with house_of(tapes({"hi": [*say("a"), Fail("ENGINE", "broken")]})) as house:
        reply = await house.client.post("/v1/responses", ASK)
        assert reply.status >= 500
        assert set(reply.json()["error"]) == {"message", "type", "param", "code"}
        assert house.store.responses == {}


@pytest.mark.seeds("S155")
async def test_a_streamed_response_that_fails_says_so_last():
    """peers.md 94 and 99."""
    async with house_of(tapes({"hi": [*say("a"), Fail("ENGINE", "broken")]})) as house:
        stream = await house.client.post("/v1/responses", {**ASK, "stream": True})
        kinds = [event["type"] for event in stream.data[:-1]]
        assert kinds[-2:] == ["error", "response.failed"]
        assert [event["sequence_number"] for event in stream.data[:-1]] == list(range(len(kinds)))


@pytest.mark.parametrize(
    "query, param",
    [("limit=0", "limit"), ("limit=101", "limit"), ("limit=x", "limit"), ("order=up", "order")],
)
async def test_a_page_that_cannot_be_is_refused_by_name(query, param):
    async with house_of() as house:
        told = await respond(house, ASK)
        reply = await house.client.get(f"/v1/responses/{told['id']}/input_items?{query}")
        assert (reply.status, reply.json()["error"]["param"]) == (400, param)


async def test_items_come_in_pages():
    async with house_of() as house:
        inputs = [{"role": "user", "content": word} for word in ("one", "two", "three")]
        told = await respond(house, {"input": inputs})
        path = f"/v1/responses/{told['id']}/input_items"
        first = (await house.client.get(f"{path}?limit=2&order=asc")).json()
        assert [item["content"][0]["text"] for item in first["data"]] == ["one", "two"]
        assert first["has_more"] is True
        assert first["last_id"] == first["data"][-1]["id"]
        rest = (await house.client.get(f"{path}?limit=2&order=asc&after={first['last_id']}")).json()
        assert [item["content"][0]["text"] for item in rest["data"]] == ["three"]
        assert rest["has_more"] is False
        newest = (await house.client.get(path)).json()["data"]
        assert [item["content"][0]["text"] for item in newest] == ["three", "two", "one"]


async def test_an_item_can_be_named_in_the_place_of_being_sent_again():
    async with house_of() as house:
        told = await respond(house, ASK)
        named = {"type": "item_reference", "id": told["output"][0]["id"]}
        again = await respond(
            house, {"input": [{"role": "user", "content": "hi"}, named, {"role": "user", "content": "and"}]}
        )
        whole = await respond(
            house, {"input": [{"role": "user", "content": "hi"}, told["output"][0], {"role": "user", "content": "and"}]}
        )
        assert again["usage"]["input_tokens"] == whole["usage"]["input_tokens"]
        nowhere = await house.client.post("/v1/responses", {"input": [{"type": "item_reference", "id": "msg_none"}]})
        assert (nowhere.status, nowhere.json()["error"]["code"]) == (400, "item_not_found")


@pytest.mark.parametrize(
    "body",
    [
        {"input": "hi", "previous_response_id": "x" * 100_000},
        {"input": [{"type": "item_reference", "id": "x" * 100_000}]},
    ],
    ids=["response", "item"],
)
async def test_a_name_as_long_as_a_body_is_not_said_again(body):
    async with house_of() as house:
        reply = await house.client.post("/v1/responses", body)
        assert reply.status == 400
        assert len(reply.body) < 1000
