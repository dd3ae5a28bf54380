"""pydantic-ai over Chat, Responses and Messages: a forced call, a loop with thoughts, structured answers, an error."""

from __future__ import annotations

import asyncio

from anthropic import AsyncAnthropic
from cases import DEMO, PERSON, PLAYER, QUESTION, RESULT, SCENE, THOUGHT, Person, ok
from pydantic_ai import Agent, NativeOutput, ToolOutput
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelRequest, ThinkingPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

WEATHER = ToolDefinition(
    name="get_weather",
    description="Tell the weather of a city.",
    parameters_json_schema={
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
SETTINGS = ModelSettings(temperature=0, max_tokens=150, parallel_tool_calls=False)


def models(url: str, name: str = "default") -> dict[str, Model]:
    """A model for each of our surfaces."""
    openai = OpenAIProvider(base_url=f"{url}/v1", api_key="unused")
    client = AsyncAnthropic(base_url=url, api_key="unused", max_retries=0)
    return {
        "chat": OpenAIChatModel(name, provider=openai),
        "responses": OpenAIResponsesModel(name, provider=openai),
        "messages": AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client)),
    }


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    assert isinstance(city, str)
    return RESULT


async def main() -> None:
    """Seven cases with each model, six over Messages."""
    for surface, model in models(DEMO).items():
        talk = [ModelRequest(parts=[UserPromptPart(QUESTION)])]
        must_call = ModelRequestParameters(function_tools=[WEATHER], allow_text_output=False)
        whole = await model_request(model, talk, model_request_parameters=must_call, model_settings=SETTINGS)
        async with model_request_stream(
            model, talk, model_request_parameters=must_call, model_settings=SETTINGS
        ) as stream:
            async for _ in stream:
                pass
        for kind, first in (("whole", whole), ("streamed", stream.get())):
            results = [
                ToolReturnPart(tool_name=call.tool_name, content=RESULT, tool_call_id=call.tool_call_id)
                for call in first.tool_calls
            ]
            second = await model_request(
                model,
                [*talk, first, ModelRequest(parts=results)],
                model_request_parameters=ModelRequestParameters(function_tools=[WEATHER]),
                model_settings=SETTINGS,
            )
            ok(f"{surface} {kind}", called=first.tool_calls, text=second.text)
        native = (
            [] if surface == "messages" else [NativeOutput(Person)]
        )  # which it sends to models alone whose names it knows
        for output in (ToolOutput(Person), *native):
            run = await Agent(model, output_type=output, model_settings=SETTINGS).run(PERSON)
            ok(f"{surface} {type(output).__name__}", called=run.output)
        try:
            await Agent(models(DEMO, "gone")[surface]).run(PERSON)
        except ModelHTTPError as error:
            ok(f"{surface} error", text=error.message)

    for surface, model in models(PLAYER).items():
        summary = ModelSettings(openai_reasoning_summary="auto") if surface == "responses" else ModelSettings()
        agent = Agent(model, tools=[get_weather], model_settings=summary)
        run = await agent.run(SCENE)
        thoughts = [
            part.content.strip()
            for message in run.all_messages()
            for part in message.parts
            if isinstance(part, ThinkingPart)
        ]
        assert thoughts[0] == THOUGHT, thoughts
        ok(f"{surface} with thoughts", text=run.output, result=True)
        async with agent.run_stream(SCENE) as streamed:
            ok(f"{surface} with thoughts, streamed", text=await streamed.get_output(), result=True)


asyncio.run(main())
