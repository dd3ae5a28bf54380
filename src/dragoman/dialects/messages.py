"""A conversation as templates see it: dictionaries in the shape of OpenAI's chat messages and tools, as Transformers passes them.

Every text that a client wrote goes through a ``Pen`` on its way, keys included; what we write ourselves does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from dragoman.core.json import Json, JsonObject
from dragoman.core.request import Conversation, Message, Role, ToolCall, ToolMode, ToolSpec

Write: TypeAlias = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pen:
    """How each kind of a client's text is written.

    ``prose`` is what a model reads. ``word`` is for names, ids and keys, which templates look up and sort, and ``term`` for values that
    templates compare, such as the types in a schema.
    """

    prose: Write
    word: Write
    term: Write


@dataclass(frozen=True, slots=True, kw_only=True)
class CallShape:
    """What a template expects of earlier calls, where most take them as they are.

    Most also walk the arguments as an object, and add the content of a turn that only calls tools to other strings. Mistral's insist on ids
    of nine letters and digits.
    """

    short_ids: bool = False
    arguments_as_text: bool = False
    content_is_null: bool = False


SHAPES: tuple[CallShape, ...] = (
    CallShape(),
    CallShape(short_ids=True),
    CallShape(arguments_as_text=True),
    CallShape(arguments_as_text=True, content_is_null=True),
)
"""All that are known, the commonest first."""

_SHORT_ID: Final = re.compile("[A-Za-z0-9]{9}")

_KEYWORDS: Final = frozenset(
    {
        *("type", "description", "title", "default", "enum", "const", "format", "pattern", "nullable", "examples"),
        *("properties", "required", "additionalProperties", "items", "anyOf", "oneOf", "allOf", "$ref", "$defs"),
        *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
    }
)
"""Keys of a JSON Schema that templates ask for, and must find. No model has control tokens that are made of them."""


def template_messages(messages: Sequence[Message], *, pen: Pen, shape: CallShape = SHAPES[0]) -> list[JsonObject]:
    """The messages for a template, tool results in the order of the calls that they answer (S119)."""
    ordered = in_call_order(messages)
    return [_message(message, pen, shape) for message in (_with_short_ids(ordered) if shape.short_ids else ordered)]


def in_parts(message: JsonObject) -> JsonObject:
    """The message with its text as the only part of its content: some templates of models that see take nothing else."""
    content = message["content"]
    if not isinstance(content, str):
        return message
    return {**message, "content": [{"type": "text", "text": content}]}


def told(conversation: Conversation) -> tuple[ToolSpec, ...]:
    """The tools of which the prompt's beginning tells: all, however few may be called, but those that a message tells of (``deferred``).

    None where none may be called.
    """
    if conversation.tool_choice.mode is ToolMode.NONE:
        return ()
    return tuple(tool for tool in conversation.tools if not tool.deferred)


def template_tools(conversation: Conversation, *, pen: Pen) -> list[Json] | None:
    """The tools for a template, or None where there are none to tell of.

    What a client left out is there nevertheless, since templates take it for granted; ``strict`` is for us alone.
    """
    return [_tool(tool, pen) for tool in told(conversation)] or None


def in_call_order(messages: Sequence[Message]) -> Iterable[Message]:
    """The messages, with each row of tool results in the order of its calls. Results of no call stay behind the others."""
    places: dict[str | None, int] = {}
    results: list[Message] = []
    for message in messages:
        if message.role is Role.TOOL:
            results.append(message)
            continue
        yield from sorted(results, key=lambda result: places.get(result.tool_call_id, len(places)))
        results = []
        places = {call.id: place for place, call in enumerate(message.tool_calls)}
        yield message
    yield from sorted(results, key=lambda result: places.get(result.tool_call_id, len(places)))


def rewritten(value: Json, write: Write, *, key: Write | None = None) -> Json:
    """A copy of ``value`` with every string in it passed through ``write``, and keys through ``key`` where that is given."""
    match value:
        case str():
            return write(value)
        case Mapping():
            return {(key or write)(name): rewritten(item, write, key=key) for name, item in value.items()}
        case Sequence():
            return [rewritten(item, write, key=key) for item in value]
        case _:
            return value


def object_of(arguments: str) -> JsonObject | None:
    """The object that the text of a call's arguments stands for, or None. Blank text is a call without arguments."""
    if not arguments.strip():
        return {}
    try:
        value: Json = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _with_short_ids(messages: Iterable[Message]) -> Iterable[Message]:
    """The messages, with a number for every id that is too long; numbers are counted from the first message on, so they stay."""
    short: dict[str | None, str] = {}
    for message in messages:
        for call in message.tool_calls:
            if not _SHORT_ID.fullmatch(call.id):
                short.setdefault(call.id, f"call{len(short):05}")
        yield replace(
            message,
            tool_calls=tuple(replace(call, id=short.get(call.id, call.id)) for call in message.tool_calls),
            tool_call_id=short.get(message.tool_call_id, message.tool_call_id),
        )


def _message(message: Message, pen: Pen, shape: CallShape) -> JsonObject:
    content: Json = pen.prose(message.text)
    if message.tool_calls and not message.parts and shape.content_is_null:
        content = None
    shaped: dict[str, Json] = {"role": message.role.value, "content": content}
    if message.name is not None:
        shaped["name"] = pen.word(message.name)
    if message.reasoning is not None:
        # gpt-oss' template has another name for it, and Transformers gives it both.
        shaped["reasoning_content"] = shaped["thinking"] = pen.prose(message.reasoning)
    if message.tool_calls:
        shaped["tool_calls"] = [_tool_call(call, pen, shape) for call in message.tool_calls]
    if message.tool_call_id is not None:
        shaped["tool_call_id"] = pen.word(message.tool_call_id)
    return shaped


def _tool_call(call: ToolCall, pen: Pen, shape: CallShape) -> JsonObject:
    arguments: Json = object_of(call.arguments)
    if arguments is None or shape.arguments_as_text:
        arguments = call.arguments.strip() or "{}"
    return {
        "id": pen.word(call.id),
        "type": "function",
        "function": {"name": pen.word(call.name), "arguments": rewritten(arguments, pen.prose, key=pen.word)},
    }


def _tool(tool: ToolSpec, pen: Pen) -> JsonObject:
    parameters: Json = {"type": "object", "properties": {}}
    if tool.parameters is not None:
        parameters = rewritten(
            tool.parameters, pen.term, key=lambda name: name if name in _KEYWORDS else pen.word(name)
        )
    return {
        "type": "function",
        "function": {
            "name": pen.word(tool.name),
            "description": pen.prose(tool.description),
            "parameters": parameters,
        },
    }
