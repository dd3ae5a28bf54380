"""Tools over HTTP: what a model is told of them, what comes back of its calls, and what of it /tokenize counts."""

from __future__ import annotations

import pytest

from dragoman.core.errors import Code, Unsupported
from dragoman.core.request import Conversation, OutputFormat, TextPrompt
from dragoman.dialects.base import OutputParser
from dragoman.gateway.options import GatewayOptions
from support.call_parser import CallParser
from support.house import House
from support.markup_parser import MarkupParser
from support.tag_dialect import TagDialect

PATH = "/v1/chat/completions"
CHAT = {"messages": [{"role": "user", "content": "hi"}]}
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("f", "g")]


class Caller(TagDialect):
    """Lists its tools before the conversation, and refuses what it would need a grammar for."""

    def render(self, conversation: Conversation) -> TextPrompt:
        rendered = super().render(conversation)
        head = "".join(f"<{tool.name}>" for tool in conversation.tools)
        return TextPrompt(text=head + rendered.text, add_special=False)

    def grammar(self, conversation: Conversation, prompt: TextPrompt, output: OutputFormat | None) -> str | None:
        if conversation.tool_choice.names:
            raise Unsupported(
                "this family can not be held to a choice", code=Code.UNSUPPORTED_FIELD, feature="tool_choice"
            )
        return None

    def parser(self, conversation: Conversation, prompt: TextPrompt) -> OutputParser:
        return CallParser()


class Thinker(TagDialect):
    def parser(self, conversation: Conversation, prompt: TextPrompt) -> OutputParser:
        return MarkupParser()


async def played(house: House, body: dict, *said: str, length_limited: bool = False):
    """The answer to this body, of which the engine says this."""
    exchange = house.client.open("POST", PATH, body)
    stream = await house.engine.next_stream()
    stream.accept()
    stream.say(*said)
    stream.done(emitted=len(said), length_limited=length_limited)
    return stream.request, await exchange.end()


@pytest.mark.seeds("S119")
async def test_calls_come_back_in_both_shapes_of_an_answer() -> None:
    body = CHAT | {"tools": TOOLS}
    request, reply = await played(House(dialect=Caller()), body, "Well: ", "[f|{}", "][g|", '{"a":1}', "]")
    assert request.prompt.text == "<f><g>[user]hi"
    (choice,) = reply.json()["choices"]
    made = [(call["id"], call["function"]) for call in choice["message"]["tool_calls"]]
    assert made == [
        ("call_0123_0_0", {"name": "f", "arguments": "{}"}),
        ("call_0123_0_1", {"name": "g", "arguments": '{"a":1}'}),
    ]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("Well: ", "tool_calls")

    _, streamed = await played(
        House(dialect=Caller()), body | {"stream": True}, "Well: ", "[f|{}", "][g|", '{"a":1}', "]"
    )
    chunks = [data["choices"][0] for data in streamed.data if data != "[DONE]"]
    parts = [part for chunk in chunks for part in chunk["delta"].get("tool_calls", [])]
    assert [(part["index"], part["id"], part["function"]["name"]) for part in parts if "id" in part] == [
        (0, "call_0123_0_0", "f"),
        (1, "call_0123_0_1", "g"),
    ]
    for index, arguments in enumerate(["{}", '{"a":1}']):
        assert "".join(part["function"]["arguments"] for part in parts if part["index"] == index) == arguments
    assert chunks[-1]["finish_reason"] == "tool_calls"


@pytest.mark.seeds("S57")
async def test_a_call_that_the_budget_cut_is_told_as_far_as_it_came() -> None:
    _, reply = await played(House(dialect=Caller()), CHAT | {"tools": TOOLS}, '[f|{"a":', length_limited=True)
    (choice,) = reply.json()["choices"]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("length", None)
    assert choice["message"]["tool_calls"][0]["function"]["arguments"] == '{"a":'


async def test_tools_that_may_not_be_called_are_not_told_to_the_model() -> None:
    request, reply = await played(House(dialect=Caller()), CHAT | {"tools": TOOLS, "tool_choice": "none"}, "No.")
    assert request.prompt.text == "[user]hi"
    assert reply.headers["x-dragoman-ignored"] == "tools"


@pytest.mark.parametrize(
    "fields, param",
    [
        ({"tools": TOOLS, "tool_choice": TOOLS[0]}, "tool_choice"),
        ({"functions": [{"name": "f"}], "function_call": {"name": "f"}}, "function_call"),
    ],
)
async def test_what_a_family_cannot_be_held_to_is_named_as_the_client_spelled_it(fields, param) -> None:
    reply = await House(dialect=Caller()).client.post(PATH, CHAT | fields)
    assert reply.status == 400
    assert reply.json()["error"]["param"] == param


@pytest.mark.seeds("S54")
@pytest.mark.parametrize("fields", [{}, {"tools": TOOLS}, {"tools": TOOLS, "tool_choice": "none"}])
async def test_a_count_is_of_the_prompt_that_chat_would_answer(fields) -> None:
    """peers.md 67; the engine of this test has a token for each character."""
    house = House(dialect=Caller())
    request, _ = await played(house, CHAT | fields, "x")
    counted = await house.client.post("/tokenize", CHAT | fields)
    assert counted.json()["count"] == len(request.prompt.text)


@pytest.mark.parametrize(
    "setting, names",
    [
        ("reasoning_content", {"reasoning_content"}),
        ("reasoning", {"reasoning"}),
        ("both", {"reasoning_content", "reasoning"}),
    ],
)
async def test_reasoning_is_called_what_the_operator_decided(setting, names) -> None:
    house = House(dialect=Thinker(), options=GatewayOptions(reasoning_field=setting))
    _, reply = await played(house, CHAT, "<r>Hm.</r>Yes")
    message = reply.json()["choices"][0]["message"]
    assert message["content"] == "Yes"
    assert {name for name in ("reasoning_content", "reasoning") if message.get(name) == "Hm."} == names


@pytest.mark.seeds("S126")
async def test_buffered_answers_with_tools_are_made_side_by_side() -> None:
    house = House(dialect=Caller())
    exchanges = [house.client.open("POST", PATH, CHAT | {"tools": TOOLS}) for _ in range(2)]
    streams = [await house.engine.next_stream() for _ in range(2)]  # the second came while the first was running
    for stream in reversed(streams):
        stream.accept()
        stream.say("[f|{}]")
        stream.done(emitted=1)
    for exchange in exchanges:
        assert (await exchange.end()).json()["choices"][0]["finish_reason"] == "tool_calls"
