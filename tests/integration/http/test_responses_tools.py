"""Tools of Responses over HTTP: named for the model in one way, told to the client in its own, and remembered."""

from __future__ import annotations

import pytest

from dragoman.core.request import Conversation, TextPrompt
from dragoman.dialects.base import OutputParser
from support.call_parser import CallParser
from support.house import House
from support.tag_dialect import TagDialect

PATH = "/v1/responses"
PATCH = {"type": "custom", "name": "patch"}
GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}
TOOLS = [
    {"type": "function", "name": "run"},
    {"type": "namespace", "name": "agents", "description": "", "tools": [{"type": "function", "name": "run"}]},
    PATCH,
    {"type": "web_search"},
]


class Caller(TagDialect):
    """Lists its tools before the conversation, and writes calls into it as they were made."""

    def render(self, conversation: Conversation) -> TextPrompt:
        head = "".join(f"<{tool.name}>" for tool in conversation.tools)
        turns = (
            f"[{message.role.value}]{message.text}"
            + "".join(f"[{call.name}|{call.arguments}]" for call in message.tool_calls)
            for message in conversation.messages
        )
        return TextPrompt(text=head + "".join(turns), add_special=False)

    def parser(self, conversation: Conversation, prompt: TextPrompt) -> OutputParser:
        return CallParser()


async def played(house: House, body: dict, *said: str):
    """The prompt that the engine got for this body, and the answer, of which the engine says this."""
    exchange = house.client.open("POST", PATH, body)
    stream = await house.engine.next_stream()
    stream.accept()
    stream.say(*said)
    stream.done(emitted=len(said))
    return stream.request.prompt.text, await exchange.end()


@pytest.mark.feature("tools_namespaces", "responses")
@pytest.mark.seeds("S119")
async def test_a_namespaced_call_comes_back_in_its_namespace_and_is_remembered_as_the_model_wrote_it():
    house = House(dialect=Caller())
    prompt, reply = await played(house, {"input": "go", "tools": TOOLS}, "[agents__run|{}", "]")
    assert prompt == "<run><agents__run><patch>[user]go"
    (call,) = reply.json()["output"]
    assert (call["type"], call["name"], call["namespace"], call["arguments"]) == (
        "function_call",
        "run",
        "agents",
        "{}",
    )
    assert reply.headers["x-dragoman-ignored"] == "tools.*.description, tools.*.web_search"

    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "ran"}
    body = {"previous_response_id": reply.json()["id"], "input": [output], "tools": TOOLS}
    prompt, reply = await played(house, body, "Done.")
    assert prompt == "<run><agents__run><patch>[user]go[assistant][agents__run|{}][tool]ran"
    assert reply.json()["output"][0]["content"][0]["text"] == "Done."


@pytest.mark.feature("tools_custom", "responses")
async def test_a_custom_call_is_text_for_the_client_and_an_argument_for_the_model():
    house = House(dialect=Caller())
    _, reply = await played(house, {"input": "go", "tools": [PATCH]}, "[patch|", '{"input":"a\\"b"}', "]")
    (call,) = reply.json()["output"]
    assert (call["type"], call["name"], call["input"]) == ("custom_tool_call", "patch", 'a"b')

    again = [{"role": "user", "content": "go"}, call]
    answer = {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "done"}
    prompt, _ = await played(house, {"input": [*again, answer], "tools": [PATCH]}, "Fine.")
    assert prompt == '<patch>[user]go[assistant][patch|{"input":"a\\"b"}][tool]done'


@pytest.mark.seeds("S144")
async def test_an_output_whose_call_is_nowhere_is_refused_by_its_place():
    house = House(dialect=Caller())
    _, reply = await played(house, {"input": "go"}, "Hello.")
    output = {"type": "function_call_output", "call_id": "call_nowhere", "output": "x"}
    refused = await house.client.post(PATH, {"previous_response_id": reply.json()["id"], "input": [output]})
    assert (refused.status, refused.json()["error"]["param"]) == (400, "input.0.call_id")


async def test_instructions_are_for_one_response_alone():
    house = House(dialect=Caller())
    prompt, reply = await played(house, {"input": "go", "instructions": "Be brief."}, "Yes.")
    assert prompt == "[system]Be brief.[user]go"
    prompt, _ = await played(house, {"previous_response_id": reply.json()["id"], "input": "on"}, "Yes.")
    assert prompt == "[user]go[assistant]Yes.[user]on"


@pytest.mark.seeds("S59")
async def test_a_grammar_is_a_promise_that_an_engine_without_grammars_cannot_give():
    house = House(dialect=Caller())
    refused = await house.client.post(PATH, {"input": "go", "tools": [PATCH | {"format": GRAMMAR}]})
    assert (refused.status, refused.json()["error"]["param"]) == (400, "tools")
