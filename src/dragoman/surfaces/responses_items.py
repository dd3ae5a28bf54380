"""Reads the items of a Responses input, each by its type: what it means, and the object in which it is kept.

An item without a type is a message if it has a role, and a reference if it has an id alone. Ids that clients leave out are made up, for
whatever is listed has one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dragoman.core.json import Json, JsonObject, compact
from dragoman.core.request import Role, TextPart
from dragoman.surfaces.fields import Form, Table, honoured, ignored
from dragoman.surfaces.readers import OBJECT, PROMPT_TEXT, TEXT, Place, Reader, array, word
from dragoman.surfaces.responses_content import CONTENT, kept_content
from dragoman.surfaces.responses_entries import Answered, Called, Entry, Item, Offered, Referred, Said, Thought
from dragoman.surfaces.responses_hosted import HOSTED
from dragoman.surfaces.responses_tools import TOOLS
from dragoman.surfaces.sealed import unsealed

_ROLES: Final = (Role.USER, Role.ASSISTANT, Role.SYSTEM, Role.DEVELOPER)

Kept = dict[str, Json]


def read_input(value: Json, at: Place, mint: Callable[[], str]) -> tuple[Item, ...]:
    """An ``input``: a text that the user says, or items. ``mint`` makes what follows the prefix of an id.

    Raises ``InvalidRequest`` naming the field.
    """
    if isinstance(value, str):
        said = Said(role=Role.USER, parts=CONTENT.read(value, at))
        kept = {"type": "message", "role": "user", "content": kept_content(value, of_assistant=False)}
        return (Item(entries=(said,), kept=_named({**kept, "status": "completed"}, "msg", mint)),)
    if isinstance(value, list):
        return tuple(read_item(item, at.child(index), mint) for index, item in enumerate(value))
    raise at.invalid(INPUTS.wants, value)


def read_item(value: Json, at: Place, mint: Callable[[], str]) -> Item:
    """One item. Raises ``InvalidRequest`` naming the field."""
    item = OBJECT.read(value, at)
    kind = _kind(item, at)
    if kind in HOSTED:
        prefix, hosted = HOSTED[kind]
        return Item(entries=hosted(item, at), kept=_named(_completed(item) | {"type": kind}, prefix, mint))
    if kind not in KINDS:
        raise at.child("type").unsupported(
            f'{at.path}.type "{ascii(kind)[1:-1][:64]}" is not an item that is known here'
        )
    table, read, prefix = KINDS[kind]
    form = Form(item, table, at)
    form.read(ID, None)
    entries, kept = read(form, item)
    return Item(entries=entries, kept=_named({**kept, "type": kind}, prefix, mint))


def _unread(value: Json, at: Place) -> Json:
    if isinstance(value, str | list):
        return value
    raise at.invalid(INPUTS.wants, value)


def _kind(item: JsonObject, at: Place) -> str:
    kind = item.get("type")
    if kind is not None:
        return TEXT.read(kind, at.child("type"))
    if item.get("role") is not None:
        return "message"
    if item.get("id") is not None and len(item) <= 2:
        return "item_reference"
    raise at.child("type").missing()


def _named(kept: Kept, prefix: str, mint: Callable[[], str]) -> JsonObject:
    present = {name: value for name, value in kept.items() if value is not None}
    return {"id": f"{prefix}_{mint()}", **present} if "id" not in present else present


def _completed(item: JsonObject) -> Kept:
    """What comes from a client is over, unless it says otherwise; OpenAI's lists say so of each item."""
    return {**item, "status": item.get("status") or "completed"}


def _message(form: Form, item: JsonObject) -> tuple[tuple[Entry, ...], Kept]:
    role = Role(form.require(ROLE))
    parts = form.require(MESSAGE_CONTENT)
    if not parts and role is not Role.ASSISTANT:
        place = form.place(MESSAGE_CONTENT)
        raise place.wrong(f"{place.path} must hold something")
    form.read(STATUS, None)
    content = kept_content(item["content"], of_assistant=role is Role.ASSISTANT)
    return (Said(role=role, parts=parts),), _completed(item) | {"content": content}


def _function_call(form: Form, item: JsonObject) -> tuple[tuple[Entry, ...], Kept]:
    called = Called(
        call=form.require(CALL_ID),
        name=form.require(CALLED_NAME),
        arguments=form.require(ARGUMENTS),
        namespace=form.read(NAMESPACE, None),
    )
    form.read(STATUS, None)
    return (called,), _completed(item)


def _custom_call(form: Form, item: JsonObject) -> tuple[tuple[Entry, ...], Kept]:
    text = form.require(CUSTOM_INPUT)
    called = Called(
        call=form.require(CALL_ID),
        name=form.require(CALLED_NAME),
        arguments=compact({"input": text}),
        namespace=form.read(NAMESPACE, None),
    )
    form.read(STATUS, None)
    return (called,), _completed(item)


def _call_output(form: Form, item: JsonObject) -> tuple[tuple[Entry, ...], Kept]:
    answered = Answered(call=form.require(CALL_ID), parts=form.require(OUTPUT), place=form.place(CALL_ID))
    form.read(STATUS, None)
    return (answered,), _completed(item)


def _function_output(form: Form, item: JsonObject) -> tuple[tuple[Entry, ...], Kept]:
    """Of a call, or of a tool that nobody called: Codex tells a goal so. The latter is a turn of the user, for no template has a better one."""
    name = form.read(UNASKED_NAME, None)
    namespace = form.read(UNASKED_NAMESPACE, None)
    if name is None or form.read(UNASKED_CALL_ID, None) is not None:
        return _call_output(form, item)
    source = name if namespace is None else f"{namespace}.{name}"
    said = Said(role=Role.USER, parts=(TextPart(text=f"{source}:\n"), *form.require(OUTPUT)))
    form.read(STATUS, None)
    return (said,), _completed(item)


def _reasoning(form: Form, item: JsonObject) -> tuple[tuple[Entry, ...], Kept]:
    thought = "".join(form.read(REASONING_CONTENT, ())) or "\n\n".join(form.read(SUMMARY, ()))
    sealed = form.read(ENCRYPTED, None)
    form.read(STATUS, None)
    if not thought and sealed is not None:
        thought = unsealed(sealed, form.place(ENCRYPTED))
    return ((Thought(text=thought),) if thought else ()), {"summary": [], **item}


def _compaction(form: Form, item: JsonObject) -> tuple[tuple[Entry, ...], Kept]:
    summary = unsealed(form.require(ENCRYPTED), form.place(ENCRYPTED))
    said = Said(role=Role.USER, parts=(TextPart(text=summary),))
    return ((said,) if summary else ()), {**item}


def _additional_tools(form: Form, item: JsonObject) -> tuple[tuple[Entry, ...], Kept]:
    form.read(DEVELOPER, None)
    form.read(STATUS, None)
    return (Offered(tools=form.require(TOOLS)),), {**item}


def _found_tools(form: Form, item: JsonObject) -> tuple[tuple[Entry, ...], Kept]:
    entries, _ = _additional_tools(form, item)
    return entries, _completed(item)


def _reference(form: Form, item: JsonObject) -> tuple[tuple[Entry, ...], Kept]:
    return (Referred(id=form.require(REFERENCE_ID), place=form.place(REFERENCE_ID)),), {**item}


def _piece(form: Form) -> str:
    form.read(PIECE_TYPE, None)
    return form.require(PIECE_TEXT)


def _pieces(table: Table) -> Reader[tuple[str, ...]]:
    piece = Reader(OBJECT.wants, lambda value, at: _piece(Form(value, table, at)), table.schema)
    return array(piece, of="parts")


TYPE: Final = honoured("type", TEXT, "What the item is.")
ID: Final = honoured("id", TEXT, "Kept as it is; made up where it is left out.")
STATUS: Final = honoured("status", TEXT, "Kept; an item that was cut is read as far as it goes.")
_CALLER: Final = ignored("caller", "Tools are called by the model alone.")
_CREATOR: Final = ignored("created_by", "Bookkeeping of OpenAI's platform.")

ROLE: Final = honoured("role", word(*(role.value for role in _ROLES)), "Who speaks.", required=True)
MESSAGE_CONTENT: Final = honoured("content", CONTENT, "A string, or parts; see below.", required=True)
MESSAGE_FIELDS: Final = Table(
    TYPE, ID, ROLE, MESSAGE_CONTENT, STATUS, ignored("phase", "Kept; models are not told of it."), _CREATOR
)

CALL_ID: Final = honoured("call_id", PROMPT_TEXT, "What joins a call and its output.", required=True)
CALLED_NAME: Final = honoured("name", PROMPT_TEXT, "The tool that was called.", required=True)
NAMESPACE: Final = honoured("namespace", TEXT, "The namespace that the tool stands in.")
ARGUMENTS: Final = honoured("arguments", PROMPT_TEXT, "JSON as the model wrote it; it is not checked.", required=True)
CUSTOM_INPUT: Final = honoured("input", PROMPT_TEXT, "The text that a custom tool was given.", required=True)
FUNCTION_CALL_FIELDS: Final = Table(
    TYPE, ID, CALL_ID, CALLED_NAME, NAMESPACE, ARGUMENTS, STATUS, _CALLER, _CREATOR, ignored("async", "It is over.")
)
CUSTOM_CALL_FIELDS: Final = Table(
    TYPE, ID, CALL_ID, CALLED_NAME, NAMESPACE, CUSTOM_INPUT, STATUS, _CALLER, _CREATOR, ignored("async", "It is over.")
)

OUTPUT: Final = honoured("output", CONTENT, "What the tool gave: a string, or parts.", required=True)
CALL_OUTPUT_FIELDS: Final = Table(
    TYPE,
    ID,
    CALL_ID,
    OUTPUT,
    STATUS,
    _CALLER,
    _CREATOR,
    ignored("name", "The call has it."),
    ignored("namespace", "The call has it."),
)

UNASKED_CALL_ID: Final = honoured(
    "call_id", PROMPT_TEXT, "What joins a call and its output; without it, `name` must be there."
)
UNASKED_NAME: Final = honoured("name", PROMPT_TEXT, "The tool, if nobody called it: the user tells what it gave.")
UNASKED_NAMESPACE: Final = honoured("namespace", PROMPT_TEXT, "The namespace of that tool.")
FUNCTION_OUTPUT_FIELDS: Final = Table(
    TYPE, ID, UNASKED_CALL_ID, OUTPUT, STATUS, _CALLER, _CREATOR, UNASKED_NAME, UNASKED_NAMESPACE
)

PIECE_TYPE: Final = honoured("type", TEXT, "What the part is.")
PIECE_TEXT: Final = honoured("text", PROMPT_TEXT, "The text.", required=True)
PIECE_FIELDS: Final = Table(PIECE_TYPE, PIECE_TEXT)
REASONING_CONTENT: Final = honoured("content", _pieces(PIECE_FIELDS), "What the assistant thought; wins over the rest.")
SUMMARY: Final = honoured("summary", _pieces(PIECE_FIELDS), "The same, where it was told so.")
ENCRYPTED: Final = honoured(
    "encrypted_content",
    TEXT,
    "What this server sealed, where nothing else tells it. Another's is listed, and has no effect.",
)
REASONING_FIELDS: Final = Table(TYPE, ID, REASONING_CONTENT, SUMMARY, ENCRYPTED, STATUS, _CREATOR)
COMPACTION_FIELDS: Final = Table(TYPE, ID, ENCRYPTED, _CREATOR)

DEVELOPER: Final = honoured("role", TEXT, "`developer`.")
ADDITIONAL_TOOLS_FIELDS: Final = Table(TYPE, ID, DEVELOPER, TOOLS)
TOOL_SEARCH_FIELDS: Final = Table(
    TYPE,
    ID,
    TOOLS,
    STATUS,
    ignored("call_id", "The tools are on offer."),
    ignored("execution", "It is over."),
    _CREATOR,
)
REFERENCE_ID: Final = honoured("id", TEXT, "Of an item that is kept here.", required=True)
REFERENCE_FIELDS: Final = Table(TYPE, REFERENCE_ID)

_ItemReader = Callable[[Form, JsonObject], tuple[tuple[Entry, ...], Kept]]

KINDS: Final[Mapping[str, tuple[Table, _ItemReader, str]]] = {
    "message": (MESSAGE_FIELDS, _message, "msg"),
    "function_call": (FUNCTION_CALL_FIELDS, _function_call, "fc"),
    "function_call_output": (FUNCTION_OUTPUT_FIELDS, _function_output, "fco"),
    "custom_tool_call": (CUSTOM_CALL_FIELDS, _custom_call, "ctc"),
    "custom_tool_call_output": (CALL_OUTPUT_FIELDS, _call_output, "ctco"),
    "reasoning": (REASONING_FIELDS, _reasoning, "rs"),
    "compaction": (COMPACTION_FIELDS, _compaction, "cmp"),
    "additional_tools": (ADDITIONAL_TOOLS_FIELDS, _additional_tools, "at"),
    "tool_search_output": (TOOL_SEARCH_FIELDS, _found_tools, "tso"),
    "item_reference": (REFERENCE_FIELDS, _reference, "ref"),
}
"""The fields of an item, what it means, and what begins its id, by its type."""


def _shape(kind: str, table: Table) -> JsonObject:
    """Items of this kind; a message need not say what it is."""
    schema = table.schema
    properties, required = schema["properties"], schema.get("required", ())
    assert isinstance(properties, Mapping)
    assert isinstance(required, Sequence)
    typed: list[Json] = [] if kind == "message" else ["type"]
    named: JsonObject = (
        {"anyOf": [{"required": ["call_id"]}, {"required": ["name"]}]} if kind == "function_call_output" else {}
    )
    return {
        **schema,
        **named,
        "properties": {**properties, "type": {"enum": [kind, *([] if typed else [None])]}},
        "required": [*typed, *required],
    }


_SHAPES: Final[Json] = [
    *(_shape(kind, table) for kind, (table, _, _) in KINDS.items()),
    {**REFERENCE_FIELDS.schema, "maxProperties": 2},
    {"type": "object", "properties": {"type": {"enum": list(HOSTED)}}, "required": ["type"]},
]

INPUTS: Final = Reader(
    "a string, or an array of items",
    _unread,
    {"anyOf": [PROMPT_TEXT.schema, {"type": "array", "items": {"anyOf": _SHAPES}}]},
)
"""Of the shape alone: ``read_input`` reads what is in it, once there is somebody who makes ids."""
