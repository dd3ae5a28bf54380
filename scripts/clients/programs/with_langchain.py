"""LangChain over Chat, Responses and Messages: calls by each choice, structured answers by each method, thoughts, usage of streams."""

from __future__ import annotations

from collections.abc import Iterator

import anthropic
import openai
from cases import DEMO, PERSON, PLAYER, QUESTION, RESULT, SCENE, Person, ok
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    assert isinstance(city, str)
    return RESULT


def models(url: str) -> Iterator[tuple[str, BaseChatModel]]:
    """A model for each of our surfaces."""
    shared = {"api_key": "unused", "model": "default", "max_retries": 0}
    limited = {"temperature": 0, "max_tokens": 150}
    yield "chat", ChatOpenAI(base_url=f"{url}/v1", **shared, **limited, stream_usage=True)
    yield "responses", ChatOpenAI(base_url=f"{url}/v1", **shared, **limited, use_responses_api=True, stream_usage=True)
    yield (
        "messages",
        ChatAnthropic(base_url=url, **shared, max_tokens=150, model_kwargs={"extra_body": {"temperature": 0}}),
    )


weather = tool(get_weather)
talk = [HumanMessage(QUESTION)]
for surface, model in models(DEMO):
    for choice in ("get_weather", "any"):
        caller = model.bind_tools([weather], tool_choice=choice, parallel_tool_calls=False)
        pieces = list(caller.stream(talk))
        for kind, message in (("whole", caller.invoke(talk)), ("streamed", sum(pieces[1:], start=pieces[0]))):
            assert message.usage_metadata["input_tokens"] > 0, message.usage_metadata
            results = [weather.invoke(call) for call in message.tool_calls]
            answer = model.bind_tools([weather]).invoke([*talk, message, *results])
            ok(f"{surface} {choice} {kind}", called=message.tool_calls, text=answer.text)
    for method in ("function_calling", "json_schema"):
        ok(f"{surface} {method}", called=model.with_structured_output(Person, method=method).invoke(PERSON))
    try:
        model.model_copy(update={"model_name": "gone", "model": "gone"}).invoke(talk)
    except (anthropic.NotFoundError, openai.NotFoundError) as error:
        ok(f"{surface} error", text=str(error))

for surface, model in models(PLAYER):
    caller = model.bind_tools([weather])
    talk = [HumanMessage(SCENE)]
    pieces = list(caller.stream(talk))
    message = sum(pieces[1:], start=pieces[0])
    answer = caller.invoke([*talk, message, *(weather.invoke(call) for call in message.tool_calls)])
    ok(f"{surface} with thoughts", called=message.tool_calls, text=answer.text, result=True)
