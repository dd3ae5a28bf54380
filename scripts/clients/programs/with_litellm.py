"""litellm by its routes to OpenAI's and Anthropic's servers: forced calls whole and streamed, thoughts, more tokens than there are, errors."""

from __future__ import annotations

import os

from cases import DEMO, PERSON, PLAYER, QUESTION, RESULT, SCENE, THOUGHT, Person, ok

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would fetch one
import litellm

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tell the weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
BY_NAME = {"type": "function", "function": {"name": "get_weather"}}


def route(kind: str, url: str, model: str = "default") -> dict[str, object]:
    """How litellm is told of a server."""
    base = url if kind == "anthropic" else f"{url}/v1"
    return {"model": f"{kind}/{model}", "api_base": base, "api_key": "unused", "num_retries": 0}


for kind in ("openai", "anthropic"):
    demo, player = route(kind, DEMO), route(kind, PLAYER)
    talk = [{"role": "user", "content": QUESTION}]
    forced = {**demo, "messages": talk, "tools": [WEATHER], "tool_choice": BY_NAME, "max_tokens": 150}
    whole = litellm.completion(**forced, temperature=0)
    pieces = list(litellm.completion(**forced, temperature=0, stream=True))
    streamed = litellm.stream_chunk_builder(pieces, messages=talk)
    for how, message in (("whole", whole), ("streamed", streamed)):
        calls = message.choices[0].message.tool_calls
        results = [{"role": "tool", "tool_call_id": call.id, "content": RESULT} for call in calls]
        turns = [*talk, message.choices[0].message, *results]
        answer = litellm.completion(**demo, messages=turns, tools=[WEATHER], max_tokens=20)
        ok(f"{kind} {how}", called=calls, text=answer.choices[0].message.content)
    many = litellm.completion(**demo, messages=[{"role": "user", "content": PERSON}], max_tokens=128_000, stop=["e"])
    ok(f"{kind} more tokens than there are", text=many.choices[0].message.content)
    structured = litellm.completion(
        **demo, messages=[{"role": "user", "content": PERSON}], response_format=Person, max_tokens=150
    )
    ok(f"{kind} structured", called=Person.model_validate_json(structured.choices[0].message.content))
    talk = [{"role": "user", "content": SCENE}]
    first = litellm.completion(**player, messages=talk, tools=[WEATHER]).choices[0].message
    assert first.reasoning_content.strip() == THOUGHT, first
    results = [{"role": "tool", "tool_call_id": call.id, "content": RESULT} for call in first.tool_calls]
    last = litellm.completion(**player, messages=[*talk, first, *results], tools=[WEATHER])
    ok(f"{kind} with thoughts", text=last.choices[0].message.content, result=True)
    try:
        litellm.completion(**route(kind, DEMO, "gone"), messages=talk)
    except litellm.NotFoundError as error:
        ok(f"{kind} error", text=error.message)
