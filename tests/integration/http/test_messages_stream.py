"""What a client of Messages hears over HTTP, from the commit to the end; who makes events is tested by itself."""

from __future__ import annotations

import asyncio

import pytest
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import RawMessageStreamEvent
from pydantic import TypeAdapter

from dragoman.core.errors import Code, EngineFailed
from dragoman.engines.failures import request_failure
from dragoman.protocol.frames import Error
from support.event_order.sse import read
from support.house import House

ASK = {"model": "small", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}], "stop_sequences": ["END"]}
STREAM = {**ASK, "stream": True}


def message_of(body: bytes) -> dict:
    """What Anthropic's SDK makes of a stream."""
    snapshot = None
    for event in read(body)[0]:
        told = TypeAdapter(RawMessageStreamEvent).validate_python(event.value)
        snapshot = accumulate_event(event=told, current_snapshot=snapshot, json_bufs={})
    return snapshot.to_dict()


@pytest.mark.seeds("S114", "S116", "S118")
async def test_nothing_is_sent_before_the_engine_accepts_and_then_every_event_in_one_write() -> None:
    house = House()
    exchange = house.client.open("POST", "/v1/messages?beta=true", STREAM)
    stream = await house.engine.next_stream()
    await asyncio.sleep(100)  # of virtual time: longer than any keep-alive
    assert (exchange.started, exchange.writes) == (None, [])
    stream.accept(prompt_tokens=7, cached_tokens=4)
    stream.say("Hel", "lo")
    stream.done(emitted=2)
    await exchange.end()
    assert all(write.startswith(b"event: ") and write.count(b"\n\n") == 1 for write in exchange.writes)
    message = message_of(exchange.body)
    assert (exchange.status, message["stop_reason"]) == (200, "end_turn")
    assert message["content"] == [{"type": "text", "text": "Hello"}]
    assert message["usage"].items() >= {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 2}.items()


@pytest.mark.seeds("S158")
async def test_the_buffered_message_is_what_the_stream_adds_up_to() -> None:
    whole = []
    for body in (STREAM, ASK):
        house = House()
        exchange = house.client.open("POST", "/v1/messages", body)
        stream = await house.engine.next_stream()
        stream.accept()
        stream.say("Hello", "END", "never")
        stream.done(emitted=3)
        await exchange.end()
        whole.append(message_of(exchange.body) if body is STREAM else exchange.json())
    assert whole[0] == whole[1]
    assert (whole[1]["stop_reason"], whole[1]["stop_sequence"]) == ("stop_sequence", "END")


@pytest.mark.seeds("S116", "S117")
@pytest.mark.parametrize("body", [ASK, STREAM])
async def test_a_refusal_before_the_commit_is_a_400_in_anthropics_envelope(body) -> None:
    """peers.md 108. Nothing of an event stream is sent."""
    house = House()
    exchange = house.client.open("POST", "/v1/messages", body)
    stream = await house.engine.next_stream()
    stream.fail(request_failure(Error(1, "CONTEXT_EXCEEDED", "600 512"), ids=False))
    reply = await exchange.end()
    assert (reply.status, reply.headers["content-type"]) == (400, "application/json")
    assert reply.json() == {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "prompt is too long: 600 tokens > 512 maximum"},
        "request_id": "req_4567",
    }
    assert reply.headers["request-id"] == "req_4567"


@pytest.mark.seeds("S155")
async def test_an_engine_that_dies_ends_a_stream_with_an_error_event() -> None:
    house = House()
    exchange = house.client.open("POST", "/v1/messages", STREAM)
    stream = await house.engine.next_stream()
    stream.accept()
    stream.say("Hel")
    stream.fail(EngineFailed("the engine was killed", code=Code.ENGINE_CRASHED))
    await exchange.end()
    last = read(exchange.body)[0][-1]
    assert last.name == "error"
    assert last.value == {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "the engine was killed"},
        "request_id": "req_4567",
    }


@pytest.mark.feature("keepalive", "messages")
@pytest.mark.seeds("S114")
async def test_a_long_prefill_is_filled_with_pings() -> None:
    house = House()
    exchange = house.client.open("POST", "/v1/messages", STREAM)
    stream = await house.engine.next_stream()
    stream.accept()
    await exchange.until(writes=5)
    stream.done(emitted=0)
    await exchange.end()
    names = [event.name for event in read(exchange.body)[0]]
    assert names == ["message_start", "ping", "ping", "ping", "ping", "message_delta", "message_stop"]
