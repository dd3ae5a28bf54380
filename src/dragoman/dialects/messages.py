"""A conversation as templates see it: dictionaries in the shape of OpenAI's chat messages, as Transformers passes them.

Every text that a client wrote goes through ``write`` on its way, keys included; what we write ourselves does not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from dragoman.core.json import Json, JsonObject
from dragoman.core.request import Message, Role, ToolCall

Write: TypeAlias = Callable[[str], str]


def template_messages(messages: Sequence[Message], *, knows_developer: bool, write: Write) -> list[JsonObject]:
    """The messages for a template; it sees system turns for developer ones unless it ``knows_developer``."""
    return [_message(message, knows_developer=knows_developer, write=write) for message in messages]


def rewritten(value: Json, write: Write) -> Json:
    """A copy of ``value`` with every string in it, keys too, passed through ``write``."""
    match value:
        case str():
            return write(value)
        case Mapping():
            return {write(key): rewritten(item, write) for key, item in value.items()}
        case Sequence():
            return [rewritten(item, write) for item in value]
        case _:
            return value


def _message(message: Message, *, knows_developer: bool, write: Write) -> JsonObject:
    role = Role.SYSTEM if message.role is Role.DEVELOPER and not knows_developer else message.role
    # Templates add content to other strings without asking, so a turn that only calls tools has an empty one.
    shaped: dict[str, Json] = {"role": role.value, "content": write(message.text)}
    if message.name is not None:
        shaped["name"] = write(message.name)
    if message.reasoning is not None:
        # gpt-oss' template has another name for it, and Transformers gives it both.
        shaped["reasoning_content"] = shaped["thinking"] = write(message.reasoning)
    if message.tool_calls:
        shaped["tool_calls"] = [_tool_call(call, write) for call in message.tool_calls]
    if message.tool_call_id is not None:
        shaped["tool_call_id"] = write(message.tool_call_id)
    return shaped


def _tool_call(call: ToolCall, write: Write) -> JsonObject:
    return {
        "id": write(call.id),
        "type": "function",
        "function": {"name": write(call.name), "arguments": rewritten(_arguments(call.arguments), write)},
    }


def _arguments(text: str) -> Json:
    """Templates expect the object; what is none, as a model may have written it, stays the text that it was."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text
