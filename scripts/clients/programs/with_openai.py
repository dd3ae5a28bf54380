"""OpenAI's SDK: Responses whole, streamed, parsed, kept, in the background, in conversations and over a socket; Chat's helpers."""

from __future__ import annotations

import json

import openai
from cases import DEATH, DEMO, PERSON, PLAYER, QUESTION, RESULT, SCENE, THOUGHT, Person, ok
from openai import OpenAI
from openai.resources.responses.responses import ResponsesConnection
from openai.types.responses import Response, ResponseFunctionToolCall

PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
ABOUT = {"name": "get_weather", "description": "Tell the weather.", "parameters": PARAMETERS, "strict": True}
WEATHER = {"type": "function", **ABOUT}
demo = OpenAI(base_url=f"{DEMO}/v1", api_key="unused", max_retries=0)
player = OpenAI(base_url=f"{PLAYER}/v1", api_key="unused", max_retries=0)


def calls(response: Response) -> list[ResponseFunctionToolCall]:
    """The calls among its items."""
    return [item for item in response.output if item.type == "function_call"]


def results(response: Response) -> list[dict[str, str]]:
    """The items that answer its calls."""
    return [{"type": "function_call_output", "call_id": call.call_id, "output": RESULT} for call in calls(response)]


asked = {
    "model": "default",
    "temperature": 0,
    "max_output_tokens": 150,
    "tools": [WEATHER],
    "parallel_tool_calls": False,
}
for choice in ({"type": "function", "name": "get_weather"}, "required"):
    forced = {**asked, "input": QUESTION, "tool_choice": choice}
    whole = demo.responses.create(**forced)
    with demo.responses.stream(**forced) as stream:
        streamed = stream.until_done().get_final_response()
    for kind, response in (("whole", whole), ("streamed", streamed)):
        cities = [json.loads(call.arguments)["city"] for call in calls(response)]
        answer = demo.responses.create(**asked, input=results(response), previous_response_id=response.id)
        ok(f"{'required' if choice == 'required' else 'by name'} {kind}", called=cities, text=answer.output_text)

person = demo.responses.parse(model="default", input=PERSON, text_format=Person)
ok("parse", called=person.output_parsed)
items = list(demo.responses.input_items.list(person.id))
assert demo.responses.retrieve(person.id).output_text == person.output_text
counted = demo.responses.input_tokens.count(model="default", input=PERSON)
plain = demo.responses.create(model="default", input=PERSON, max_output_tokens=16)
assert counted.input_tokens == plain.usage.input_tokens
ok("kept and counted", text=items[0].content[0].text)
demo.responses.delete(person.id)
try:
    demo.responses.retrieve(person.id)
except openai.NotFoundError as gone:
    ok("deleted", text=gone.message)

conversation = demo.conversations.create()
said = demo.responses.create(model="default", input=PERSON, conversation=conversation.id, max_output_tokens=16)
ok("conversation", called=len(list(demo.conversations.items.list(conversation.id))) == 2, text=said.output_text)
greeted = player.responses.create(model="default", input="Hello.")
compacted = player.responses.compact(model="default", previous_response_id=greeted.id)
going_on = [item.to_dict(warnings=False) for item in compacted.output] + [{"role": "user", "content": PERSON}]
ok("compact", text=player.responses.create(model="default", input=going_on).output_text)

events = []
for event in demo.responses.create(model="default", input=QUESTION, max_output_tokens=60, background=True, stream=True):
    events.append(event)
    if len(events) == 6:
        break
identity = events[0].response.id
events += demo.responses.retrieve(identity, stream=True, starting_after=events[-1].sequence_number)
assert [event.sequence_number for event in events] == list(range(len(events)))
text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
assert text == demo.responses.retrieve(identity).output_text
ok("background, resumed", text=text)
long = demo.responses.create(model="default", input=QUESTION, max_output_tokens=1500, background=True)
ok("background, cancelled", called=demo.responses.cancel(long.id).status == "cancelled")

asked = {"model": "default", "tools": [WEATHER]}
with player.responses.stream(**asked, input=SCENE, reasoning={"summary": "auto"}) as stream:
    kinds = {event.type for event in stream}
    response = stream.get_final_response()
assert "response.reasoning_summary_text.delta" in kinds
assert response.output[0].summary[0].text.strip() == THOUGHT
replayed = player.responses.create(
    **asked, input=[{"role": "user", "content": SCENE}, *response.output, *results(response)], store=False
)
ok("thinking", called=calls(response), text=replayed.output_text, result=True)


def last(connection: ResponsesConnection) -> Response:
    """The response of the next terminal event."""
    return next(event.response for event in connection if event.type == "response.completed")


with player.responses.connect() as connection:
    connection.response.create(**asked, input=SCENE, store=False)
    first = last(connection)
    connection.response.create(**asked, input=results(first), store=False, previous_response_id=first.id)
    ok("socket", called=calls(first), text=last(connection).output_text, result=True)

chat = {"model": "default", "messages": [{"role": "user", "content": PERSON}], "response_format": Person}
ok("chat parse", called=demo.chat.completions.parse(**chat).choices[0].message.parsed)
with demo.chat.completions.stream(**chat) as stream:
    ok("chat stream", called=stream.get_final_completion().choices[0].message.parsed)
messages = [{"role": "user", "content": SCENE}]
tools = [{"type": "function", "function": ABOUT}]
with player.chat.completions.stream(model="default", messages=messages, tools=tools) as stream:
    message = stream.get_final_completion().choices[0].message
assert message.reasoning_content.strip() == THOUGHT
messages += [message, {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": RESULT}]
answer = player.chat.completions.create(model="default", messages=messages, tools=tools)
ok("chat thinking", called=message.tool_calls, text=answer.choices[0].message.content, result=True)

for client, failing, error in (
    (demo, {"model": "gone", "input": PERSON}, openai.NotFoundError),
    (demo, {"model": "default", "input": PERSON, "temperature": 9}, openai.BadRequestError),
    (player, {**asked, "input": DEATH}, openai.APIError),
):
    try:
        list(client.responses.create(**failing, stream=True))
    except error as caught:
        ok(error.__name__, text=caught.message)
