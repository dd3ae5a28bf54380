"""pydantic-ai: a tool that must be called and then an answer in text; and structured answers by a tool and by a schema."""

from __future__ import annotations

import asyncio
import json
import sys

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, ToolOutput
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition


class Person(BaseModel):
    """A person."""

    name: str
    age: int


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


async def main() -> None:
    """Three loops, one line each."""
    model = OpenAIChatModel("default", provider=OpenAIProvider(base_url=sys.argv[1], api_key="unused"))
    talk = [ModelRequest(parts=[UserPromptPart("What is the weather in Paris?")])]
    must_call = ModelRequestParameters(function_tools=[WEATHER], allow_text_output=False)
    first = await model_request(model, talk, model_request_parameters=must_call, model_settings=SETTINGS)
    calls = first.tool_calls
    results = [
        ToolReturnPart(tool_name=call.tool_name, content="Sunny, 21 degrees.", tool_call_id=call.tool_call_id)
        for call in calls
    ]
    may_call = ModelRequestParameters(function_tools=[WEATHER])
    second = await model_request(
        model, [*talk, first, ModelRequest(parts=results)], model_request_parameters=may_call, model_settings=SETTINGS
    )
    print(json.dumps({"called": [call.args_as_dict()["city"] for call in calls], "answer": second.text}))
    for output in (ToolOutput(Person), NativeOutput(Person)):
        agent = Agent(model, output_type=output, model_settings=SETTINGS)
        run = await agent.run("Bob is 31 years old.")
        print(json.dumps({"called": [type(output).__name__], "answer": run.output.name}))


asyncio.run(main())
