"""Responses at the moments when two things happen at once: ends and cancels, reads and ends, deletions and saves."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.engines.simulated import Begin, Hold, say, tapes
from dragoman.gateway.responses.runs import STALE_SECONDS
from dragoman.store.base import StoredResponse
from support.failing_store import FailingStore
from support.house import House, house_of
from support.stores import opened
from support.virtual_time import settle

PATH = "/v1/responses"
ASK = {"input": "slow", "background": True}


def slow():
    hold = Hold()
    return hold, tapes({"slow": [Begin(), *say("one"), hold, *say(" two")]})


def kinds(events: list) -> list[str]:
    return [event if isinstance(event, str) else event["type"] for event in events]


async def begun(house: House, **fields: object) -> tuple[str, object]:
    """A background response that has said its first word."""
    stream = house.client.open("POST", PATH, {**ASK, "stream": True, **fields})
    await stream.until(writes=6)
    return stream.data[0]["response"]["id"], stream


async def elsewhere(house: House) -> str:
    """A response that another server makes."""
    body = {"id": "resp_far", "object": "response", "status": "in_progress", "error": None, "output": []}
    stored = StoredResponse(id="resp_far", created_at=1, body=body, background=True)
    await house.store.save_response("", stored)
    return "resp_far"


async def test_two_that_cancel_hear_the_same_and_the_events_are_kept():
    _, script = slow()
    async with house_of(script, store=FailingStore()) as house:
        name, stream = await begun(house)
        house.store.delay("save_response", 1)
        first = house.client.open("POST", f"{PATH}/{name}/cancel")
        await settle()
        second = house.client.open("POST", f"{PATH}/{name}/cancel")
        assert [(await one.end()).json()["status"] for one in (first, second)] == ["cancelled", "cancelled"]
        told = (await stream.end()).data
        assert (await house.client.get(f"{PATH}/{name}?stream=true")).data == told


async def test_a_cancel_that_comes_while_the_answer_is_saved_is_too_late_and_breaks_nothing():
    hold, script = slow()
    async with house_of(script, store=FailingStore()) as house:
        conversation = (await house.client.post("/v1/conversations", {})).json()["id"]
        name, stream = await begun(house, conversation=conversation)
        house.store.delay("save_response", 5)
        hold.event.set()
        await asyncio.sleep(1)
        assert (await house.client.post(f"{PATH}/{name}/cancel")).json()["status"] == "completed"
        assert (await stream.end()).data[-2]["type"] == "response.completed"
        assert len(await house.store.all_items("", conversation)) == 2


async def test_one_that_ends_while_it_is_looked_up_can_still_be_followed():
    hold, script = slow()
    async with house_of(script, store=FailingStore()) as house:
        name, stream = await begun(house)
        house.store.delay("response", 5)
        follower = house.client.open("GET", f"{PATH}/{name}?stream=true")
        await settle()
        hold.event.set()
        told = (await stream.end()).data
        assert (await follower.end()).status == 200
        assert follower.data == told


async def test_one_that_ends_while_it_is_looked_up_to_be_cancelled_is_told_as_it_is():
    hold, script = slow()
    async with house_of(script, store=FailingStore()) as house:
        name, stream = await begun(house)
        house.store.delay("response", 5)
        cancel = house.client.open("POST", f"{PATH}/{name}/cancel")
        await settle()
        hold.event.set()
        await stream.end()
        assert (await cancel.end()).json()["status"] == "completed"


@pytest.mark.parametrize("action", ["cancel", "delete"])
async def test_what_another_server_makes_is_left_to_it(action):
    """It saves the response again and again, so that one that was deleted here would come back."""
    async with house_of() as house:
        name = await elsewhere(house)
        asked = ("POST", f"{PATH}/{name}/cancel") if action == "cancel" else ("DELETE", f"{PATH}/{name}")
        assert (await house.client.open(*asked).end()).status == 409
        house.now += STALE_SECONDS + 1  # that server is gone
        assert (await house.client.open(*asked).end()).status == 200
        assert bool(house.store.responses) is (action == "cancel")


async def test_one_that_is_deleted_while_it_is_made_does_not_come_back():
    hold, script = slow()
    async with house_of(script) as house:
        name, stream = await begun(house)
        assert (await house.client.open("DELETE", f"{PATH}/{name}").end()).status == 200
        assert kinds((await stream.end()).data)[-2:] == ["response.incomplete", "[DONE]"]
        hold.event.set()
        await settle(200)
        assert house.store.responses == {}
        assert (await house.client.get(f"{PATH}/{name}")).status == 404
        assert house.metric("scheduler_active") == 0


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_is_stored_with_its_history_though_that_is_deleted_meanwhile(stream):
    hold, script = slow()
    async with opened() as store, house_of(script, store=store) as house:
        first = (await house.client.post(PATH, {"input": "hi"})).json()
        asked = house.client.open(
            "POST", PATH, {"input": "slow", "previous_response_id": first["id"], "stream": stream}
        )
        await settle(100)
        await house.client.open("DELETE", f"{PATH}/{first['id']}").end()
        hold.event.set()
        told = (await asked.end()).data[-2]["response"] if stream else (await asked.end()).json()
        assert (await house.client.get(f"{PATH}/{told['id']}")).json() == told
        listed = (await house.client.get(f"{PATH}/{told['id']}/input_items?order=asc")).json()["data"]
        assert [item["content"][0]["text"] for item in listed][::2] == ["hi", "slow"]
        third = (await house.client.post(PATH, {"input": "hi", "previous_response_id": told["id"]})).json()
        assert third["usage"]["input_tokens"] > told["usage"]["input_tokens"]


@pytest.mark.parametrize("after", [0, 3, 1000])
async def test_a_stream_resumed_anywhere_ends(after):
    """Of what has ended as of what goes on: all with a greater number, and the end."""
    hold, script = slow()
    async with house_of(script) as house:
        name, stream = await begun(house)
        path = f"{PATH}/{name}?stream=true&starting_after={after}"
        live = house.client.open("GET", path, ordered=after < 1000)
        await settle()
        hold.event.set()
        told = (await stream.end()).data
        rest = [event for event in told[:-1] if event["sequence_number"] > after]
        assert (await live.end()).data == [*rest, "[DONE]"]
        assert (await house.client.get(path, ordered=after < 1000)).data == [*rest, "[DONE]"]


@pytest.mark.parametrize("number", ["-1", "1.5", "x", "9" * 19, "0" * 30 + "1", "0" * 5000, "٣"])
async def test_a_number_that_is_none_is_refused(number):
    async with house_of() as house:
        name = (await house.client.post(PATH, {"input": "hi"})).json()["id"]
        reply = await house.client.get(f"{PATH}/{name}?stream=true&starting_after={number}")
        assert (reply.status, reply.json()["error"]["param"]) == (400, "starting_after")


async def test_an_item_stands_for_itself_once():
    """As OpenAI's server has it; a body of references could stand for a text of any length."""
    async with house_of() as house:
        told = (await house.client.post(PATH, {"input": "hi"})).json()
        named = {"type": "item_reference", "id": told["output"][0]["id"]}
        asked = {"role": "user", "content": "and?"}
        assert (await house.client.post(PATH, {"input": [named, asked]})).status == 200
        reply = await house.client.post(PATH, {"input": [named, named, asked]})
        assert (reply.status, reply.json()["error"]["param"]) == (400, "input")


async def test_a_conversation_that_is_deleted_while_it_is_changed_does_not_come_back():
    async with house_of(store=FailingStore()) as house:
        path = f"/v1/conversations/{(await house.client.post('/v1/conversations', {})).json()['id']}"
        house.store.delay("conversation", 5)
        change = house.client.open("POST", path, {"metadata": {"a": "b"}})
        await settle()
        await house.client.open("DELETE", path).end()
        await change.end()
        assert (await house.client.get(path)).status == 404
