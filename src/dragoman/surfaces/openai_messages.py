"""Reads OpenAI's ``messages`` into a conversation; Chat Completions and /tokenize share it.

Each fault is named by its path, such as ``messages.0.content.1``. Media and deprecated forms are refused at the
place where they stand.
"""

from __future__ import annotations

from typing import Final

from dragoman.core.errors import Code
from dragoman.core.json import Json
from dragoman.core.request import Message, Role, TextPart, ToolCall
from dragoman.surfaces.fields import Form, Table, honoured, ignored, refused
from dragoman.surfaces.readers import PROMPT_TEXT, TEXT, Place, Reader, array

_ROLES: Final = tuple(role.value for role in Role)
_MEDIA: Final = ("image_url", "input_image", "input_audio", "audio_url", "video_url", "file", "refusal")


def _role(value: Json, at: Place) -> Role:
    name = TEXT.read(value, at)
    if name == "function":
        raise at.unsupported(f'{at.path} "function" is not supported: send tool calls and the role "tool"')
    if name not in _ROLES:
        raise at.wrong(f"{at.path} must be one of {', '.join(_ROLES)}")
    return Role(name)


def _part(value: Json, at: Place) -> TextPart:
    form = Form(value, PART_FIELDS, at)
    kind = form.require(PART_TYPE)
    if kind in _MEDIA:
        raise at.unsupported(f'{at.path} is of type "{kind}": only text is supported')
    if kind != "text":
        raise at.child("type").wrong(f'{at.path}.type must be "text"')
    return TextPart(text=form.require(PART_TEXT))


def _content(value: Json, at: Place) -> tuple[TextPart, ...]:
    if isinstance(value, str):
        return (TextPart(text=PROMPT_TEXT.read(value, at)),)
    if isinstance(value, list) and value:
        return tuple(_part(part, at.child(index)) for index, part in enumerate(value))
    raise at.invalid("a string, or a non-empty array of text parts", value)


def _function(value: Json, at: Place) -> tuple[str, str]:
    form = Form(value, FUNCTION_FIELDS, at)
    return form.require(FUNCTION_NAME), form.require(ARGUMENTS)


def _tool_call(value: Json, at: Place) -> ToolCall:
    form = Form(value, TOOL_CALL_FIELDS, at)
    kind = form.read(TOOL_CALL_TYPE, "function")
    if kind != "function":
        raise at.child("type").unsupported(f'{at.path}.type must be "function": no other tools are supported')
    name, arguments = form.require(FUNCTION)
    return ToolCall(id=form.require(TOOL_CALL_ID_OF_CALL), name=name, arguments=arguments)


def _message(value: Json, at: Place) -> Message:
    form = Form(value, MESSAGE_FIELDS, at)
    role = form.require(ROLE)
    calls = form.read(TOOL_CALLS, ())
    if calls and role is not Role.ASSISTANT:
        raise at.child("tool_calls").wrong(f"{at.path}.tool_calls belongs to an assistant message")
    call_id = form.read(TOOL_CALL_ID, None)
    if role is Role.TOOL:
        call_id = form.require(TOOL_CALL_ID)
    elif call_id is not None:
        raise at.child("tool_call_id").wrong(f"{at.path}.tool_call_id belongs to a tool message")
    reasoning = form.read(REASONING, None)
    if reasoning is not None and role is not Role.ASSISTANT:
        raise at.child("reasoning_content").wrong(f"{at.path}.reasoning_content belongs to an assistant message")
    return Message(
        role=role,
        # An assistant may have said nothing where it called tools.
        parts=form.read(CONTENT, ()) if calls else form.require(CONTENT),
        name=form.read(NAME, None),
        reasoning=reasoning,
        tool_calls=calls,
        tool_call_id=call_id,
    )


PART_TYPE: Final = honoured("type", TEXT, 'Only `"text"`.')
PART_TEXT: Final = honoured("text", PROMPT_TEXT, "The text.")
PART_FIELDS: Final = Table(PART_TYPE, PART_TEXT)

FUNCTION_NAME: Final = honoured("name", PROMPT_TEXT, "The function that was called.")
ARGUMENTS: Final = honoured("arguments", PROMPT_TEXT, "JSON as the model wrote it; it is not checked.")
FUNCTION_FIELDS: Final = Table(FUNCTION_NAME, ARGUMENTS)

TOOL_CALL_ID_OF_CALL: Final = honoured("id", PROMPT_TEXT, "What the tool's answer refers to.")
TOOL_CALL_TYPE: Final = honoured("type", TEXT, 'Only `"function"`, which is the default.')
FUNCTION: Final = honoured("function", Reader("an object", _function), "`name` and `arguments`.")
TOOL_CALL_FIELDS: Final = Table(TOOL_CALL_ID_OF_CALL, TOOL_CALL_TYPE, FUNCTION)

ROLE: Final = honoured("role", Reader(f"one of {', '.join(_ROLES)}", _role), "Who speaks.")
CONTENT: Final = honoured(
    "content",
    Reader("a string, or a non-empty array of text parts", _content),
    "May be absent where there are `tool_calls`.",
)
NAME: Final = honoured("name", PROMPT_TEXT, "Handed to the chat template.")
TOOL_CALLS: Final = honoured(
    "tool_calls", array(Reader("an object", _tool_call), of="tool calls"), "Of an assistant message."
)
TOOL_CALL_ID: Final = honoured("tool_call_id", PROMPT_TEXT, "Of a tool message, where it is required.")
REASONING: Final = honoured("reasoning_content", PROMPT_TEXT, "Of an assistant message, as clients replay it.")
MESSAGE_FIELDS: Final = Table(
    ROLE,
    CONTENT,
    NAME,
    TOOL_CALLS,
    TOOL_CALL_ID,
    REASONING,
    ignored("annotations", "Links that we never make."),
    refused("refusal", "send what the assistant said as content", ""),
    refused("audio", "only text is supported"),
    refused("function_call", "send tool_calls", code=Code.UNSUPPORTED_FIELD),
)

MESSAGES: Final = honoured(
    "messages",
    array(Reader("an object", _message), at_least=1, of="messages"),
    "Required, except where another prompt may be given.",
)
