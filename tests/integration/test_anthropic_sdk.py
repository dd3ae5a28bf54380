"""Anthropic's SDK against a server on a port: its helpers, its types in strict mode, its errors by class. The model does as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic, beta_async_tool
from pydantic import BaseModel

from support.loopback import MODEL, PATIENCE, listening
from support.obedient import HELLO, obedient, told

WEATHER: Any = {
    "name": "get_weather",
    "description": "Tell the weather of a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
CALL = 'think They want the weather.\ncall get_weather {"city": "Paris"}'


class Person(BaseModel):
    name: str
    age: int


def ask(words: str = "hi", **more: Any) -> Any:
    return {"model": MODEL, "max_tokens": 400, "messages": [{"role": "user", "content": words}], **more}


def client_of(url: str, key: str = "unused") -> AsyncAnthropic:
    """It validates each answer, and asks once."""
    return AsyncAnthropic(base_url=url, api_key=key, max_retries=0, timeout=PATIENCE, _strict_response_validation=True)


@asynccontextmanager
async def served(**settings: Any) -> AsyncIterator[AsyncAnthropic]:
    async with listening(obedient, **settings) as url, client_of(url) as client:
        yield client


@pytest.mark.seeds("S20", "S114", "S158")
async def test_the_stream_helper_adds_up_to_the_message_that_comes_whole() -> None:
    async with served() as client:
        whole = await client.messages.create(**ask())
        async with client.messages.stream(**ask()) as stream:
            text = "".join([piece async for piece in stream.text_stream])
        streamed = await stream.get_final_message()
        counted = await client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "hi"}])
    assert text == HELLO
    for message in (whole, streamed):
        assert (message.model, message.role, message.stop_reason) == (MODEL, "assistant", "end_turn")
        assert [block.text for block in message.content if block.type == "text"] == [HELLO]
        usage = message.usage
        prompt = usage.input_tokens + (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
        assert prompt == counted.input_tokens
        assert usage.output_tokens == len(HELLO) + 1, "a token for each letter, and the end of the turn"
    assert whole._request_id


@pytest.mark.seeds("S114", "S119", "S141")
async def test_thoughts_and_a_call_come_in_order_and_go_back_as_they_are() -> None:
    async with served() as client:
        kinds = []
        asked = ask(CALL, tools=[WEATHER], thinking={"type": "enabled", "budget_tokens": 1024})
        asked["max_tokens"] = 2048
        async with client.messages.stream(**asked) as stream:
            async for event in stream:
                kinds.append(event.type)
        message = await stream.get_final_message()
        thinking, call = message.content
        assert (thinking.type, call.type) == ("thinking", "tool_use")
        assert (thinking.thinking, bool(thinking.signature)) == ("They want the weather.", True)
        assert (call.name, call.input) == ("get_weather", {"city": "Paris"})
        assert message.stop_reason == "tool_use"
        assert {"thinking", "signature", "input_json", "content_block_stop", "message_stop"} <= set(kinds)

        result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "sun, 21"}]}
        turns = [
            *asked["messages"],
            {"role": "assistant", "content": message.content},
            {"role": "user", "content": [result]},
        ]
        after = await client.messages.create(**asked | {"messages": turns})
        assert [block.text for block in after.content if block.type == "text"] == [told("sun, 21")]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.seeds("S119")
async def test_the_tool_runner_falls_back_from_threads_and_answers_with_the_result(stream: bool) -> None:
    cities = []

    @beta_async_tool
    async def get_weather(city: str) -> str:
        """Tell the weather.

        Args:
            city: where
        """
        cities.append(city)
        return f"rain in {city}"

    async with served() as client:
        runner: Any = client.beta.messages.tool_runner(
            **ask(CALL), tools=[get_weather], stream=stream, max_iterations=4
        )
        said = []
        async for turn in runner:
            message = await turn.get_final_message() if stream else turn
            said.append([block.type for block in message.content])
        assert cities == ["Paris"]
        assert said == [["thinking", "tool_use"], ["text"]]
        assert message.content[0].text == told("rain in Paris")


async def test_a_structured_answer_is_parsed_whole_and_from_a_stream() -> None:
    asked = ask('say {"name": "Bob", "age": 31}', output_format=Person)
    async with served() as client:
        parsed = await client.messages.parse(**asked)
        async with client.messages.stream(**asked) as stream:
            streamed = await stream.get_final_message()
    assert parsed.parsed_output == streamed.parsed_output == Person(name="Bob", age=31)


async def test_models_are_those_of_the_sdk() -> None:
    async with served() as client:
        listed, alias = [model async for model in client.models.list()]
        assert (listed.id, listed.type) == (MODEL, "model")
        assert await client.models.retrieve(MODEL) == listed
        assert alias.id == "default"
        assert [model.id async for model in client.beta.models.list()] == [MODEL, "default"]


@pytest.mark.seeds("S117")
async def test_errors_are_told_apart_by_their_class() -> None:
    async with listening(obedient, api_keys=("sesame",)) as url:
        async with client_of(url, "wrong") as stranger:
            with pytest.raises(anthropic.AuthenticationError):
                await stranger.messages.create(**ask())
        async with client_of(url, "sesame") as client:
            with pytest.raises(anthropic.NotFoundError) as missing:
                await client.messages.create(**ask() | {"model": "gone"})
            assert "gone" in missing.value.message
            with pytest.raises(anthropic.NotFoundError):
                await client.models.retrieve("gone")
            with pytest.raises(anthropic.BadRequestError) as refused:
                await client.messages.create(**ask(extra_body={"thread": {"type": "create"}}))
            details = refused.value.body["error"]["details"]  # type: ignore[index]
            assert details == {"error_code": "thread_unsupported_request", "unsupported": ["thread"]}
            assert refused.value.request_id
            with pytest.raises(anthropic.BadRequestError):
                await client.messages.create(**ask(stop_sequences=[" "] * 500))


async def test_a_full_server_asks_to_come_again() -> None:
    long = ask("say " + "long " * 300) | {"max_tokens": 2000}
    async with served(slots=1, max_queue=0) as client, client.messages.stream(**long) as busy:
        await anext(aiter(busy.text_stream))
        with pytest.raises(anthropic.RateLimitError) as caught:
            await client.messages.create(**ask())
        assert float(caught.value.response.headers["retry-after"]) > 0


@pytest.mark.seeds("S155")
async def test_an_engine_that_dies_ends_a_stream_with_an_error_and_the_next_request_is_served() -> None:
    async with served() as client:
        said = []
        with pytest.raises(anthropic.APIStatusError) as caught:
            async with client.messages.stream(**ask("say so far\ndie")) as stream:
                async for piece in stream.text_stream:
                    said.append(piece)
        assert "".join(said) == "so far"
        assert caught.value.body["error"]["type"] == "overloaded_error"  # type: ignore[index]
        answers = await asyncio.gather(*(client.messages.create(**ask()) for _ in range(2)))
        assert all(answer.content[0].text == HELLO for answer in answers)  # type: ignore[union-attr]


@pytest.mark.parametrize("version", ["2023-06-01", "2026-10-21"])
@pytest.mark.seeds("S114")
async def test_both_versions_and_both_headers_of_a_key_are_accepted(version: str) -> None:
    async with listening(obedient, api_keys=("sesame",)) as url:
        headers = {"anthropic-version": version, "x-api-key": "sesame"}
        async with AsyncAnthropic(base_url=url, auth_token="sesame", max_retries=0, default_headers=headers) as client:
            answer = await client.messages.create(**ask(extra_body={"temperature": 0, "top_k": 4}))
            assert answer.content[0].text == HELLO  # type: ignore[union-attr]
            beta = await client.beta.messages.create(**ask(), betas=["context-management-2025-06-27"])
            assert beta.content[0].text == HELLO  # type: ignore[union-attr]
