"""openai-agents: a tool by name and any tool, whole and streamed."""

from __future__ import annotations

import asyncio
import json
import sys

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

called: list[str] = []


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    called.append(city)
    return "Sunny, 21 degrees."


async def main() -> None:
    """Four loops, one line each."""
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=sys.argv[1], api_key="unused", max_retries=0)
    model = OpenAIChatCompletionsModel(model="default", openai_client=client)
    for choice in ("get_weather", "required"):
        settings = ModelSettings(tool_choice=choice, parallel_tool_calls=False, temperature=0, max_tokens=120)
        agent = Agent(name="A", model=model, tools=[function_tool(get_weather)], model_settings=settings)
        whole = await Runner.run(agent, "What is the weather in Paris?", max_turns=3)
        print(json.dumps({"called": called, "answer": whole.final_output}))
        called.clear()
        streamed = Runner.run_streamed(agent, "What is the weather in Paris?", max_turns=3)
        async for _ in streamed.stream_events():
            pass
        print(json.dumps({"called": called, "answer": streamed.final_output}))
        called.clear()


asyncio.run(main())
