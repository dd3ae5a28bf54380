"""The turn after an answer, through every surface and with the template of every family: the prompt goes on from what the model has written.

The answers are those of the families' tapes, told to a client in each contract's own shape, and sent back by it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count, pairwise
from typing import Any

import msgspec
import pytest

from dragoman.core.events import (
    Accepted,
    ChoiceFinished,
    Finished,
    FinishReason,
    GenerationEvent,
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallBegun,
    ToolCallEnded,
    Usage,
)
from dragoman.core.request import Conversation, ToolSpec
from dragoman.surfaces.anthropic_messages import Messages
from dragoman.surfaces.base import Projector, Stamp
from dragoman.surfaces.openai_chat import ChatCompletions
from dragoman.surfaces.responses import Responses
from dragoman.surfaces.responses_projector import ResponsesProjector
from support.dialect_tapes import SPLIT, Answer, Tape, all_tapes, answer, families, model, parse, speak
from support.grammars import led

QUESTION = "How will it be?"
STAMP = Stamp(id="x", created=0, model="m")

Turns = Callable[[Sequence[ToolSpec], bool | None, Answer], tuple[Conversation, Conversation]]
"""A question with tools, and the same with the answer and what came after it."""


def events(told: Answer) -> Iterator[GenerationEvent]:
    yield Accepted(prompt_tokens=1)
    if told.reasoning:
        yield ReasoningDelta(text=told.reasoning)
    if told.text:
        yield TextDelta(text=told.text)
    for index, (name, arguments, _) in enumerate(told.calls):
        yield ToolCallBegun(index=index, name=name)
        yield ToolCallArguments(index=index, text=arguments)
        yield ToolCallEnded(index=index)
    yield ChoiceFinished(reason=FinishReason.TOOL_CALLS if told.calls else FinishReason.STOP)
    yield Finished(usage=Usage(prompt_tokens=1, completion_tokens=1))


def answered(projector: Projector, told: Answer) -> Any:
    for event in events(told):
        projector.feed(event)
    return msgspec.json.decode(msgspec.json.encode(projector.result()))


def of_chat(tools: Sequence[ToolSpec], thinking: bool | None, told: Answer) -> tuple[Conversation, Conversation]:
    functions = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters or {"type": "object"}}
        for tool in tools
    ]
    body: dict[str, Any] = {
        "messages": [{"role": "user", "content": QUESTION}],
        "tools": [{"type": "function", "function": function} for function in functions],
        "enable_thinking": thinking,
    }
    surface = ChatCompletions()
    call = surface.parse(body)
    message = answered(surface.projector(call, STAMP), told)["choices"][0]["message"]
    after: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": called["id"], "content": f"result {index}"}
        for index, called in enumerate(message.get("tool_calls") or ())
    ]
    body["messages"] += [message, *(after or [{"role": "user", "content": "And then?"}])]
    return conversation_of(call), conversation_of(surface.parse(body))


def of_messages(thoughts: str) -> Turns:
    def turns(tools: Sequence[ToolSpec], thinking: bool | None, told: Answer) -> tuple[Conversation, Conversation]:
        modes = {None: "adaptive", True: "enabled", False: "disabled"}
        body: dict[str, Any] = {
            "messages": [{"role": "user", "content": QUESTION}],
            "tools": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.parameters or {"type": "object"},
                }
                for tool in tools
            ],
            "thinking": {"type": modes[thinking], "display": thoughts},
        }
        surface = Messages()
        call = surface.parse(body)
        content = answered(surface.projector(call, STAMP), told)["content"]
        calls = [block for block in content if block["type"] == "tool_use"]
        after = [
            {
                "type": "tool_result",
                "tool_use_id": called["id"],
                "content": [{"type": "text", "text": f"result {index}"}],
            }
            for index, called in enumerate(calls)
        ]
        body["messages"] += [
            {"role": "assistant", "content": content},
            {"role": "user", "content": after or [{"type": "text", "text": "And then?"}]},
        ]
        # What was said before comes in blocks the second time, as Claude Code does it.
        body["messages"][0]["content"] = [
            {"type": "text", "text": QUESTION, "cache_control": {"type": "ephemeral"}},
        ]
        return conversation_of(call), conversation_of(surface.parse(body))

    return turns


def of_responses(kept: str) -> Turns:
    """``kept``: the field of a reasoning item that the client sends back."""

    def turns(tools: Sequence[ToolSpec], thinking: bool | None, told: Answer) -> tuple[Conversation, Conversation]:
        body: dict[str, Any] = {
            "input": QUESTION,
            "tools": [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters or {"type": "object"},
                }
                for tool in tools
            ],
            "enable_thinking": thinking,
            "reasoning": {"summary": "auto"} if kept == "summary" else None,
            "include": ["reasoning.encrypted_content"],
        }
        numbers = count()
        surface = Responses()

        def parse() -> Any:
            return surface.parse(body, mint=lambda: str(next(numbers))).resolve()

        call = parse()
        items = answered(ResponsesProjector(call, STAMP, clock=lambda: 0.0), told)["output"]
        for item in items:
            if item["type"] == "reasoning":
                for other in {"content", "summary", "encrypted_content"} - {kept}:
                    item.pop(other, None)
        calls = [item for item in items if item["type"] == "function_call"]
        after: list[dict[str, Any]] = [
            {"type": "function_call_output", "call_id": called["call_id"], "output": f"result {index}"}
            for index, called in enumerate(calls)
        ]
        body["input"] = [
            {"role": "user", "content": [{"type": "input_text", "text": QUESTION}]},
            *items,
            *(after or [{"role": "user", "content": "And then?"}]),
        ]
        return conversation_of(call), conversation_of(parse())

    return turns


def conversation_of(call: Any) -> Conversation:
    assert isinstance(call.operation.prompt, Conversation)
    return call.operation.prompt


SURFACES: dict[str, Turns] = {
    "messages": of_messages("summarized"),
    "messages_omitted": of_messages("omitted"),
    "responses": of_responses("content"),
    "responses_summary": of_responses("summary"),
    "responses_encrypted": of_responses("encrypted_content"),
}


def is_whole(tape: Tape) -> bool:
    """Whether a client can carry what the model said: each call is over, and its arguments are an object."""
    return all(over and arguments.startswith("{") for _, arguments, over in tape.expected.calls)


def compact(told: Answer) -> Answer:
    """Arguments without white space, as grammars have a model write them: Messages carries them as an object."""
    calls = tuple(
        (name, json.dumps(json.loads(arguments), ensure_ascii=False, separators=(",", ":")), over)
        for name, arguments, over in told.calls
    )
    return Answer(text=told.text, reasoning=told.reasoning, calls=calls)


TAPES = [tape for tape in all_tapes() if is_whole(tape)]
CALLING = [family for family in families() if "calls" not in model(family).lacks]


@pytest.mark.parametrize("name", SURFACES)
@pytest.mark.parametrize("family", families())
def test_all_surfaces_write_the_second_turn_alike(family, name):
    dialect = speak(family)
    for tape in (tape for tape in TAPES if tape.family == family):
        told, asked = compact(tape.expected), tape.conversation
        chat = of_chat(asked.tools, asked.thinking.enabled, told)
        other = SURFACES[name](asked.tools, asked.thinking.enabled, told)
        assert list(map(dialect.render, other)) == list(map(dialect.render, chat)), tape.case


@pytest.mark.parametrize(
    "family",
    ["granite", "hermes", "kimi_k2", "kimi_k3", "llama3", "mistral", "phi", "qwen3_6", "qwen3_8", "qwen3_coder", "glm", "mimo"],
)  # fmt: skip
def test_what_a_grammar_had_the_model_write_is_what_the_template_writes_of_it(family):
    """So no token of a call, which may hold a whole file, is read again in the next turn (S141)."""
    dialect = speak(family)
    case = "hard_strings" if family in {"granite", "hermes", "llama3", "phi"} else "two_calls"
    tape = next(tape for tape in TAPES if (tape.family, tape.case) == (family, case))
    tools, thinking = tape.conversation.tools, tape.conversation.thinking.enabled
    first, _ = of_chat(tools, thinking, Answer(text="x"))
    prompt = dialect.render(first)
    grammar = dialect.grammar(first, prompt, None)
    assert grammar is not None
    written = led(grammar, tape.output.replace(SPLIT, ""), specials=model(family).specials)
    told = answer(parse(dialect.parser(first, prompt), written))
    _, second = of_chat(tools, thinking, told)
    assert dialect.render(second).text.startswith(prompt.text + "".join(piece for piece, _ in written))


def of_custom(tool: str, written: str) -> tuple[Conversation, Conversation]:
    """A call of a custom tool, whose text the client gets and gives back without the JSON around it."""
    body: dict[str, Any] = {"input": QUESTION, "tools": [{"type": "custom", "name": tool, "description": "Run it."}]}
    numbers = count()
    surface = Responses()

    def parse() -> Any:
        return surface.parse(body, mint=lambda: str(next(numbers))).resolve()

    call = parse()
    arguments = json.dumps({"input": written}, ensure_ascii=False, separators=(",", ":"))
    told = Answer(calls=((tool, arguments, True),))
    (item,) = answered(ResponsesProjector(call, STAMP, clock=lambda: 0.0), told)["output"]
    assert (item["type"], item["input"]) == ("custom_tool_call", written)
    after = {"type": "custom_tool_call_output", "call_id": item["call_id"], "output": "result 0"}
    body["input"] = [{"role": "user", "content": QUESTION}, item, after]
    return conversation_of(call), conversation_of(parse())


@pytest.mark.parametrize("family", CALLING)
def test_a_custom_call_is_written_as_the_function_that_the_model_called(family):
    written = 'print("é")\n'
    dialect = speak(family)
    custom = of_custom("run", written)
    (function,) = custom[0].tools
    arguments = json.dumps({"input": written}, ensure_ascii=False, separators=(",", ":"))
    chat = of_chat([function], None, Answer(calls=(("run", arguments, True),)))
    assert list(map(dialect.render, custom)) == list(map(dialect.render, chat))


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def found(call: str, tool: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": [{"type": "tool_reference", "tool_name": tool}]}


LONG: list[dict[str, Any]] = [
    {"role": "user", "content": QUESTION},
    {"role": "system", "content": "It is Monday."},
    {"role": "assistant", "content": [text("Well."), {"type": "tool_use", "id": "t1", "name": "f", "input": {"q": 1}}]},
    {"role": "user", "content": [found("t1", "g"), text("And?")]},
    {"role": "system", "content": "3 files have changed."},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t2", "name": "g", "input": {"q": "é"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": "slate"}]},
    {"role": "assistant", "content": [text("Slate.")]},
    {"role": "system", "content": "It is Tuesday."},
    {"role": "user", "content": "Thanks."},
]
SCHEMA = {"type": "object", "properties": {"q": {"description": "What."}}}


def asked_up_to(last: int, *, in_blocks: bool) -> Conversation:
    """``in_blocks``: texts stand in blocks, with a breakpoint on the last; else they are strings."""
    turns = LONG[:last]
    system: Any = "Be brief."
    if in_blocks:
        system = [text(system)]
        turns = [
            {**turn, "content": [text(turn["content"])]} if isinstance(turn["content"], str) else turn for turn in turns
        ]
        turns[-1] = {**turns[-1], "content": [*turns[-1]["content"][:-1], {**turns[-1]["content"][-1], "cache_control": {"type": "ephemeral"}}]}  # fmt: skip
    tools = [
        {"name": "f", "description": "Find.", "input_schema": SCHEMA},
        {"name": "g", "description": "Get.", "input_schema": SCHEMA, "defer_loading": True},
    ]
    body = {"system": system, "messages": turns, "tools": tools, "thinking": {"type": "disabled"}}
    return conversation_of(Messages().parse(body))


@pytest.mark.parametrize("family", CALLING)
def test_a_prompt_grows_at_its_end_whatever_is_found_and_said_on_the_way(family):
    """A deferred tool that is found, system turns in between, strings that come again as blocks (wire.md, findings 7 and 8)."""
    dialect = speak(family)
    written = [
        dialect.render(replace(asked_up_to(last, in_blocks=bool(place % 2)), add_generation_prompt=False)).text
        for place, last in enumerate((2, 5, 7, 10))
    ]
    # Every turn's beginning is judged by what stands in front of the answer to come.
    assert [after.startswith(before) for before, after in pairwise(written)] == [True] * 3
