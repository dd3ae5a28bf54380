"""Tools for a template that knows none: all about them is said in the texts of turns that every template has.

    system      ... the tools, and how to call one
    assistant   <tool_call>
                {"name": "get_weather", "arguments": {"city": "Paris"}}
                </tool_call>
    user        <tool_response>
                {"degrees": 21}
                </tool_response>

The words are few, since such models are small; a family may have others (``ToolWords``). A grammar sees to it that calls are written like this.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from dragoman.core.json import JsonObject
from dragoman.core.request import Conversation, Message, Part, Role, TextPart, ToolCall, ToolSpec
from dragoman.dialects.messages import in_call_order, told
from dragoman.dialects.pictures import stand_in
from dragoman.dialects.veil import free_characters

_BEFORE: Final = "You can call these tools:"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolWords:
    """How a model is told of tools: ``how`` to call one, and what it wrote (``calls``) and read (``results``) in earlier turns."""

    how: str
    calls: Callable[[Sequence[ToolCall]], str]
    results: Callable[[Sequence[str]], str]


def _tagged_calls(calls: Sequence[ToolCall]) -> str:
    return "\n".join(f"<tool_call>\n{_written(call)}\n</tool_call>" for call in calls)


def _tagged_results(results: Sequence[str]) -> str:
    return "\n".join(f"<tool_response>\n{_inside(result)}\n</tool_response>" for result in results)


def _inside(result: str) -> str:
    """A result that cannot close its own tags, and open another's: it may be a page that somebody else wrote."""
    return result.replace("</tool_response>", "&lt;/tool_response>")


TAGS: Final = ToolWords(
    how=(
        "To call a tool, write only this:\n"
        '<tool_call>\n{"name": "its name", "arguments": {"key": "value"}}\n</tool_call>\n'
        "The result comes back between <tool_response> and </tool_response>."
    ),
    calls=_tagged_calls,
    results=_tagged_results,
)


def without_tools(conversation: Conversation, words: ToolWords = TAGS) -> Conversation:
    """The same conversation without tools, calls and results, which are told in texts of the system, the assistant and the user.

    Which tools are told does not depend on which may be called, so that prompts keep their common beginning.
    """
    messages = tuple(_turns(tuple(in_call_order(conversation.messages)), words))
    if tools := told(conversation):
        messages = _introduced(messages, _introduction(tools, words))
    return replace(conversation, messages=messages, tools=())


def _turns(messages: Sequence[Message], words: ToolWords) -> Iterator[Message]:
    for role, group in groupby(messages, key=lambda message: message.role):
        if role is Role.TOOL:
            yield Message(role=Role.USER, parts=_results(tuple(group), words))
            continue
        for message in group:
            yield message if not message.tool_calls else _called(message, words)


def _results(results: Sequence[Message], words: ToolWords) -> tuple[Part, ...]:
    shown = stand_in(results, free_characters(result.text for result in results))
    return shown.parts(words.results([result.text for result in shown.messages]))


def _called(message: Message, words: ToolWords) -> Message:
    calls = words.calls(message.tool_calls)
    return replace(message, parts=(*message.parts, *_text(f"\n{calls}" if message.text else calls)), tool_calls=())


def _written(call: ToolCall) -> str:
    """A call as the model wrote it, so that its tokens are found in the cache."""
    arguments = call.arguments if _is_object(call.arguments) else _dumps(call.arguments)
    return f'{{"name": {_dumps(call.name)}, "arguments": {arguments}}}'


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _introduced(messages: tuple[Message, ...], introduction: str) -> tuple[Message, ...]:
    """With the introduction behind the first instructions, or as such."""
    first = messages[0] if messages else None
    if first is not None and first.role in {Role.SYSTEM, Role.DEVELOPER}:
        return (replace(first, parts=(*first.parts, *_text(f"\n\n{introduction}"))), *messages[1:])
    return (Message(role=Role.SYSTEM, parts=_text(introduction)), *messages)


def _introduction(tools: Sequence[ToolSpec], words: ToolWords) -> str:
    return "\n".join([_BEFORE, *(_dumps(_declared(tool)) for tool in tools), words.how])


def _declared(tool: ToolSpec) -> JsonObject:
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "parameters": tool.parameters or {"type": "object", "properties": {}}}


def _text(text: str) -> tuple[TextPart, ...]:
    return (TextPart(text=text),)


def _dumps(value: JsonObject | str) -> str:
    return json.dumps(value, ensure_ascii=False)
