"""LangChain's ChatOpenAI: a tool by name and any tool, strict and not, whole and streamed; and a structured answer by each method."""

from __future__ import annotations

import json
import sys

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Person(BaseModel):
    """A person."""

    name: str
    age: int


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"Sunny in {city}, 21 degrees."


model = ChatOpenAI(
    base_url=sys.argv[1], api_key="unused", model="default", temperature=0, max_tokens=120, max_retries=0
)
weather = tool(get_weather)
for choice in ("get_weather", "any"):
    for strict in (None, True):
        caller = model.bind_tools([weather], tool_choice=choice, strict=strict, parallel_tool_calls=False)
        talk = [HumanMessage("What is the weather in Paris?")]
        whole = caller.invoke(talk)
        pieces = list(caller.stream(talk))
        streamed = sum(pieces[1:], start=pieces[0])
        for message in (whole, streamed):
            results = [weather.invoke(call) for call in message.tool_calls]
            answer = model.bind_tools([weather]).invoke([*talk, message, *results])
            called = [call["args"]["city"] for call in message.tool_calls]
            print(json.dumps({"called": called, "answer": answer.content}))
for method in ("function_calling", "json_schema"):
    person = model.with_structured_output(Person, method=method).invoke("Bob is 31 years old.")
    print(json.dumps({"called": [method], "answer": person.name}))
