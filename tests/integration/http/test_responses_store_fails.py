"""A store that fails or is slow costs what it would have kept, and never the answer."""

from __future__ import annotations

import asyncio
import gc

import pytest

from dragoman.engines.simulated import Begin, Fail, Hold, say, tapes
from dragoman.gateway.responses.answer import PATIENCE_SECONDS
from dragoman.gateway.responses.runs import HEARTBEAT_SECONDS
from support.failing_store import FailingStore
from support.hand_engine import HandEngine
from support.house import House, house_of
from support.virtual_time import settle

PATH = "/v1/responses"
ASK = {"input": "slow", "background": True}


@pytest.fixture
async def complaints():
    """What the loop was told of tasks whose error nobody looked at."""
    heard: list[dict] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.append(context))
    return heard


def slow():
    hold = Hold()
    return hold, tapes({"slow": [Begin(), *say("one"), hold, *say(" two")]})


async def ended(house: House) -> None:
    async with asyncio.timeout(600):
        while house.metric("scheduler_active"):  # noqa: ASYNC110 - the engine tells nobody else
            await asyncio.sleep(0.1)
    await settle(100)
    gc.collect()  # a task is asked for its error until it is forgotten


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_that_cannot_be_stored_is_told_all_the_same(stream):
    async with house_of(tapes({"hi": say("hello")}), store=FailingStore()) as house:
        house.store.fail("save_response")
        reply = await house.client.post(PATH, {"input": "hi", "stream": stream})
        response = reply.data[-2]["response"] if stream else reply.json()
        assert (reply.status, response["status"]) == (200, "completed")
        assert response["output"][0]["content"][0]["text"] == "hello"


async def test_a_conversation_gets_its_turn_even_if_the_response_cannot_be_stored():
    async with house_of(store=FailingStore()) as house:
        name = (await house.client.post("/v1/conversations", {})).json()["id"]
        house.store.fail("save_response")
        assert (await house.client.post(PATH, {"input": "hi", "conversation": name})).status == 200
        assert len(await house.store.all_items("", name)) == 2


async def test_a_stream_is_not_silent_while_its_answer_is_stored():
    """The promise is a byte at least every 10 s; a comment has no number, so it may come before the last event."""
    async with house_of(tapes({"hi": say("hello")}), store=FailingStore()) as house:
        house.store.delay("save_response", 9.5)
        reply = await house.client.post(PATH, {"input": "hi", "stream": True})
        last = next(place for place, write in enumerate(reply.writes) if b"event: response.completed" in write)
        assert reply.writes[last - 1][:1] == b":"


@pytest.mark.parametrize("stream", [False, True])
async def test_nobody_waits_long_for_a_store_that_hangs_and_all_is_stored_in_the_end(stream):
    async with house_of(store=FailingStore()) as house:
        name = (await house.client.post("/v1/conversations", {})).json()["id"]
        house.store.delay("save_response", 3000)
        began = asyncio.get_running_loop().time()
        assert (await house.client.post(PATH, {"input": "hi", "stream": stream, "conversation": name})).status == 200
        assert asyncio.get_running_loop().time() - began <= PATIENCE_SECONDS + 1
        await asyncio.sleep(3000)
        assert len(await house.store.all_items("", name)) == 2


async def test_a_background_response_that_cannot_be_stored_is_refused_and_not_made():
    house = House(engine=HandEngine(), store=FailingStore())
    for _ in range(2):
        house.client.open("POST", PATH, {"input": "hi"})
        (await house.engine.next_stream()).accept()
    house.store.fail("save_response")
    assert (await house.client.post(PATH, ASK)).status == 500
    await settle()
    assert house.metric("scheduler_queued") == 0


@pytest.mark.parametrize("fails", [False, True])
async def test_a_background_response_is_made_though_the_store_fails_meanwhile(fails, complaints):
    hold = Hold()
    last = [Fail("ENGINE", "broken")] if fails else say(" two")
    async with house_of(tapes({"slow": [Begin(), *say("one"), hold, *last]}), store=FailingStore()) as house:
        store = house.store
        stream = house.client.open("POST", PATH, {**ASK, "stream": True})
        await stream.until(writes=2)
        store.fail("save_response")
        store.fail("append_events")
        hold.event.set()
        assert (await stream.end()).data[-2]["type"] == ("response.failed" if fails else "response.completed")
        await ended(house)
        assert complaints == []


async def test_a_cancelled_one_is_over_though_the_store_fails(complaints):
    _, script = slow()
    async with house_of(script, store=FailingStore()) as house:
        stream = house.client.open("POST", PATH, {**ASK, "stream": True})
        await stream.until(writes=4)
        house.store.fail("save_response")
        await house.client.post(f"{PATH}/{stream.data[0]['response']['id']}/cancel")
        assert (await stream.end()).data[-2]["response"]["status"] == "cancelled"
        await ended(house)
        assert complaints == []


async def test_the_signs_of_life_go_on_after_one_that_could_not_be_stored():
    """Or another server on this database would tell that the response has failed."""
    hold, script = slow()
    async with house_of(script, store=FailingStore()) as house:
        name = (await house.client.post(PATH, ASK)).json()["id"]
        await settle(200)
        house.store.fail("save_response", times=1)
        await asyncio.sleep(HEARTBEAT_SECONDS + 1)
        house.store.responses.pop(("", name))
        await asyncio.sleep(HEARTBEAT_SECONDS)
        assert ("", name) in house.store.responses
        hold.event.set()
        await ended(house)


async def test_a_server_that_stops_does_not_wait_long_for_a_store_that_hangs():
    _, script = slow()
    async with house_of(script, store=FailingStore()) as house:
        await house.client.post(PATH, ASK)
        await settle(100)
        house.store.delay("save_response", 3000)
        house.store.delay("keep_reply", 3000)
        await house.client.open("POST", PATH, {"input": "hi"}, headers={"idempotency-key": "k"}).end()
        began = asyncio.get_running_loop().time()
        await house.shut_down()
        assert asyncio.get_running_loop().time() - began <= PATIENCE_SECONDS + 1
        assert house.metric("scheduler_active") == 0
