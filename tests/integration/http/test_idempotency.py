"""Retries under an Idempotency-Key, over a service and an engine (issue 5, part 4; wire.md, errors)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman.core.errors import Code, EngineFailed
from dragoman.gateway.options import GatewayOptions
from support.asgi import Exchange
from support.hand_engine import HandEngine, info
from support.house import CHAT, House
from support.memory_store import MemoryStore
from support.virtual_time import settle

KEY = {"idempotency-key": "8e03978e-40d5-43dd-bc93-6894a57f9324"}
CHATS = "/v1/chat/completions"
BODIES: dict[str, dict[str, Any]] = {
    CHATS: CHAT,
    "/v1/completions": {"model": "small", "prompt": "hi"},
    "/v1/messages": {**CHAT, "max_tokens": 16},
    "/v1/responses": {"model": "small", "input": "hi"},
}
MODES = pytest.mark.parametrize("streaming", [True, False])


class Shop(House):
    """A house in which requests are sent with a key; its store may have been another's before."""

    def __init__(self, *, store: MemoryStore | None = None, slots: int = 2, **options: Any) -> None:
        engine = HandEngine(engine_info=info(slots=slots))
        super().__init__(engine=engine, max_queue=0, options=GatewayOptions(**options), store=store)

    def ask(
        self, *, streaming: bool = False, path: str = CHATS, headers: dict[str, str] = KEY, **body: Any
    ) -> Exchange:
        return self.client.open("POST", path, {**BODIES[path], "stream": streaming, **body}, headers=headers)

    async def answered(self, text: str = "ok", **options: Any) -> Exchange:
        """A request that the engine answers."""
        exchange = self.ask(**options)
        stream = await self.engine.next_stream()
        stream.accept()
        stream.say(text)
        stream.done(emitted=1)
        await exchange.end()
        await settle()
        return exchange


@pytest.mark.feature("idempotent", "chat", "completions", "responses", "messages")
@pytest.mark.seeds("S15")
@MODES
@pytest.mark.parametrize("path", BODIES)
async def test_a_retry_gets_the_same_bytes_and_nothing_is_computed_twice(path, streaming) -> None:
    shop = Shop()
    first = await shop.answered(path=path, streaming=streaming)
    again = await shop.ask(path=path, streaming=streaming).end()
    assert b"ok" in first.body
    assert (again.status, again.body) == (200, first.body)
    assert again.headers == {**first.headers, "idempotent-replayed": "true"}
    assert "idempotent-replayed" not in first.headers
    assert len(shop.engine.submitted) == 1


@pytest.mark.seeds("S12", "S15")
async def test_a_replay_has_the_id_of_its_own_request() -> None:
    shop = Shop()
    for name in ("first", "second"):
        shop.client.headers["x-request-id"] = name
        reply = await (shop.answered() if name == "first" else shop.ask().end())
        assert reply.headers["x-request-id"] == name


@pytest.mark.seeds("S15")
async def test_without_a_key_two_requests_are_two_answers() -> None:
    shop = Shop()
    replies = [(await shop.answered(headers={})).json()["id"] for _ in range(2)]
    assert replies[0] != replies[1]
    assert not shop.store.replies


@pytest.mark.seeds("S15")
async def test_after_a_restart_the_answer_is_still_there() -> None:
    store = MemoryStore(lambda: 0.0)
    first = await Shop(store=store).answered(streaming=True)
    restarted = Shop(store=store)
    assert (await restarted.ask(streaming=True).end()).body == first.body
    assert not restarted.engine.submitted


@pytest.mark.seeds("S15")
@MODES
async def test_a_retry_of_what_still_runs_joins_it(streaming) -> None:
    shop = Shop()
    first = shop.ask(streaming=streaming)
    stream = await shop.engine.next_stream()
    stream.accept()
    stream.say("one")
    await settle()
    first.hang_up()
    await first.end()
    await asyncio.sleep(30)
    retry = shop.ask(streaming=streaming)
    if streaming:
        await retry.until(writes=2)
        assert b"one" in retry.body
    stream.say("two")
    stream.done(emitted=2)
    await retry.end()
    assert not stream.cancelled
    assert retry.headers["idempotent-replayed"] == "true"
    assert len(shop.engine.submitted) == 1
    if streaming:
        assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in retry.data[:-1]) == "onetwo"
        assert retry.data[-1] == "[DONE]"
    else:
        assert retry.json()["choices"][0]["message"]["content"] == "onetwo"


@MODES
async def test_what_nobody_comes_back_for_is_cancelled_after_a_minute(streaming) -> None:
    shop = Shop()
    first = shop.ask(streaming=streaming)
    stream = await shop.engine.next_stream()
    stream.accept()
    stream.say("one")
    await settle()
    left = asyncio.get_running_loop().time()
    first.hang_up()
    await first.end()
    await stream.closing.wait()
    assert stream.cancelled
    assert asyncio.get_running_loop().time() - left == pytest.approx(60, abs=0.1)
    assert shop.metric("scheduler_active") == 0
    assert not shop.store.replies
    assert b"ok" in (await shop.answered()).body


@pytest.mark.seeds("S15", "S156")
@pytest.mark.parametrize(
    "other",
    [{"temperature": 0.5}, {"streaming": True}, {"path": "/v1/completions"}, {"path": "/v1/responses"}],
    ids=["body", "mode", "route", "surface"],
)
async def test_another_request_under_the_key_is_a_conflict_that_a_retry_cannot_mend(other) -> None:
    shop = Shop()
    await shop.answered()
    reply = await shop.ask(**other).end()
    assert reply.status == 409
    assert reply.headers["x-should-retry"] == "false"
    error = reply.json()["error"]
    assert (error["type"], error["code"]) == ("invalid_request_error", "idempotency_key_reused")
    assert error["param"] == "Idempotency-Key"


@pytest.mark.seeds("S15", "S117")
async def test_a_conflict_on_messages_is_told_in_anthropics_envelope() -> None:
    shop = Shop()
    await shop.answered()
    reply = await shop.ask(path="/v1/messages").end()
    assert (reply.status, reply.headers["x-should-retry"]) == (409, "false")
    assert (reply.json()["type"], reply.json()["error"]["type"]) == ("error", "invalid_request_error")


@pytest.mark.seeds("S15", "S17")
async def test_callers_with_different_api_keys_never_meet() -> None:
    shop = Shop(keys=("ann", "bob"))
    ann, bob = ({**KEY, "x-api-key": name} for name in ("ann", "bob"))
    first = await shop.answered("for ann", headers=ann)
    second = await shop.answered("for bob", headers=bob, temperature=0.5)
    assert b"for ann" in first.body
    assert b"for bob" in second.body
    assert (await shop.ask(headers=ann).end()).body == first.body
    assert len(shop.engine.submitted) == 2


@pytest.mark.parametrize("path", BODIES)
async def test_a_stream_that_failed_is_tried_again(path) -> None:
    shop = Shop()
    first = shop.ask(path=path, streaming=True)
    stream = await shop.engine.next_stream()
    stream.accept()
    stream.say("one")
    await settle()
    stream.fail(EngineFailed("it broke", code=Code.ENGINE_ERROR))
    await first.end()
    assert first.status == 200
    assert b"it broke" in first.body
    retry = await shop.answered(path=path, streaming=True)
    assert b"it broke" not in retry.body
    assert "idempotent-replayed" not in retry.headers


async def test_an_error_before_the_first_byte_is_tried_again() -> None:
    shop = Shop()
    first = shop.ask()
    stream = await shop.engine.next_stream()
    stream.fail(EngineFailed("it broke", code=Code.ENGINE_ERROR))
    assert (await first.end()).status == 500
    assert (await shop.answered()).status == 200


async def test_a_full_queue_is_tried_again() -> None:
    shop = Shop(slots=1)
    holder = shop.ask(headers={})
    stream = await shop.engine.next_stream()
    full = await shop.ask().end()
    assert (full.status, full.json()["error"]["code"]) == (429, Code.QUEUE_FULL)
    stream.accept()
    stream.done(emitted=0)
    await holder.end()
    await settle()
    assert (await shop.answered()).status == 200


async def test_a_bad_body_is_refused_as_ever_and_its_key_stays_free() -> None:
    shop = Shop()
    reply = await shop.ask(messages=[]).end()
    assert reply.status == 400
    assert (await shop.answered()).status == 200


@pytest.mark.parametrize("key", ["", "x" * 256, "é"])
async def test_what_is_no_key_is_refused_by_the_name_of_the_header(key) -> None:
    shop = Shop()
    reply = await shop.ask(headers={"idempotency-key": key}).end()
    assert reply.status == 400
    error = reply.json()["error"]
    assert (error["code"], error["param"]) == ("invalid_value", "Idempotency-Key")
    assert not shop.engine.submitted


async def test_the_bounds_of_a_body_hold_for_retries_too() -> None:
    shop = Shop(max_body=1000)
    large = await shop.ask(user="x" * 1000).end()
    assert (large.status, large.json()["error"]["code"]) == (413, "request_too_large")
    assert large.headers["connection"] == "close"
    other = await shop.client.post(CHATS, b"x", headers={**KEY, "content-type": "text/plain"})
    assert (other.status, other.json()["error"]["code"]) == (415, "unsupported_media_type")


async def test_a_client_that_hangs_up_on_the_last_event_has_its_answer_kept() -> None:
    shop = Shop()
    first = shop.ask(streaming=True)
    stream = await shop.engine.next_stream()
    stream.accept()
    stream.say("x")
    stream.done(emitted=1)
    while b"[DONE]" not in first.body:
        await first.until(len(first.writes) + 1)
    first.hang_up()
    await first.end()
    await settle()
    again = await shop.ask(streaming=True).end()
    assert again.body.endswith(b"data: [DONE]\n\n")
    assert len(shop.engine.submitted) == 1


async def test_at_the_end_of_the_server_what_waits_for_a_retry_is_cancelled() -> None:
    shop = Shop()
    first = shop.ask(streaming=True)
    stream = await shop.engine.next_stream()
    stream.accept()
    await first.begun()
    first.hang_up()
    await first.end()
    await shop.shut_down()
    assert stream.cancelled
