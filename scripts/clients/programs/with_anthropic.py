"""Anthropic's SDK: calls, thoughts, structured answers, the tool runner with its threads, counts, betas and errors."""

from __future__ import annotations

from typing import Any

import anthropic
from anthropic import Anthropic, beta_tool
from anthropic.types import Message
from cases import DEATH, DEMO, PERSON, PLAYER, QUESTION, RESULT, SCENE, THOUGHT, Person, ok

WEATHER = {
    "name": "get_weather",
    "description": "Tell the weather of a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def asking(words: str, **more: object) -> dict[str, Any]:
    """The arguments of a request that says this. The SDK has no word for the temperature; the server has."""
    asked = {"model": "default", "max_tokens": 150, "messages": [{"role": "user", "content": words}]}
    return {**asked, "extra_body": {"temperature": 0}, **more}


def after(message: Message, asked: dict[str, Any]) -> list[object]:
    """The turns with this answer and the results of its calls."""
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": RESULT}
        for block in message.content
        if block.type == "tool_use"
    ]
    return [
        *asked["messages"],
        {"role": "assistant", "content": message.content},
        {"role": "user", "content": results},
    ]


def texts(message: Message) -> str:
    """What it says."""
    return "".join(block.text for block in message.content if block.type == "text")


def calls(message: Message) -> list[str]:
    """The cities that it asks for."""
    return [block.input["city"] for block in message.content if block.type == "tool_use"]


demo = Anthropic(base_url=DEMO, api_key="unused", max_retries=0)
player = Anthropic(base_url=PLAYER, api_key="unused", max_retries=0)

for choice in ({"type": "tool", "name": "get_weather"}, {"type": "any"}):
    asked = asking(QUESTION, tools=[WEATHER], tool_choice={**choice, "disable_parallel_tool_use": True})
    whole = demo.messages.create(**asked)
    with demo.messages.stream(**asked) as stream:
        streamed = stream.get_final_message()
    for kind, message in (("whole", whole), ("streamed", streamed)):
        assert message.stop_reason == "tool_use"
        answer = demo.messages.create(**asking(QUESTION, tools=[WEATHER]) | {"messages": after(message, asked)})
        ok(f"{choice['type']} {kind}", called=calls(message), text=texts(answer))

parsed = demo.messages.parse(**asking(PERSON, output_format=Person))
ok("parse", called=parsed.parsed_output)
counted = demo.messages.count_tokens(model="default", messages=[{"role": "user", "content": PERSON}])
usage = demo.messages.create(**asking(PERSON)).usage
assert counted.input_tokens == usage.input_tokens + usage.cache_read_input_tokens
ok("count_tokens")
asked = asking(PERSON, stop_sequences=["e"]) | {"max_tokens": 128_000}
with demo.messages.stream(**asked) as stream:
    ok("stop, and more tokens than there are", called=stream.get_final_message().stop_sequence == "e")

asked = asking(SCENE, tools=[WEATHER], thinking={"type": "enabled", "budget_tokens": 1024}) | {"max_tokens": 4096}
with player.messages.stream(**asked) as stream:
    kinds = {event.type for event in stream}
    message = stream.get_final_message()
assert {"thinking", "signature", "input_json"} <= kinds
assert message.content[0].thinking.strip() == THOUGHT
answer = player.messages.create(**asked | {"messages": after(message, asked)})
ok("thinking", called=calls(message), text=texts(answer), result=True)


@beta_tool
def get_weather(city: str) -> str:
    """Tell the weather.

    Args:
        city: where
    """
    cities.append(city)
    return RESULT


for stream in (False, True):
    cities: list[str] = []
    runner = player.beta.messages.tool_runner(
        **asking(SCENE) | {"max_tokens": 4096}, tools=[get_weather], stream=stream
    )
    ended = [turn.get_final_message() if stream else turn for turn in runner][-1]
    ok(f"tool runner {'streamed' if stream else 'whole'}", called=cities, text=texts(ended), result=True)

managed = {"edits": [{"type": "clear_thinking_20251015"}]}
beta = demo.beta.messages.create(**asking(PERSON), betas=["context-management-2025-06-27"], context_management=managed)
ok("betas", text=texts(beta))

for client, asked, error in (
    (demo, asking(PERSON) | {"model": "gone"}, anthropic.NotFoundError),
    (demo, asking(PERSON, extra_body={"tool_choice": {"type": "any"}}), anthropic.BadRequestError),
    (player, asking(DEATH, tools=[WEATHER]), anthropic.APIStatusError),
):
    try:
        with client.messages.stream(**asked) as stream:
            stream.get_final_message()
    except error as caught:
        ok(error.__name__, text=caught.message)
