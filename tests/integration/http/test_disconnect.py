"""Clients that hang up, in every phase, proven by counters (seeds.md 4.4, 4; peers' bug list, 111 and 112)."""

from __future__ import annotations

import pytest

from support.hand_engine import HandEngine, info
from support.house import CHAT, House
from support.virtual_time import settle

MODES = pytest.mark.parametrize("streaming", [True, False])


def cancellations(house: House) -> dict[str, float]:
    return {phase: house.metric("cancellations_total", phase=phase) for phase in ("queue", "prefill", "decode")}


@pytest.mark.seeds("S132")
@MODES
async def test_in_the_queue(streaming) -> None:
    house = House(engine=HandEngine(engine_info=info(slots=1)))
    body = {**CHAT, "stream": streaming}
    house.client.open("POST", "/v1/chat/completions", CHAT)
    holder = await house.engine.next_stream()
    exchange = house.client.open("POST", "/v1/chat/completions", body)
    await settle()
    assert house.metric("scheduler_queued") == 1
    exchange.hang_up()
    await exchange.end()
    assert cancellations(house) == {"queue": 1, "prefill": 0, "decode": 0}
    assert house.metric("scheduler_queued") == 0
    assert house.metric("scheduler_admitted_total") == 1
    assert house.metric("scheduler_queue_wait_seconds_count") == 1
    assert exchange.started is None
    holder.accept()
    holder.done(emitted=0)
    await settle()
    assert len(house.engine.submitted) == 1


@MODES
@pytest.mark.parametrize("accepted", [True, False])
async def test_in_prefill(streaming, accepted) -> None:
    house = House(engine=HandEngine(holds=True))
    exchange = house.client.open("POST", "/v1/chat/completions", {**CHAT, "stream": streaming})
    stream = await house.engine.next_stream()
    if accepted:
        stream.accept()
    await settle()
    exchange.hang_up()
    await settle()
    assert stream.cancelled
    assert cancellations(house) == {"queue": 0, "prefill": 1, "decode": 0}
    assert house.metric("scheduler_active") == 1, "the slot is free before the engine's last frame"
    stream.let_go()
    await exchange.end()
    await settle()
    assert house.metric("scheduler_active") == 0
    assert house.metric("scheduler_failed_total") == 0


@MODES
async def test_in_decode(streaming) -> None:
    house = House()
    exchange = house.client.open("POST", "/v1/chat/completions", {**CHAT, "stream": streaming})
    stream = await house.engine.next_stream()
    stream.accept()
    stream.say("one", "two")
    await settle()
    exchange.hang_up()
    await exchange.end()
    assert stream.cancelled
    assert cancellations(house) == {"queue": 0, "prefill": 0, "decode": 1}
    assert house.metric("scheduler_active") == 0
    assert house.metric("requests_total", surface="chat", model="small", outcome="cancelled") == 1
    assert house.metric("scheduler_completed_total") == 0
    assert house.metric("completion_tokens_total", surface="chat", model="small") == 2


async def test_after_the_last_event_it_is_no_cancellation() -> None:
    house = House()
    exchange = house.client.open("POST", "/v1/chat/completions", {**CHAT, "stream": True})
    stream = await house.engine.next_stream()
    stream.accept()
    stream.say("x")
    stream.done(emitted=1)
    while b"[DONE]" not in exchange.body:
        await exchange.until(len(exchange.writes) + 1)
    exchange.hang_up()
    await exchange.end()
    assert cancellations(house) == {"queue": 0, "prefill": 0, "decode": 0}
    assert house.metric("scheduler_completed_total") == 1


async def test_after_a_stop_string_while_the_engine_winds_down_it_is_no_cancellation() -> None:
    house = House()
    exchange = house.client.open("POST", "/v1/chat/completions", {**CHAT, "stream": True, "stop": "."})
    stream = await house.engine.next_stream()
    stream.accept()
    stream.say("x", ".")
    while b"[DONE]" not in exchange.body:
        await exchange.until(len(exchange.writes) + 1)
    exchange.hang_up()
    await settle()
    assert stream.stopped
    assert not stream.cancelled
    stream.done(emitted=2)
    await exchange.end()
    assert cancellations(house) == {"queue": 0, "prefill": 0, "decode": 0}
    assert house.metric("scheduler_completed_total") == 1


async def test_while_the_body_is_still_coming() -> None:
    house = House()
    exchange = house.client.open("POST", "/v1/chat/completions", b'{"model":"small",', cut=True)
    await settle()
    exchange.hang_up()
    await exchange.end()
    assert exchange.started is None
    assert not house.engine.submitted


async def test_a_gone_client_does_not_disturb_its_neighbour() -> None:
    house = House()
    leaving = house.client.open("POST", "/v1/chat/completions", {**CHAT, "stream": True})
    first = await house.engine.next_stream()
    staying = house.client.open("POST", "/v1/chat/completions", {**CHAT, "stream": True})
    second = await house.engine.next_stream()
    first.accept()
    second.accept()
    await leaving.until(writes=1)
    leaving.hang_up()
    await leaving.end()
    second.say("y")
    second.done(emitted=1)
    assert (await staying.end()).data[-1] == "[DONE]"


async def test_a_server_that_is_killed_cancels_what_runs() -> None:
    house = House()
    exchange = house.client.open("POST", "/v1/chat/completions", {**CHAT, "stream": True})
    stream = await house.engine.next_stream()
    stream.accept()
    await exchange.until(writes=1)
    exchange.task.cancel()
    await settle()
    assert exchange.task.done()
    assert stream.cancelled
    assert house.metric("scheduler_active") == 0


@pytest.mark.seeds("S155")
@pytest.mark.parametrize(
    ("path", "body", "last"),
    [
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}]}, "server_error"),
        ("/v1/messages", {"messages": [{"role": "user", "content": "hi"}]}, "overloaded_error"),
        ("/v1/responses", {"input": "hi"}, "response.failed"),
    ],
)
async def test_a_stream_that_the_server_cuts_at_its_stop_says_so(path, body, last) -> None:
    house = House()
    exchange = house.client.open("POST", path, {**body, "stream": True})
    stream = await house.engine.next_stream()
    stream.accept()
    stream.say("Hel")
    await exchange.until(writes=2)
    exchange.task.cancel()  # what uvicorn does when the time for the drain is over
    await exchange.end()
    assert exchange.complete
    assert last.encode() in exchange.writes[-1] + exchange.writes[-2]
    assert b"stopped" in exchange.writes[-1] + exchange.writes[-2]
