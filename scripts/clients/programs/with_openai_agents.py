"""openai-agents over Responses, its default, and over Chat: forced calls, a loop with thoughts, a structured answer, an error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import openai
from agents import (
    Agent,
    Model,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from cases import DEMO, PERSON, PLAYER, QUESTION, RESULT, SCENE, Person, ok
from openai import AsyncOpenAI

called: list[str] = []


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    called.append(city)
    return RESULT


async def both(agent: Agent, asked: str) -> AsyncIterator[tuple[str, str]]:
    """What comes of it whole and in pieces."""
    for kind in ("whole", "streamed"):
        called.clear()
        if kind == "whole":
            run = await Runner.run(agent, asked, max_turns=3)
        else:
            run = Runner.run_streamed(agent, asked, max_turns=3)
            async for _ in run.stream_events():
                pass
        yield kind, run.final_output


def model_of(kind: type[Model], url: str, name: str = "default") -> Model:
    """A model behind this address."""
    return kind(model=name, openai_client=AsyncOpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0))


async def main() -> None:
    """Eight cases with each model."""
    set_tracing_disabled(True)
    for name, kind in (("responses", OpenAIResponsesModel), ("chat", OpenAIChatCompletionsModel)):
        model = partial(model_of, kind)
        tools = [function_tool(get_weather)]
        for choice in ("get_weather", "required"):
            settings = ModelSettings(tool_choice=choice, parallel_tool_calls=False, temperature=0, max_tokens=120)
            agent = Agent(name="A", model=model(DEMO), tools=tools, model_settings=settings)
            async for how, text in both(agent, QUESTION):
                ok(f"{name} {choice} {how}", called=called, text=text)
        async for how, text in both(Agent(name="A", model=model(PLAYER), tools=tools), SCENE):
            ok(f"{name} with thoughts {how}", called=called, text=text, result=True)
        structured = Agent(name="A", model=model(DEMO), output_type=Person)
        ok(f"{name} structured", called=(await Runner.run(structured, PERSON)).final_output)
        try:
            await Runner.run(Agent(name="A", model=model(DEMO, "gone")), PERSON)
        except openai.NotFoundError as error:
            ok(f"{name} error", text=error.message)


asyncio.run(main())
