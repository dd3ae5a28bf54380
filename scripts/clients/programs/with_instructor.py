"""Instructor: a structured answer by each of its modes over Chat, Responses and Messages, and one that grows."""

from __future__ import annotations

import anthropic
import instructor
import openai
from cases import DEMO, PERSON, Person, ok

asked = {
    "model": "default",
    "response_model": Person,
    "max_retries": 0,
    "messages": [{"role": "user", "content": PERSON}],
}
limited = {**asked, "max_tokens": 100, "temperature": 0}
client = openai.OpenAI(base_url=f"{DEMO}/v1", api_key="unused", max_retries=0)
for mode in (instructor.Mode.TOOLS, instructor.Mode.TOOLS_STRICT, instructor.Mode.JSON_SCHEMA):
    person = instructor.from_openai(client, mode=mode).chat.completions.create(**limited)
    ok(f"chat {mode.value}", called=person)
*_, grown = instructor.from_openai(client, mode=instructor.Mode.TOOLS).chat.completions.create_partial(**limited)
ok("chat, growing", called=grown)
responses = instructor.from_openai(client, mode=instructor.Mode.RESPONSES_TOOLS)
ok("responses", called=responses.chat.completions.create(**asked))
messages = anthropic.Anthropic(base_url=DEMO, api_key="unused", max_retries=0)
ok(
    "messages",
    called=instructor.from_anthropic(messages).create(**asked, max_tokens=100, extra_body={"temperature": 0}),
)
