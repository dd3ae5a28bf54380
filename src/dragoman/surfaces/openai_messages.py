"""Reads OpenAI's ``messages`` into a conversation; Chat Completions and /tokenize share it.

Each fault is named by its path, such as ``messages.0.content.1``. Media other than pictures are refused at the place where they stand.
What an SDK makes of an answer is read when it comes back as a message: nulls, refusals, reasoning. In OpenAI's older form of calls the name of
the function is what joins a call and its answer, and so becomes the id of the call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dragoman.core.json import Json
from dragoman.core.request import ImagePart, Message, Part, Role, TextPart, ToolCall
from dragoman.surfaces.fields import Form, Table, honoured, ignored, refused
from dragoman.surfaces.images import check_images, image_from_url
from dragoman.surfaces.openai_message_schema import message_schema, union_by
from dragoman.surfaces.readers import BOOLEAN, PROMPT_TEXT, TEXT, Place, Reader, array

_FUNCTION_ROLE: Final = "function"
_ROLES: Final = (*(role.value for role in Role), _FUNCTION_ROLE)
_MEDIA: Final = ("input_audio", "audio_url", "video_url", "file")
_PICTURES: Final = ("image_url", "input_image")
"""Chat's name for a picture, and that of Responses, which some clients send here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """All messages; ``prefix`` is what the last one says of itself: that it is the beginning of the answer, or that it is not."""

    messages: tuple[Message, ...]
    prefix: bool | None = None


def _role(value: Json, at: Place) -> str:
    name = TEXT.read(value, at)
    if name not in _ROLES:
        raise at.wrong(f"{at.path} must be one of {', '.join(_ROLES)}")
    return name


def _part(value: Json, at: Place) -> Part:
    form = Form(value, PART_FIELDS, at)
    kind = form.require(PART_TYPE)
    if kind in _MEDIA:
        raise at.unsupported(f'{at.path} is of type "{kind}": only text and pictures are supported')
    if kind == "refusal":
        return TextPart(text=form.require(PART_REFUSAL))
    if kind in _PICTURES:
        return form.require(PART_IMAGE)
    if kind != "text":
        raise at.child("type").wrong(f'{at.path}.type must be "text" or "image_url"')
    return TextPart(text=form.require(PART_TEXT))


def _image(value: Json, at: Place) -> ImagePart:
    """The official object, or its URL alone."""
    if isinstance(value, str):
        return image_from_url(TEXT.read(value, at), at)
    form = Form(value, IMAGE_FIELDS, at)
    return image_from_url(form.require(IMAGE_URL), form.place(IMAGE_URL))


def _content(value: Json, at: Place) -> tuple[Part, ...]:
    if isinstance(value, str):
        return (TextPart(text=PROMPT_TEXT.read(value, at)),)
    if isinstance(value, list) and value:
        return tuple(_part(part, at.child(index)) for index, part in enumerate(value))
    raise at.invalid("a string, or a non-empty array of parts", value)


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


def _message(value: Json, at: Place) -> Transcript:
    form = Form(value, MESSAGE_FIELDS, at)
    speaker = form.require(ROLE)
    role = Role.TOOL if speaker == _FUNCTION_ROLE else Role(speaker)
    for field in OF_ASSISTANTS:
        if role is not Role.ASSISTANT and form.read(field, None) not in (None, (), False):
            raise at.child(field.name).wrong(f"{at.path}.{field.name} belongs to an assistant message")
    calls = _calls(form)
    refusal = form.read(REFUSAL, None)
    reasoning = _reasoning(form)
    # An assistant may have said nothing: it called tools, declined, or ran out of tokens while it thought.
    silent = bool(calls or refusal or reasoning)
    parts = form.read(CONTENT, ()) if silent else form.require(CONTENT)
    message = Message(
        role=role,
        parts=parts if refusal is None else (*parts, TextPart(text=refusal)),
        name=form.read(NAME, None),
        reasoning=reasoning,
        tool_calls=calls,
        tool_call_id=_tool_call_id(form, speaker, at),
    )
    return Transcript(messages=(message,), prefix=form.read(PREFIX, form.read(PARTIAL, None)))


def _reasoning(form: Form) -> str | None:
    if form.has(REASONING_CONTENT):
        form.ignore(REASONING)
    return form.read(REASONING_CONTENT, form.read(REASONING, None))


def _calls(form: Form) -> tuple[ToolCall, ...]:
    calls, older = form.read(TOOL_CALLS, ()), form.read(FUNCTION_CALL, None)
    if older is None:
        return calls
    if calls:
        form.ignore(FUNCTION_CALL)
        return calls
    name, arguments = older
    return (ToolCall(id=name, name=name, arguments=arguments),)


def _tool_call_id(form: Form, speaker: str, at: Place) -> str | None:
    if speaker == Role.TOOL:
        return form.require(TOOL_CALL_ID)
    if form.has(TOOL_CALL_ID):
        raise at.child("tool_call_id").wrong(f"{at.path}.tool_call_id belongs to a tool message")
    return form.require(NAME) if speaker == _FUNCTION_ROLE else None


def _transcript(value: Json, at: Place) -> Transcript:
    turns = _TURNS.read(value, at)
    for index, turn in enumerate(turns[:-1]):
        if turn.prefix:
            raise at.child(index).wrong(f"{at.child(index).path} is not the last message, so nothing can continue it")
    messages = tuple(turn.messages[0] for turn in turns)
    check_images(messages, at)
    return Transcript(messages=messages, prefix=turns[-1].prefix)


IMAGE_URL: Final = honoured(
    "url", TEXT, "A data URL of base64 that holds a PNG or a JPEG; nothing is fetched.", required=True
)
IMAGE_FIELDS: Final = Table(IMAGE_URL, ignored("detail", "The model sees every picture as closely as it can.", TEXT))

PART_TYPE: Final = honoured(
    "type",
    TEXT,
    '`"text"`, `"image_url"` in what a user or a tool said, or `"refusal"` in what an assistant said.',
    required=True,
)
PART_TEXT: Final = honoured("text", PROMPT_TEXT, "The text.")
PART_REFUSAL: Final = honoured("refusal", PROMPT_TEXT, "The words of a refusal; text like any other.")
PART_IMAGE: Final = honoured(
    "image_url",
    Reader("an object", _image, {"anyOf": [IMAGE_FIELDS.schema, {"type": "string"}]}),
    "The picture, where the model sees any: an object with `url`, or that alone.",
)
PART_DETAIL: Final = ignored("detail", "Where Responses has it; see `image_url`.", TEXT)
PART_FIELDS: Final = Table(
    PART_TYPE,
    PART_TEXT,
    PART_IMAGE,
    PART_REFUSAL,
    PART_DETAIL,
    ignored("prompt_cache_breakpoint", "Prompts share their cached prefixes without a hint."),
    ignored("cache_control", "Prompts share their cached prefixes without a hint."),
)

_PART_SCHEMA: Final = union_by(
    PART_FIELDS,
    "type",
    {"text": ("text",), "refusal": ("refusal",), **dict.fromkeys(_PICTURES, ("image_url",))},
)

FUNCTION_NAME: Final = honoured("name", PROMPT_TEXT, "The function that was called.", required=True)
ARGUMENTS: Final = honoured("arguments", PROMPT_TEXT, "JSON as the model wrote it; it is not checked.", required=True)
FUNCTION_FIELDS: Final = Table(FUNCTION_NAME, ARGUMENTS)

TOOL_CALL_ID_OF_CALL: Final = honoured("id", PROMPT_TEXT, "What the tool's answer refers to.", required=True)
TOOL_CALL_TYPE: Final = honoured(
    "type", Reader(TEXT.wants, TEXT.read, {"enum": ["function"]}), 'Only `"function"`, which is the default.'
)
FUNCTION: Final = honoured(
    "function", Reader("an object", _function, FUNCTION_FIELDS.schema), "`name` and `arguments`.", required=True
)
TOOL_CALL_FIELDS: Final = Table(
    TOOL_CALL_ID_OF_CALL,
    TOOL_CALL_TYPE,
    FUNCTION,
    ignored("index", "Its place in the stream that it came from."),
    refused("custom", "only calls to functions"),
)

_TOOL_CALL: Final = Reader("an object", _tool_call, TOOL_CALL_FIELDS.schema)

ROLE: Final = honoured(
    "role", Reader(f"one of {', '.join(_ROLES)}", _role, {"enum": list(_ROLES)}), "Who speaks.", required=True
)
CONTENT: Final = honoured(
    "content",
    Reader(
        "a string, or a non-empty array of parts",
        _content,
        {"anyOf": [{"type": "string"}, {"type": "array", "items": _PART_SCHEMA, "minItems": 1}]},
    ),
    "May be absent where an assistant called tools, refused, or only reasoned.",
)
NAME: Final = honoured(
    "name", PROMPT_TEXT, "Handed to the chat template. Of a function message, where it is required: the function."
)
TOOL_CALLS: Final = honoured("tool_calls", array(_TOOL_CALL, of="tool calls"), "Of an assistant message.")
TOOL_CALL_ID: Final = honoured("tool_call_id", PROMPT_TEXT, "Of a tool message, where it is required.")
REASONING_CONTENT: Final = honoured("reasoning_content", PROMPT_TEXT, "Of an assistant message, as clients replay it.")
REASONING: Final = honoured(
    "reasoning", PROMPT_TEXT, "OpenRouter's and vLLM's name for `reasoning_content`, which wins."
)
REFUSAL: Final = honoured("refusal", PROMPT_TEXT, "Of an assistant message: words of its own, after its content.")
PREFIX: Final = honoured(
    "prefix",
    BOOLEAN,
    "Of a last message, an assistant's: says `continue_final_message`, which wins.",
)
PARTIAL: Final = honoured("partial", BOOLEAN, "Another name for `prefix`, which wins.")
FUNCTION_CALL: Final = honoured(
    "function_call",
    Reader("an object", _function, FUNCTION_FIELDS.schema),
    "Of an assistant message: the older form of `tool_calls`, which win.",
)
OF_ASSISTANTS: Final = (TOOL_CALLS, FUNCTION_CALL, REASONING_CONTENT, REASONING, REFUSAL, PREFIX, PARTIAL)
MESSAGE_FIELDS: Final = Table(
    ROLE,
    CONTENT,
    NAME,
    TOOL_CALLS,
    FUNCTION_CALL,
    TOOL_CALL_ID,
    REASONING_CONTENT,
    REASONING,
    REFUSAL,
    PREFIX,
    PARTIAL,
    ignored("annotations", "Links that we never make."),
    ignored("reasoning_details", "OpenRouter's other form of `reasoning`."),
    refused("audio", "no audio is supported"),
)

_TURN_SCHEMA: Final = message_schema(MESSAGE_FIELDS, of_assistants=[field.name for field in OF_ASSISTANTS])
_TURNS: Final = array(Reader("an object", _message, _TURN_SCHEMA), at_least=1, of="messages")

MESSAGES: Final = honoured(
    "messages",
    Reader(_TURNS.wants, _transcript, _TURNS.schema),
    "Required, except where another prompt may be given.",
)
