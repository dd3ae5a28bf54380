"""OpenAI's SDK against a server on a port: Responses by all its helpers, Chat's helpers, types in strict mode, errors by class."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel

from support.loopback import MODEL, PATIENCE, listening
from support.obedient import HELLO, obedient, told

PARAMETERS: Any = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER: Any = {
    "type": "function",
    "name": "get_weather",
    "description": "Tell the weather of a city.",
    "parameters": PARAMETERS,
    "strict": True,
}
CALL = 'think They want the weather.\ncall get_weather {"city": "Paris"}'
LONG = "say " + " ".join(f"word{number}" for number in range(40))


class Person(BaseModel):
    name: str
    age: int


def client_of(url: str, key: str = "unused") -> AsyncOpenAI:
    """It validates each answer, and asks once."""
    return AsyncOpenAI(
        base_url=f"{url}/v1", api_key=key, max_retries=0, timeout=PATIENCE, _strict_response_validation=True
    )


@asynccontextmanager
async def served(**settings: Any) -> AsyncIterator[AsyncOpenAI]:
    async with listening(obedient, **settings) as url, client_of(url) as client:
        yield client


@pytest.mark.seeds("S20", "S119", "S141", "S144", "S158")
async def test_a_stream_with_thoughts_and_a_call_goes_on_from_its_id() -> None:
    async with served() as client:
        kinds, numbers = [], []
        asked: Any = {"model": MODEL, "input": CALL, "tools": [WEATHER]}
        async with client.responses.stream(**asked) as stream:
            async for event in stream:
                kinds.append(event.type)
                numbers.append(event.sequence_number)
            response = await stream.get_final_response()
        assert numbers == list(range(len(numbers)))
        assert kinds[:2] == ["response.created", "response.in_progress"]
        assert kinds[-1] == "response.completed"
        assert {"response.reasoning_text.delta", "response.function_call_arguments.delta"} <= set(kinds)
        reasoning, call = response.output
        assert (reasoning.type, call.type) == ("reasoning", "function_call")
        assert reasoning.content[0].text == "They want the weather."
        assert (call.name, call.parsed_arguments) == ("get_weather", {"city": "Paris"})

        result = {"type": "function_call_output", "call_id": call.call_id, "output": "sun, 21"}
        after = await client.responses.create(
            model=MODEL, input=[result], tools=[WEATHER], previous_response_id=response.id
        )
        assert after.output_text == told("sun, 21")
        assert after.previous_response_id == response.id
        kept = await client.responses.retrieve(response.id)
        assert kept.output == (await client.responses.retrieve(response.id)).output
        assert [item.type for item in kept.output] == ["reasoning", "function_call"]


@pytest.mark.seeds("S119")
async def test_a_call_may_go_back_as_items_without_a_store() -> None:
    async with served() as client:
        first = await client.responses.create(
            model=MODEL, input=CALL, tools=[WEATHER], store=False, include=["reasoning.encrypted_content"]
        )
        call = first.output[-1]
        assert call.type == "function_call"
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
        turns: Any = [{"role": "user", "content": CALL}, *first.output, result]
        after = await client.responses.create(model=MODEL, input=turns, tools=[WEATHER], store=False)
        assert after.output_text == told("rain")
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(first.id)


async def test_a_structured_answer_is_parsed_by_each_helper() -> None:
    words = 'say {"name": "Bob", "age": 31}'
    bob = Person(name="Bob", age=31)
    chat: Any = {"model": MODEL, "messages": [{"role": "user", "content": words}], "response_format": Person}
    async with served() as client:
        parsed = await client.responses.parse(model=MODEL, input=words, text_format=Person)
        async with client.responses.stream(model=MODEL, input=words, text_format=Person) as stream:
            await stream.until_done()
            streamed = await stream.get_final_response()
        completion = await client.chat.completions.parse(**chat)
        async with client.chat.completions.stream(**chat) as chunks:
            gathered = await chunks.get_final_completion()
    assert parsed.output_parsed == streamed.output_parsed == bob
    assert completion.choices[0].message.parsed == gathered.choices[0].message.parsed == bob


@pytest.mark.seeds("S144")
async def test_a_stored_response_is_listed_counted_and_deleted() -> None:
    async with served() as client:
        response = await client.responses.create(model=MODEL, input="hi", instructions="Be brief.", metadata={"a": "b"})
        assert (response.output_text, response.status, response.metadata) == (HELLO, "completed", {"a": "b"})
        (item,) = [item async for item in client.responses.input_items.list(response.id)]
        assert (item.type, item.content[0].text) == ("message", "hi")  # type: ignore[union-attr]
        counted = await client.responses.input_tokens.count(model=MODEL, input="hi", instructions="Be brief.")
        assert response.usage is not None
        assert counted.input_tokens == response.usage.input_tokens
        assert response.usage.output_tokens == len(HELLO) + 1, "a token for each letter, and the end of the turn"
        with pytest.raises(openai.BadRequestError):
            await client.responses.cancel(response.id)  # it was no background response
        await client.responses.delete(response.id)
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(response.id)


async def test_a_background_stream_is_gone_on_with_where_it_was_left() -> None:
    async with served() as client:
        first = await client.responses.create(model=MODEL, input=LONG, background=True, stream=True)
        events: list[Any] = []
        async for event in first:
            events.append(event)
            if len(events) == 8:
                break
        await first.close()
        identity = events[0].response.id
        last = events[-1].sequence_number
        async for event in await client.responses.retrieve(identity, stream=True, starting_after=last):
            events.append(event)
        assert [event.sequence_number for event in events] == list(range(len(events)))
        assert events[-1].type == "response.completed"
        text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        kept = await client.responses.retrieve(identity)
        assert text == kept.output_text == LONG.removeprefix("say ")
        assert kept.background


async def test_a_background_response_is_polled_or_cancelled() -> None:
    async with served(slots=1) as client:
        # The only slot is taken for longer than it takes to cancel who waits for it.
        queued = await client.responses.create(model=MODEL, input=f"wait 1\n{LONG}", background=True)
        second = await client.responses.create(model=MODEL, input=LONG, background=True)
        assert {queued.status, second.status} <= {"queued", "in_progress"}
        cancelled = await client.responses.cancel(second.id)
        assert cancelled.status == "cancelled"
        async with asyncio.timeout(PATIENCE):
            while queued.status in {"queued", "in_progress"}:
                await asyncio.sleep(0.01)
                queued = await client.responses.retrieve(queued.id)
        assert (queued.status, queued.output_text) == ("completed", LONG.removeprefix("say "))
        assert (await client.responses.retrieve(second.id)).status == "cancelled"


@pytest.mark.seeds("S144")
async def test_a_socket_holds_a_conversation() -> None:
    async with served() as client, client.responses.connect() as connection:
        await connection.response.create(model=MODEL, input=CALL, tools=[WEATHER], store=False)
        first = await finished(connection)
        assert [item.type for item in first.output] == ["reasoning", "function_call"]
        result = {"type": "function_call_output", "call_id": first.output[1].call_id, "output": "snow"}
        await connection.response.create(
            model=MODEL, input=[result], tools=[WEATHER], store=False, previous_response_id=first.id
        )
        assert (await finished(connection)).output_text == told("snow")


async def finished(connection: Any) -> Any:
    """The response of the next terminal event."""
    async for event in connection:
        assert event.type != "error", event
        if event.type in {"response.completed", "response.incomplete", "response.failed"}:
            return event.response
    raise AssertionError("the socket was closed")


@pytest.mark.seeds("S144")
async def test_a_conversation_grows_by_what_is_asked_and_answered() -> None:
    async with served() as client:
        conversation = await client.conversations.create(metadata={"about": "tests"})
        response = await client.responses.create(model=MODEL, input="hi", conversation=conversation.id)
        assert response.conversation is not None
        assert response.conversation.id == conversation.id
        items: Any = [item async for item in client.conversations.items.list(conversation.id, order="asc")]
        assert [(item.role, item.content[0].text) for item in items] == [("user", "hi"), ("assistant", HELLO)]
        assert (await client.conversations.retrieve(conversation.id)).metadata == {"about": "tests"}
        assert (await client.conversations.delete(conversation.id)).deleted


async def test_a_compacted_conversation_goes_on() -> None:
    # The SDK says that a compaction begins with the user's messages, but its type of output items has none: no strict mode here.
    async with listening(obedient) as url, AsyncOpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0) as client:
        first = await client.responses.create(model=MODEL, input="hi")
        compacted = await client.responses.compact(model=MODEL, previous_response_id=first.id)
        assert [item.type for item in compacted.output] == ["message", "compaction"]
        turns: Any = [
            *(item.to_dict(warnings=False) for item in compacted.output),
            {"role": "user", "content": "say Still here."},
        ]
        after = await client.responses.create(model=MODEL, input=turns)
        assert after.output_text == "Still here."


@pytest.mark.seeds("S119")
async def test_the_stream_helper_of_chat_gathers_calls() -> None:
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS, "strict": True}}
    asked: Any = {"model": MODEL, "messages": [{"role": "user", "content": CALL}], "tools": [tool]}
    async with served() as client, client.chat.completions.stream(**asked) as stream:
        kinds = {event.type async for event in stream}
        completion = await stream.get_final_completion()
    (call,) = completion.choices[0].message.tool_calls or ()
    assert call.function.parsed_arguments == {"city": "Paris"}
    assert {"chunk", "tool_calls.function.arguments.delta", "tool_calls.function.arguments.done"} <= kinds


@pytest.mark.seeds("S156")
async def test_errors_are_told_apart_by_their_class() -> None:
    async with listening(obedient, api_keys=("sesame",)) as url:
        async with client_of(url, "wrong") as stranger:
            with pytest.raises(openai.AuthenticationError):
                await stranger.responses.create(model=MODEL, input="hi")
        async with client_of(url, "sesame") as client:
            with pytest.raises(openai.NotFoundError) as missing:
                await client.responses.create(model="gone", input="hi")
            assert missing.value.code == "model_not_found"
            with pytest.raises(openai.BadRequestError) as refused:
                await client.responses.create(model=MODEL, input="hi", temperature=5)
            assert refused.value.param == "temperature"
            with pytest.raises(openai.APIStatusError) as unknown:
                await client.responses.create(model=MODEL, input="hi", previous_response_id="resp_gone")
            assert unknown.value.code == "previous_response_not_found"
            assert unknown.value.request_id


async def test_a_full_server_asks_to_come_again() -> None:
    async with served(slots=1, max_queue=0) as client:
        busy = await client.responses.create(model=MODEL, input=f"{LONG} {LONG} {LONG} {LONG}", stream=True)
        await anext(aiter(busy))
        with pytest.raises(openai.RateLimitError) as caught:
            await client.responses.create(model=MODEL, input="hi")
        assert float(caught.value.response.headers["retry-after"]) > 0
        await busy.close()


@pytest.mark.seeds("S155")
async def test_an_engine_that_dies_raises_from_the_stream_and_the_next_request_is_served() -> None:
    async with served() as client:
        said: list[str] = []
        stream = await client.responses.create(model=MODEL, input="say so far\ndie", stream=True)
        with pytest.raises(openai.APIError):
            async for event in stream:
                if event.type == "response.output_text.delta":
                    said.append(event.delta)
        assert "".join(said) == "so far"
        assert (await client.responses.create(model=MODEL, input="hi")).output_text == HELLO
