"""Answers over HTTP: what is committed when, what each write holds, and that buffered is the fold of the stream."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from dragoman.core.errors import Code, EngineFailed, InvalidRequest
from support.asgi import Client
from support.hand_engine import HandEngine, info
from support.house import CHAT, House
from support.tag_dialect import TagDialect, TagParser
from support.virtual_time import settle

STREAM = {**CHAT, "stream": True, "stream_options": {"include_usage": True}}
RAW = {"model": "small", "prompt": "Once", "max_tokens": 5}


async def test_a_chat_is_answered_with_one_object() -> None:
    house = House()
    exchange = house.client.open("POST", "/v1/chat/completions", CHAT)
    stream = await house.engine.next_stream()
    stream.accept(prompt_tokens=7, cached_tokens=3)
    stream.say("Hel", "lo")
    stream.done(emitted=2)
    reply = await exchange.end()
    assert reply.status == 200
    body = reply.json()
    assert (body["id"], body["object"], body["created"]) == ("chatcmpl-0123", "chat.completion", 1_700_000_001)
    assert (body["model"], body["system_fingerprint"]) == ("small", "fp_hand")
    assert body["choices"][0]["message"]["content"] == "Hello"
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["usage"]["prompt_tokens"] == 7
    assert body["usage"]["completion_tokens"] == 2
    assert body["usage"]["prompt_tokens_details"] == {"cached_tokens": 3}


@pytest.mark.seeds("S12", "S116")
async def test_a_stream_has_no_byte_before_the_accept_and_one_event_a_write() -> None:
    house = House()
    exchange = house.client.open("POST", "/v1/chat/completions", STREAM)
    stream = await house.engine.next_stream()
    await asyncio.sleep(3600)
    assert exchange.started is None, "the 200 was committed before the engine accepted"
    stream.accept()
    await exchange.until(writes=1)
    assert exchange.status == 200
    assert exchange.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert exchange.headers["cache-control"] == "no-cache, no-transform"
    assert exchange.headers["x-accel-buffering"] == "no"
    assert exchange.headers["x-request-id"] == "req_4567"
    assert exchange.headers["x-dragoman-queue-wait-ms"] == "0"
    stream.say("Hel")
    await exchange.until(writes=2)
    stream.say("lo")
    await exchange.until(writes=3)
    stream.done(emitted=2)
    await exchange.end()
    assert exchange.complete
    assert all(write.count(b"\n\n") == 1 and write.endswith(b"\n\n") for write in exchange.writes)
    role, first, second, last, usage, done = exchange.data
    assert role["choices"][0]["delta"]["role"] == "assistant"
    assert [chunk["choices"][0]["delta"]["content"] for chunk in (first, second)] == ["Hel", "lo"]
    assert last["choices"][0]["finish_reason"] == "stop"
    assert usage["usage"]["total_tokens"] == 9
    assert done == "[DONE]"


async def test_a_completion_is_answered_with_its_own_object() -> None:
    house = House()
    exchange = house.client.open("POST", "/v1/completions", RAW)
    stream = await house.engine.next_stream()
    assert stream.request.max_tokens == 5
    stream.accept()
    stream.say(" upon")
    stream.done(emitted=1, length_limited=True)
    body = (await exchange.end()).json()
    assert body["object"] == "text_completion"
    assert body["choices"][0]["text"] == " upon"
    assert body["choices"][0]["finish_reason"] == "length"


async def test_without_stream_the_accept_header_changes_nothing() -> None:
    """Peers' bug list, 27."""
    house = House()
    exchange = house.client.open("POST", "/v1/chat/completions", CHAT, headers={"accept": "text/event-stream"})
    stream = await house.engine.next_stream()
    stream.accept()
    stream.done(emitted=0)
    assert (await exchange.end()).headers["content-type"] == "application/json"


@pytest.mark.seeds("S116", "S156")
@pytest.mark.parametrize("streaming", [True, False])
async def test_a_refusal_before_the_commit_is_a_plain_error(streaming) -> None:
    house = House()
    exchange = house.client.open("POST", "/v1/chat/completions", {**CHAT, "stream": streaming})
    stream = await house.engine.next_stream()
    message = "This model's maximum context length is 512 tokens, the prompt has 600."
    stream.fail(InvalidRequest(message, code=Code.CONTEXT_LENGTH_EXCEEDED, feature="prompt"))
    reply = await exchange.end()
    assert reply.status == 400
    assert reply.headers["content-type"] == "application/json"
    assert reply.json() == {
        "error": {
            "message": message,
            "type": "invalid_request_error",
            "param": "messages",
            "code": "context_length_exceeded",
        }
    }


@pytest.mark.seeds("S155")
async def test_a_failure_after_the_commit_is_an_error_event_and_no_done() -> None:
    house = House()
    exchange = house.client.open("POST", "/v1/chat/completions", STREAM)
    stream = await house.engine.next_stream()
    stream.accept()
    stream.say("Hel")
    stream.fail(EngineFailed("the engine was killed", code=Code.ENGINE_CRASHED))
    await exchange.end()
    assert exchange.complete
    assert exchange.status == 200
    assert exchange.data[1]["choices"][0]["delta"]["content"] == "Hel"
    assert exchange.data[-1]["error"]["code"] == "engine_crashed"
    assert b"[DONE]" not in exchange.body
    assert house.metric("scheduler_failed_total") == 1


async def test_a_failure_of_a_buffered_answer_is_a_server_error() -> None:
    house = House()
    exchange = house.client.open("POST", "/v1/chat/completions", CHAT)
    stream = await house.engine.next_stream()
    stream.accept()
    stream.say("Hel")
    stream.fail(EngineFailed("the engine was killed", code=Code.ENGINE_CRASHED))
    reply = await exchange.end()
    assert reply.status == 503
    assert reply.json()["error"]["code"] == "engine_crashed"


async def test_a_bug_is_answered_with_a_500_and_logged(caplog) -> None:
    house = House()

    def broken(*_):
        raise ZeroDivisionError

    house.engine.submit = broken
    reply = await house.client.post("/v1/chat/completions", CHAT)
    assert reply.status == 500
    assert reply.json()["error"]["code"] == "internal_error"
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("n", [1, 3])
async def test_a_bug_before_the_engine_is_asked_frees_the_slot(n: int, caplog) -> None:
    class Unreadable(TagDialect):
        def parser(self, conversation, prompt):
            raise ZeroDivisionError

    house = House(dialect=Unreadable())
    for _ in range(house.engine.info.slots + 1):
        assert (await house.client.post("/v1/chat/completions", {**CHAT, "n": n})).status == 500
    assert house.metric("scheduler_active") == 0
    assert "ZeroDivisionError" in caplog.text


class BrokenDialect(TagDialect):
    def parser(self, conversation, prompt):
        class Parser(TagParser):
            def feed(self, text: str, *, special: bool) -> str:
                raise ZeroDivisionError

        return Parser()


@pytest.mark.seeds("S155")
async def test_a_bug_after_the_commit_ends_the_stream_natively_and_frees_the_slot(caplog) -> None:
    house = House(dialect=BrokenDialect())
    exchange = house.client.open("POST", "/v1/chat/completions", STREAM)
    stream = await house.engine.next_stream()
    stream.accept()
    stream.say("x")
    await exchange.end()
    assert exchange.complete
    assert exchange.data[-1]["error"]["code"] == "internal_error"
    assert "ZeroDivisionError" in caplog.text
    assert stream.cancelled
    assert house.metric("scheduler_failed_total") == 1
    assert house.metric("scheduler_active") == 0


async def test_silence_is_filled_at_most_every_ten_seconds() -> None:
    """Peers' bug list, 120: a minute of prefill."""
    house = House()
    exchange = house.client.open("POST", "/v1/chat/completions", STREAM)
    stream = await house.engine.next_stream()
    stream.accept()
    await exchange.until(writes=1)
    moments = [asyncio.get_running_loop().time()]
    for count in range(2, 8):
        await exchange.until(writes=count)
        moments.append(asyncio.get_running_loop().time())
    gaps = [after - before for before, after in itertools.pairwise(moments)]
    assert all(0 < gap <= 10 for gap in gaps), gaps
    assert all(write.startswith(b":") for write in exchange.writes[1:])
    stream.say("x")
    stream.done(emitted=1)
    await exchange.end()
    assert exchange.data[-1] == "[DONE]"


async def test_a_stream_that_talks_gets_no_keepalive() -> None:
    house = House()
    exchange = house.client.open("POST", "/v1/chat/completions", STREAM)
    stream = await house.engine.next_stream()
    stream.accept()
    for _ in range(20):
        await asyncio.sleep(5)
        stream.say("x")
    stream.done(emitted=20)
    await exchange.end()
    assert not any(write.startswith(b":") for write in exchange.writes)


async def test_the_wait_in_the_queue_is_told_in_a_header() -> None:
    house = House(engine=HandEngine(engine_info=info(slots=1)))
    first = house.client.open("POST", "/v1/chat/completions", CHAT)
    holder = await house.engine.next_stream()
    second = house.client.open("POST", "/v1/chat/completions", CHAT)
    await asyncio.sleep(1.5)
    holder.accept()
    holder.done(emitted=0)
    await first.end()
    waiter = await house.engine.next_stream()
    waiter.accept()
    waiter.done(emitted=0)
    assert (await second.end()).headers["x-dragoman-queue-wait-ms"] == "1500"
    assert house.metric("scheduler_queue_wait_seconds_sum") == 1.5


@pytest.mark.seeds("S12", "S128")
async def test_a_full_queue_is_a_429_with_retry_after() -> None:
    house = House(engine=HandEngine(engine_info=info(slots=1)), max_queue=0)
    house.client.open("POST", "/v1/chat/completions", STREAM)
    stream = await house.engine.next_stream()
    reply = await house.client.post("/v1/chat/completions", STREAM)
    assert (reply.status, reply.headers["retry-after"]) == (429, "1")
    assert reply.json()["error"]["type"] == "rate_limit_error"
    assert reply.json()["error"]["code"] == "queue_full"
    assert house.metric("scheduler_rejected_total") == 1
    stream.fail(EngineFailed("over", code=Code.ENGINE_ERROR))
    await settle()


@pytest.mark.seeds("S128")
async def test_a_wait_that_is_too_long_is_a_429() -> None:
    house = House(engine=HandEngine(engine_info=info(slots=1)), queue_timeout=60)
    house.client.open("POST", "/v1/chat/completions", CHAT)
    await house.engine.next_stream()
    reply = await house.client.post("/v1/chat/completions", CHAT)
    assert (reply.status, reply.json()["error"]["code"]) == (429, "queue_timeout")
    assert asyncio.get_running_loop().time() == pytest.approx(60)
    assert house.metric("scheduler_timed_out_total") == 1


async def test_ignored_fields_are_listed_in_a_header() -> None:
    house = House()
    exchange = house.client.open("POST", "/v1/chat/completions", {**CHAT, "user": "me", "store": True})
    stream = await house.engine.next_stream()
    stream.accept()
    stream.done(emitted=0)
    listed = (await exchange.end()).headers["x-dragoman-ignored"].split(", ")
    assert {"user", "store"} <= set(listed)


async def test_draining_answers_503_and_lets_streams_finish() -> None:
    house = House()
    exchange = house.client.open("POST", "/v1/chat/completions", STREAM)
    stream = await house.engine.next_stream()
    stream.accept()
    await exchange.until(writes=1)
    house.service.drain()
    reply = await house.client.post("/v1/chat/completions", CHAT)
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert reply.json()["error"]["code"] == "shutting_down"
    stream.say("x")
    stream.done(emitted=1)
    assert (await exchange.end()).data[-1] == "[DONE]"


async def test_two_servers_live_in_one_process() -> None:
    first, second = House(), House()
    exchange = first.client.open("POST", "/v1/chat/completions", CHAT)
    stream = await first.engine.next_stream()
    stream.accept()
    stream.done(emitted=0)
    await exchange.end()
    assert isinstance(second.client, Client)
    assert (first.metric("scheduler_completed_total"), second.metric("scheduler_completed_total")) == (1, 0)
