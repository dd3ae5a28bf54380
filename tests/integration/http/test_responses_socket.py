"""Responses over a WebSocket (wire.md 0, 6): one answer at a time, and turns that live with the connection."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.engines.simulated import Begin, Fail, Hold, say, tapes
from dragoman.gateway.options import GatewayOptions
from support.house import ORIGIN, House, house_of
from support.socket import Socket
from support.virtual_time import settle

PATH = "/v1/responses"


def create(input: object, **fields: object) -> dict[str, object]:
    return {"type": "response.create", "store": False, "input": input, **fields}


def text_of(event: dict) -> str:
    return event["response"]["output"][0]["content"][0]["text"]


@pytest.mark.feature("websocket", "responses")
async def test_a_message_is_answered_by_the_events_of_a_stream():
    async with house_of(tapes({"hi": say("hello")})) as house:
        socket = Socket(house.app, PATH)
        events = await socket.turn(create("hi"))
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        assert events[0]["type"] == "response.created"
        assert (events[-1]["type"], text_of(events[-1])) == ("response.completed", "hello")
        stream = await house.client.post(PATH, {"input": "hi", "stream": True, "store": False})
        assert [event["type"] for event in events] == [event["type"] for event in stream.data[:-1]]
        await socket.leave()


async def test_a_turn_that_is_not_stored_can_be_gone_on_from_on_its_own_connection_alone():
    async with house_of() as house:
        socket, other = Socket(house.app, PATH), Socket(house.app, PATH)
        first = (await socket.turn(create("hi")))[-1]["response"]
        second = (await socket.turn(create("and", previous_response_id=first["id"])))[-1]["response"]
        assert second["usage"]["input_tokens"] > first["usage"]["input_tokens"]
        assert house.store.responses == {}
        (refused,) = await other.turn(create("and", previous_response_id=first["id"]))
        assert (refused["status"], refused["error"]["code"]) == (400, "previous_response_not_found")
        await socket.leave()
        await other.leave()


async def test_a_prompt_can_be_sent_ahead():
    async with house_of() as house:
        socket = Socket(house.app, PATH)
        ahead = (await socket.turn(create("hi", generate=False)))[-1]
        assert (ahead["type"], ahead["response"]["output"]) == ("response.completed", [])
        assert ahead["response"]["usage"]["output_tokens"] == 0
        after = (await socket.turn(create("and", previous_response_id=ahead["response"]["id"], stream=True)))[-1]
        assert after["response"]["usage"]["input_tokens"] > ahead["response"]["usage"]["input_tokens"]
        await socket.leave()


async def test_a_failed_turn_cannot_be_gone_on_from_again():
    async with house_of(tapes({"fail": [*say("a"), Fail("ENGINE", "broken")]})) as house:
        socket = Socket(house.app, PATH)
        first = (await socket.turn(create("hi")))[-1]["response"]
        orphan = [{"type": "function_call_output", "call_id": "call_none", "output": "1"}]
        (refused,) = await socket.turn(create(orphan, previous_response_id=first["id"]))
        assert (refused["type"], refused["status"]) == ("error", 400)
        (stale,) = await socket.turn(create("again", previous_response_id=first["id"]))
        assert stale["error"]["code"] == "previous_response_not_found"
        second = (await socket.turn(create("hi")))[-1]["response"]
        broken = await socket.turn(create("fail", previous_response_id=second["id"]))
        assert [event["type"] for event in broken[-2:]] == ["error", "response.failed"]
        (stale,) = await socket.turn(create("again", previous_response_id=second["id"]))
        assert stale["error"]["code"] == "previous_response_not_found"
        assert (await socket.turn(create("hi")))[-1]["type"] == "response.completed"
        await socket.leave()


async def test_messages_are_answered_in_their_order():
    async with house_of(tapes({"one": say("1"), "two": say("2")})) as house:
        socket = Socket(house.app, PATH)
        socket.say(create("one"))
        socket.say(create("two"))
        texts = []
        while len(texts) < 2:
            event = await socket.hear()
            if event["type"] == "response.completed":
                texts.append(text_of(event))
        assert texts == ["1", "2"]
        await socket.leave()


async def test_a_client_that_leaves_ends_its_answer():
    async with house_of(tapes({"slow": [Begin(), *say("a"), Hold(), *say("b")]})) as house:
        socket = Socket(house.app, PATH)
        socket.say(create("slow"))
        while (await socket.hear())["type"] != "response.output_text.delta":
            pass
        await socket.leave()
        await settle(200)
        assert house.metric("scheduler_active") == 0
        assert house.metric("cancellations_total", phase="decode") == 1


@pytest.mark.parametrize(
    "message, code, param",
    [
        ("{", "invalid_json", None),
        ("[]", "invalid_json", None),
        ({"type": "response.cancel"}, "invalid_value", "type"),
        ({"type": "response.create", "input": 3}, "invalid_value", "input"),
        (create("hi", store=True, background=True), "unsupported_value", "background"),
    ],
)
async def test_a_bad_message_is_an_error_and_the_connection_goes_on(message, code, param):
    async with house_of() as house:
        socket = Socket(house.app, PATH)
        (refused,) = await socket.turn(message)
        assert (refused["type"], refused["status"]) == ("error", 400)
        assert (refused["error"]["code"], refused["error"]["param"]) == (code, param)
        assert (await socket.turn(create("hi")))[-1]["type"] == "response.completed"
        await socket.leave()


async def test_a_stored_turn_is_found_over_http():
    async with house_of() as house:
        socket = Socket(house.app, PATH)
        told = (await socket.turn(create("hi", store=True)))[-1]["response"]
        assert (await house.client.get(f"{PATH}/{told['id']}")).json() == told
        await socket.leave()


async def test_silence_is_filled_with_events_of_the_running_sequence():
    hold = Hold()
    async with house_of(tapes({"slow": [Begin(), *say("a"), hold, *say("b")]})) as house:
        socket = Socket(house.app, PATH)
        socket.say(create("slow"))
        await asyncio.sleep(30)
        hold.event.set()
        events = [await socket.hear()]
        while events[-1]["type"] != "response.completed":
            events.append(await socket.hear())
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        assert len([event for event in events if event["type"] == "response.in_progress"]) >= 3
        await socket.leave()


async def test_after_an_hour_the_client_has_to_come_again():
    socket = Socket(House().app, PATH)
    await asyncio.sleep(3601)
    assert (await socket.hear())["error"]["code"] == "websocket_connection_limit_reached"
    await socket.task
    assert socket.closed == 1000


@pytest.mark.seeds("S6", "S7", "S8")
@pytest.mark.parametrize(
    "headers, denied",
    [
        ({}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": "Bearer mine", "origin": "https://evil.example"}, 403),
        ({"authorization": "Bearer mine", "host": "evil.example"}, 403),
        ({"authorization": "Bearer mine", "origin": ORIGIN}, None),
        ({"authorization": "Bearer mine"}, None),
    ],
)
async def test_a_socket_opens_to_whom_the_routes_open(headers, denied):
    house = House(options=GatewayOptions(keys=("mine",), origins=(ORIGIN,)))
    socket = Socket(house.app, PATH, headers=headers)
    await settle()
    assert socket.denied == denied
    assert (socket.accepted is None) is (denied is not None)
    if denied is None:
        await socket.leave()
