"""Instructor: a structured answer by a tool, a strict tool and a schema, and one that grows."""

from __future__ import annotations

import json
import sys

import instructor
import openai
from pydantic import BaseModel


class Person(BaseModel):
    """A person."""

    name: str
    age: int


client = openai.OpenAI(base_url=sys.argv[1], api_key="unused", max_retries=0)
asked = {
    "model": "default",
    "response_model": Person,
    "max_tokens": 100,
    "temperature": 0,
    "max_retries": 0,
    "messages": [{"role": "user", "content": "Bob is 31 years old."}],
}
for mode in (instructor.Mode.TOOLS, instructor.Mode.TOOLS_STRICT, instructor.Mode.JSON_SCHEMA):
    person = instructor.from_openai(client, mode=mode).chat.completions.create(**asked)
    print(json.dumps({"called": [mode.value], "answer": person.name}))
*_, grown = instructor.from_openai(client, mode=instructor.Mode.TOOLS).chat.completions.create_partial(**asked)
print(json.dumps({"called": ["partial"], "answer": grown.name}))
