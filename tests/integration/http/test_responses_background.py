"""Responses that are made while nobody listens: polled, followed, resumed, cancelled, and given up by a server that ended."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.engines.simulated import Begin, Fail, Hold, say, tapes
from dragoman.gateway.responses.runs import HEARTBEAT_SECONDS, STALE_SECONDS
from dragoman.store.base import StoredResponse
from support.hand_engine import HandEngine
from support.house import House, house_of
from support.virtual_time import settle

ASK = {"input": "slow", "background": True}


def held():
    """An engine that says one word, waits, and says another."""
    hold = Hold()
    return hold, tapes({"slow": [Begin(), *say("one"), hold, *say(" two")]})


async def poll(house: House, name: str) -> dict:
    return (await house.client.get(f"/v1/responses/{name}")).json()


async def until(house: House, name: str, *statuses: str) -> dict:
    async with asyncio.timeout(60):
        while (response := await poll(house, name))["status"] not in statuses:  # noqa: ASYNC110 - a client polls, too
            await asyncio.sleep(0.1)
    return response


@pytest.mark.feature("background", "responses")
async def test_it_is_answered_at_once_and_found_whole_later():
    hold, script = held()
    async with house_of(script) as house:
        reply = await house.client.post("/v1/responses", ASK)
        assert (reply.status, reply.json()["status"]) == (200, "queued")
        assert (await until(house, reply.json()["id"], "in_progress"))["background"] is True
        hold.event.set()
        whole = await until(house, reply.json()["id"], "completed")
        assert whole["output"][0]["content"][0]["text"] == "one two"


async def test_a_wrong_request_is_refused_at_once():
    async with house_of() as house:
        reply = await house.client.post("/v1/responses", {**ASK, "temperature": 9})
        assert (reply.status, reply.json()["error"]["param"]) == (400, "temperature")
        reply = await house.client.post("/v1/responses", {**ASK, "store": False})
        assert (reply.status, reply.json()["error"]["param"]) == (400, "background")
        assert house.store.responses == {}


async def test_a_full_queue_is_said_at_once():
    house = House(engine=HandEngine(), max_queue=0)
    for _ in range(2):
        house.client.open("POST", "/v1/responses", {"input": "hi"})
        (await house.engine.next_stream()).accept()
    reply = await house.client.post("/v1/responses", ASK)
    assert (reply.status, reply.json()["error"]["code"]) == (429, "queue_full")
    assert reply.headers["retry-after"] == "1"


@pytest.mark.feature("background", "responses")
async def test_a_stream_can_be_left_and_resumed_where_it_was_left():
    hold, script = held()
    async with house_of(script) as house:
        left = house.client.open("POST", "/v1/responses", {**ASK, "stream": True})
        await left.until(writes=4)
        left.hang_up()
        await left.end()
        events = left.data
        name = events[0]["response"]["id"]
        resumed = house.client.open(
            "GET", f"/v1/responses/{name}?stream=true&starting_after={events[-1]['sequence_number']}"
        )
        await settle()
        hold.event.set()
        events += (await resumed.end()).data
        assert events.pop() == "[DONE]"
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        assert [event["type"] for event in events[:3]] == [
            "response.created",
            "response.queued",
            "response.in_progress",
        ]
        assert events[-1]["type"] == "response.completed"
        assert "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta") == "one two"
        # When all is over, the events are still there.
        again = await house.client.get(f"/v1/responses/{name}?stream=true")
        assert again.data == [*events, "[DONE]"]


async def test_only_a_stream_can_be_followed():
    async with house_of() as house:
        told = (await house.client.post("/v1/responses", {"input": "hi"})).json()
        reply = await house.client.get(f"/v1/responses/{told['id']}?stream=true")
        assert (reply.status, reply.json()["error"]["param"]) == (400, "stream")


@pytest.mark.feature("background", "responses")
async def test_a_cancelled_one_says_so_and_lets_go_of_the_engine():
    _, script = held()
    async with house_of(script) as house:
        follower = house.client.open("POST", "/v1/responses", {**ASK, "stream": True})
        await follower.until(writes=4)
        name = follower.data[0]["response"]["id"]
        reply = await house.client.post(f"/v1/responses/{name}/cancel")
        assert (reply.status, reply.json()["status"]) == (200, "cancelled")
        assert (await follower.end()).data[-2]["response"]["status"] == "cancelled"
        await settle(100)
        assert house.metric("scheduler_active") == 0
        assert (await house.client.post(f"/v1/responses/{name}/cancel")).json()["status"] == "cancelled"


async def test_what_somebody_waits_for_is_not_cancelled_by_id():
    async with house_of() as house:
        told = (await house.client.post("/v1/responses", {"input": "hi"})).json()
        assert (await house.client.post(f"/v1/responses/{told['id']}/cancel")).status == 400


async def test_one_that_fails_keeps_its_error():
    async with house_of(tapes({"slow": [*say("a"), Fail("ENGINE", "broken")]})) as house:
        name = (await house.client.post("/v1/responses", ASK)).json()["id"]
        failed = await until(house, name, "failed")
        assert failed["error"]["code"] == "server_error"
        assert "broken" in failed["error"]["message"]


async def test_one_cannot_be_gone_on_from_before_it_has_ended():
    hold, script = held()
    async with house_of(script) as house:
        name = (await house.client.post("/v1/responses", ASK)).json()["id"]
        reply = await house.client.post("/v1/responses", {"input": "hi", "previous_response_id": name})
        assert (reply.status, reply.json()["error"]["param"]) == (400, "previous_response_id")
        hold.event.set()
        await until(house, name, "completed")
        assert (await house.client.post("/v1/responses", {"input": "hi", "previous_response_id": name})).status == 200


async def test_one_whose_server_ended_has_failed():
    """A server that works on a response saves it now and then; from one that does not, nothing will come."""
    async with house_of() as house:
        body = {"id": "resp_old", "object": "response", "status": "in_progress", "error": None, "output": []}
        await house.store.save_response("", StoredResponse(id="resp_old", created_at=1, body=body, background=True))
        assert (await poll(house, "resp_old"))["status"] == "in_progress"
        house.now += STALE_SECONDS + 1
        assert (await poll(house, "resp_old"))["error"]["code"] == "server_error"
        assert house.store.responses["", "resp_old"].body["status"] == "failed"


async def test_one_whose_server_ended_can_be_gone_on_from():
    async with house_of() as house:
        body = {"id": "resp_old", "object": "response", "status": "queued", "error": None, "output": []}
        old = StoredResponse(id="resp_old", created_at=1, body=body, background=True)
        await house.store.save_response("", old)
        asked = {"input": "hi", "previous_response_id": "resp_old"}
        assert (await house.client.post("/v1/responses", asked)).status == 400
        house.now += STALE_SECONDS + 1
        assert (await house.client.post("/v1/responses", asked)).status == 200


async def test_a_long_one_is_saved_now_and_then():
    hold, script = held()
    async with house_of(script) as house:
        name = (await house.client.post("/v1/responses", ASK)).json()["id"]
        await until(house, name, "in_progress")
        house.now += 100
        await asyncio.sleep(HEARTBEAT_SECONDS + 1)
        assert house.store.responses["", name].updated_at == int(house.now)
        hold.event.set()
        await until(house, name, "completed")


@pytest.mark.feature("keepalive", "responses")
async def test_silence_is_filled_with_events_of_the_running_sequence():
    """peers.md 100: numbers without a hole, for everybody who listens."""
    hold, script = held()
    async with house_of(script) as house:
        stream = house.client.open("POST", "/v1/responses", {**ASK, "stream": True})
        await stream.until(writes=5)
        await asyncio.sleep(30)
        hold.event.set()
        events = (await stream.end()).data[:-1]
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        assert len([event for event in events if event["type"] == "response.in_progress"]) >= 3


@pytest.mark.parametrize("stream", [False, True])
async def test_a_server_that_stops_lets_none_unfinished(stream):
    _, script = held()
    async with house_of(script) as house:
        reply = house.client.open("POST", "/v1/responses", {**ASK, "stream": stream})
        await reply.until(writes=1)
        await settle(100)
        await house.shut_down()
        (kept,) = house.store.responses.values()
        assert kept.body["status"] == "failed"
        assert "stopped" in kept.body["error"]["message"]
