"""What each content block of the Messages surface becomes, and who may say it.

Sources: the types of Anthropic's SDK. What a hosted tool did in an earlier turn, here or elsewhere, is a call and its result like any
other, so that no text is lost; what only its host can read of it is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dragoman.core.json import Json, compact
from dragoman.core.limits import MAX_TOOL_USE_NAME_CHARS
from dragoman.core.request import ImagePart, TextPart, ToolCall
from dragoman.surfaces.anthropic_cache import CACHE_CONTROL
from dragoman.surfaces.anthropic_content import BlockReaders, Thought, ToolReference, ToolResult, content
from dragoman.surfaces.fields import Form, Table, honoured, ignored, record
from dragoman.surfaces.images import MEDIA_TYPES, MediaType, image_part, media_type_of
from dragoman.surfaces.readers import OBJECT, PROMPT_TEXT, TEXT, Place, Reader, array, identifier, word
from dragoman.surfaces.sealed import unsealed

_HOSTED_RESULTS: Final = (
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "advisor_tool_result",
    "mcp_tool_result",
)


def text_block(form: Form) -> TextPart:
    """A block of ``TEXT_FIELDS``."""
    form.read(CACHE_CONTROL, None)
    return TextPart(text=form.require(TEXT_OF_BLOCK))


def _source_kind(value: Json, at: Place) -> str:
    if TEXT.read(value, at) in {"url", "file"}:
        raise at.unsupported(
            f'{at.path} "{value}" is not supported: this server fetches nothing; send the picture as base64'
        )
    return _BASE64.read(value, at)


def _media_type(value: Json, at: Place) -> MediaType:
    return media_type_of(TEXT.read(value, at), at)


def _source(value: Json, at: Place) -> ImagePart:
    # Its kind comes first: of another one, no field is known.
    SOURCE_KIND.reader.read(_kind(value, at), at.child(KIND.name))
    form = Form(value, SOURCE_FIELDS, at)
    return image_part(form.require(DATA), form.require(MEDIA_TYPE), form.place(DATA))


def _image(form: Form) -> ImagePart:
    form.read(CACHE_CONTROL, None)
    return form.require(SOURCE)


def _thinking(form: Form) -> Thought:
    shown, signature = form.require(THINKING), form.read(SIGNATURE, "")
    return Thought(text=shown or (unsealed(signature, form.place(SIGNATURE)) if signature else ""))


def _redacted_thinking(form: Form) -> Thought:
    return Thought(text=unsealed(form.require(REDACTED), form.place(REDACTED)))


def _tool_use(form: Form) -> ToolCall:
    form.read(CACHE_CONTROL, None)
    arguments = PROMPT_TEXT.read(compact(form.require(INPUT)), form.place(INPUT))
    return ToolCall(id=form.require(ID), name=form.require(NAME), arguments=arguments)


def _tool_result(form: Form) -> ToolResult:
    form.read(CACHE_CONTROL, None)
    shown = form.read(RESULT, ())
    return ToolResult(
        call=form.require(TOOL_USE_ID),
        content=tuple(block for block in shown if isinstance(block, TextPart | ImagePart | ToolReference)),
    )


def _search_result(form: Form) -> TextPart:
    form.read(CACHE_CONTROL, None)
    return TextPart(text="\n".join((form.require(TITLE), form.require(ORIGIN), *form.require(PASSAGES))))


def _passage(form: Form) -> str:
    return text_block(form).text


def _reference(value: Json, at: Place) -> ToolReference:
    form = Form(value, REFERENCE_FIELDS, at)
    form.read(CACHE_CONTROL, None)
    return ToolReference(name=form.require(TOOL_NAME), place=at)


def _added(value: Json, at: Place) -> ToolReference:
    if TEXT.read(_kind(value, at), at.child(KIND.name)) != "tool_reference":
        raise at.unsupported(
            f'{at.path}.type must be "tool_reference": define tools in `tools`, where they may be deferred'
        )
    return ToolReference(name=Form(value, ADDED_FIELDS, at).require(ADDED_NAME), place=at)


def _kind(value: Json, at: Place) -> Json:
    kind = OBJECT.read(value, at).get(KIND.name)
    if kind is None:
        raise at.child(KIND.name).missing()
    return kind


def _addition(form: Form) -> ToolReference:
    form.read(CACHE_CONTROL, None)
    return form.require(ADDED)


def _hosted_result(form: Form) -> ToolResult:
    form.read(CACHE_CONTROL, None)
    told = form.read(HOSTED_RESULT, "")
    return ToolResult(call=form.require(TOOL_USE_ID), content=(TextPart(text=told),) if told else ())


def _told(value: Json, at: Place) -> str:
    """Texts as such, all else as JSON."""
    match value:
        case str():
            told = value
        case [*blocks] if all(isinstance(block, Mapping) and isinstance(block.get("text"), str) for block in blocks):
            told = "\n".join(str(block["text"]) for block in blocks if isinstance(block, Mapping))
        case _:
            told = compact(_readable(value))
    return PROMPT_TEXT.read(told, at)


def _readable(value: Json) -> Json:
    match value:
        case Mapping():
            return {key: _readable(item) for key, item in value.items() if not key.startswith("encrypted_")}
        case list():
            return [_readable(item) for item in value]
        case _:
            return value


def _compaction(form: Form) -> TextPart:
    form.read(CACHE_CONTROL, None)
    shown, sealed = form.read(SUMMARY, ""), form.read(SEALED_SUMMARY, "")
    return TextPart(text=shown or (unsealed(sealed, form.place(SEALED_SUMMARY)) if sealed else ""))


def _no_effect(value: Json, at: Place) -> None:
    at.child(str(OBJECT.read(value, at)["type"])).ignore()


_BASE64: Final = word("base64")

KIND: Final = honoured("type", TEXT, "What the object is.", required=True)
CITATIONS: Final = ignored("citations", "Nothing is cited.")

TEXT_OF_BLOCK: Final = honoured("text", PROMPT_TEXT, "The text; an empty one is left out.", required=True)
TEXT_FIELDS: Final = Table(KIND, TEXT_OF_BLOCK, CACHE_CONTROL, CITATIONS)

SOURCE_KIND: Final = honoured("type", Reader(_BASE64.wants, _source_kind, _BASE64.schema), "`base64`.", required=True)
MEDIA_TYPE: Final = honoured(
    "media_type", Reader(TEXT.wants, _media_type, TEXT.schema), f"One of {', '.join(MEDIA_TYPES)}.", required=True
)
DATA: Final = honoured("data", TEXT, "The file, in base64.", required=True)
SOURCE_FIELDS: Final = Table(SOURCE_KIND, MEDIA_TYPE, DATA)
SOURCE: Final = honoured(
    "source",
    Reader(OBJECT.wants, _source, SOURCE_FIELDS.schema),
    "The picture itself. URLs and ids of files are refused: nothing is fetched.",
    required=True,
)
IMAGE_FIELDS: Final = Table(
    KIND, SOURCE, CACHE_CONTROL, ignored("transformations", "A picture is made as large as the model wants it.")
)

THINKING: Final = honoured("thinking", PROMPT_TEXT, "The reasoning, as it was sent; perhaps empty.", required=True)
SIGNATURE: Final = honoured("signature", TEXT, "Holds the reasoning for a client that was not to see it.")
THINKING_FIELDS: Final = Table(KIND, THINKING, SIGNATURE)

REDACTED: Final = honoured("data", TEXT, "As `signature`. What another server wrote has no effect.", required=True)
REDACTED_FIELDS: Final = Table(KIND, REDACTED)

ID: Final = honoured("id", PROMPT_TEXT, "What its result refers to.", required=True)
NAME: Final = honoured("name", PROMPT_TEXT, "The tool.", required=True)
INPUT: Final = honoured("input", OBJECT, "The arguments.", required=True)
CALLER: Final = ignored("caller", "Only the model calls tools.")
TOOLSET: Final = ignored("toolset_name", "Tools belong to no set.")
TOOL_USE_FIELDS: Final = Table(
    KIND, ID, NAME, INPUT, CACHE_CONTROL, CALLER, TOOLSET, ignored("server_name", "Tools belong to no server.")
)

TITLE: Final = honoured("title", PROMPT_TEXT, "Its first line.", required=True)
ORIGIN: Final = honoured("source", PROMPT_TEXT, "Its second.", required=True)
PASSAGES: Final = honoured(
    "content", array(record(TEXT_FIELDS, _passage), of="text blocks"), "The rest of the text.", required=True
)
SEARCH_RESULT_FIELDS: Final = Table(KIND, TITLE, ORIGIN, PASSAGES, CACHE_CONTROL, CITATIONS)

TOOL_NAME: Final = honoured("tool_name", identifier(MAX_TOOL_USE_NAME_CHARS), "One of `tools`.", required=True)
REFERENCE_FIELDS: Final = Table(KIND, TOOL_NAME, CACHE_CONTROL)

_TEXT_BLOCK: Final = record(TEXT_FIELDS, text_block)
_IMAGE_BLOCK: Final = record(IMAGE_FIELDS, _image)
_SEARCH_RESULT_BLOCK: Final = record(SEARCH_RESULT_FIELDS, _search_result)
_NO_EFFECT: Final[BlockReaders] = MappingProxyType(
    dict.fromkeys(("fallback", "mcp_tool_listing"), Reader(OBJECT.wants, _no_effect, OBJECT.schema))
)

OF_RESULTS: Final[BlockReaders] = MappingProxyType(
    {
        "text": _TEXT_BLOCK,
        "image": _IMAGE_BLOCK,
        "search_result": _SEARCH_RESULT_BLOCK,
        "tool_reference": Reader(OBJECT.wants, _reference, REFERENCE_FIELDS.schema),
    }
)
"""What a tool may answer."""

TOOL_USE_ID: Final = honoured("tool_use_id", PROMPT_TEXT, "The call that is answered.", required=True)
RESULT: Final = honoured("content", content(OF_RESULTS), "What the tool answered; nothing, where it is absent.")
IS_ERROR: Final = ignored("is_error", "The model reads what went wrong in the text.")
TOOL_RESULT_FIELDS: Final = Table(KIND, TOOL_USE_ID, RESULT, IS_ERROR, CACHE_CONTROL, TOOLSET)

HOSTED_RESULT: Final = honoured("content", Reader("any value", _told), "What the hosted tool answered.")
HOSTED_RESULT_FIELDS: Final = Table(KIND, TOOL_USE_ID, HOSTED_RESULT, IS_ERROR, CACHE_CONTROL, CALLER)

SUMMARY: Final = honoured("content", PROMPT_TEXT, "What came before, in short.")
SEALED_SUMMARY: Final = honoured("encrypted_content", TEXT, "The same, for a client that was not to see it.")
COMPACTION_FIELDS: Final = Table(
    KIND,
    SUMMARY,
    SEALED_SUMMARY,
    CACHE_CONTROL,
    ignored("signature", "A summary is taken from whoever sends it."),
    ignored("tool_changes", "The tools are those of `tools`."),
)
_COMPACTION_BLOCK: Final = record(COMPACTION_FIELDS, _compaction)

ADDED_NAME: Final = honoured("name", TOOL_NAME.reader, "One of `tools`.", required=True)
ADDED_FIELDS: Final = Table(KIND, ADDED_NAME)
ADDED: Final = honoured(
    "tool", Reader(OBJECT.wants, _added, ADDED_FIELDS.schema), "A reference to one of `tools`.", required=True
)
ADDITION_FIELDS: Final = Table(KIND, ADDED, CACHE_CONTROL)

_TOOL_USE_BLOCK: Final = record(TOOL_USE_FIELDS, _tool_use)
_HOSTED_RESULT_BLOCK: Final = record(HOSTED_RESULT_FIELDS, _hosted_result)

OF_USERS: Final[BlockReaders] = MappingProxyType(
    {
        "text": _TEXT_BLOCK,
        "image": _IMAGE_BLOCK,
        "search_result": _SEARCH_RESULT_BLOCK,
        "tool_result": record(TOOL_RESULT_FIELDS, _tool_result),
        "compaction": _COMPACTION_BLOCK,
        **_NO_EFFECT,
    }
)
"""What a user may say."""

OF_ASSISTANTS: Final[BlockReaders] = MappingProxyType(
    {
        "text": _TEXT_BLOCK,
        "thinking": record(THINKING_FIELDS, _thinking),
        "redacted_thinking": record(REDACTED_FIELDS, _redacted_thinking),
        **dict.fromkeys(("tool_use", "server_tool_use", "mcp_tool_use"), _TOOL_USE_BLOCK),
        **dict.fromkeys(_HOSTED_RESULTS, _HOSTED_RESULT_BLOCK),
        "compaction": _COMPACTION_BLOCK,
        **_NO_EFFECT,
    }
)
"""What an assistant may have said."""

OF_SYSTEMS: Final[BlockReaders] = MappingProxyType(
    {"text": _TEXT_BLOCK, "tool_addition": record(ADDITION_FIELDS, _addition)}
)
"""What a system turn may say."""
