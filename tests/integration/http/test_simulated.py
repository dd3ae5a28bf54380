"""The application over the shipped simulated engine: the real client and the real protocol, without a model."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.engines.simulated import Begin, Delay, Emit, Fail, Hold, say, tapes
from support.house import house_of
from support.virtual_time import settle


def chat(content: str, **fields: object) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": content}], **fields}


async def test_a_chat_is_answered_and_counted_as_tokenize_counts() -> None:
    async with house_of() as house:
        counted = (await house.client.post("/tokenize", chat("hi"))).json()["count"]
        body = (await house.client.post("/v1/chat/completions", chat("hi"))).json()
        assert body["usage"]["prompt_tokens"] == counted
        assert body["choices"][0]["message"]["content"]
        assert "<|im_end|>" not in body["choices"][0]["message"]["content"]


async def test_buffered_is_the_fold_of_the_stream() -> None:
    async with house_of() as house:
        whole = (await house.client.post("/v1/chat/completions", chat("hi"))).json()
        stream = await house.client.post("/v1/chat/completions", chat("hi", stream=True))
        pieces = [chunk["choices"][0]["delta"].get("content") or "" for chunk in stream.data if chunk != "[DONE]"]
        assert "".join(pieces) == whole["choices"][0]["message"]["content"]
        assert len(pieces) > 3


@pytest.mark.seeds("S21", "S23")
@pytest.mark.parametrize(("budget", "reason"), [(0, "length"), (2, "length"), (1000, "stop")])
async def test_a_budget_is_a_ceiling_and_not_a_target(budget, reason) -> None:
    async with house_of() as house:
        body = (await house.client.post("/v1/completions", {"prompt": "hi", "max_tokens": budget})).json()
        assert body["choices"][0]["finish_reason"] == reason
        if reason == "length":
            assert body["usage"]["completion_tokens"] == budget


@pytest.mark.seeds("S27")
async def test_a_stop_split_over_many_tokens_is_cut_out_of_stream_and_object_alike() -> None:
    async with house_of(tapes({"count": say("one two STOP three")})) as house:
        request = {"prompt": "count", "stop": ["STOP"], "max_tokens": 100}
        body = (await house.client.post("/v1/completions", request)).json()
        assert (body["choices"][0]["text"], body["choices"][0]["finish_reason"]) == ("one two ", "stop")
        assert body["usage"]["completion_tokens"] == len("one two STOP")
        stream = await house.client.post("/v1/completions", {**request, "stream": True})
        texts = [chunk["choices"][0]["text"] for chunk in stream.data if chunk != "[DONE]"]
        assert "".join(texts) == "one two "


async def test_a_prompt_that_does_not_fit_is_refused_with_both_numbers() -> None:
    async with house_of(tapes({"long": [Fail("CONTEXT_EXCEEDED", "5000 4096")]})) as house:
        reply = await house.client.post("/v1/chat/completions", chat("long", stream=True))
        assert reply.status == 400
        error = reply.json()["error"]
        assert (error["code"], error["param"]) == ("context_length_exceeded", "messages")
        assert "5000" in error["message"]
        assert "maximum context length is 4096 tokens" in error["message"]


async def test_a_client_that_leaves_sends_cancel_and_keeps_the_slot_until_the_engine_has_ended() -> None:
    held = Hold()
    async with house_of(tapes({"slow": [Begin(), *say("a"), held, *say("b")]})) as house:
        exchange = house.client.open("POST", "/v1/chat/completions", chat("slow", stream=True))
        await exchange.until(writes=2)
        exchange.hang_up()
        await exchange.end()
        await settle(200)
        assert b"CANCEL " in house.engine.links.spawned[0].received
        assert house.metric("cancellations_total", phase="decode") == 1
        assert house.metric("scheduler_active") == 0
        assert (await house.client.post("/v1/chat/completions", chat("hi"))).status == 200


@pytest.mark.seeds("S155")
async def test_a_killed_engine_fails_what_runs_by_name_and_comes_back() -> None:
    """Peers' bug list, 117, with eight streams in flight."""
    gate = asyncio.Event()
    script = tapes({"doomed": [Begin(), *say("a"), Hold(gate), *say("b")]})
    async with house_of(script, slots=8) as house:
        exchanges = [house.client.open("POST", "/v1/chat/completions", chat("doomed", stream=True)) for _ in range(8)]
        for exchange in exchanges:
            await exchange.until(writes=2)
        house.engine.links.spawned[0].kill()
        for exchange in exchanges:
            await exchange.end()
            assert exchange.status == 200
            assert exchange.data[-1]["error"]["code"] == "engine_crashed"
            assert "SIGKILL" in exchange.data[-1]["error"]["message"]
        reply = await house.client.post("/v1/chat/completions", chat("hi"))
        assert reply.status == 200
        assert (await house.client.get("/health")).json()["status"] == "ok"
        assert house.metric("scheduler_failed_total") == 8
        assert len(house.engine.links.spawned) == 2


async def test_a_request_that_the_dead_engine_had_not_accepted_is_run_by_the_next() -> None:
    gate = asyncio.Event()
    async with house_of(tapes({"early": [Hold(gate), Begin(), *say("made it")]})) as house:
        exchange = house.client.open("POST", "/v1/chat/completions", chat("early"))
        await settle(100)
        house.engine.links.spawned[0].kill()
        gate.set()
        reply = await exchange.end()
        assert (reply.status, reply.json()["choices"][0]["message"]["content"]) == (200, "made it")


async def test_eight_streams_progress_together() -> None:
    async with house_of(
        tapes({"go": [Begin(), *[step for _ in range(5) for step in (Delay(1.0), Emit(b"x", 120))]]}), slots=8
    ) as house:
        exchanges = [house.client.open("POST", "/v1/chat/completions", chat("go", stream=True)) for _ in range(8)]
        for count in range(1, 5):  # DONE comes with the fifth
            for exchange in exchanges:
                await exchange.until(writes=1 + count)
            assert all(len(exchange.writes) == 1 + count for exchange in exchanges)
        for exchange in exchanges:
            assert (await exchange.end()).data[-1] == "[DONE]"
