"""The tools of a Responses request: functions, custom tools that take text, and both of them in namespaces.

What only OpenAI's platform could run is left out, and listed: clients send it along with their own tools and live without it. A custom
tool is offered to the model as a function of one string; its grammar becomes that string's ``pattern``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from dragoman.core.json import Json, JsonObject
from dragoman.core.limits import MAX_TOOL_NAME_CHARS, MAX_TOOLS
from dragoman.core.regular import RegularFault, regular_expression, whole
from dragoman.core.request import ToolSpec
from dragoman.surfaces.fields import Disposition, Field, Form, Table, honoured, ignored, record
from dragoman.surfaces.openai_tools import DESCRIPTION, NAME, PARAMETERS, STRICT, check_schema
from dragoman.surfaces.readers import OBJECT, PROMPT_TEXT, TEXT, Place, Reader, array, word
from dragoman.surfaces.responses_call import CallableTool

_ALWAYS_OFFERED: Final = "The model is told of every tool at once."


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A tool as the client defined it. ``spec`` has the client's name of it.

    ``echo`` is how a response repeats it, and ``group`` how it repeats the namespace around it, but for its tools.
    """

    spec: ToolSpec
    called: CallableTool
    echo: JsonObject = field(repr=False)
    group: JsonObject = field(default_factory=dict, repr=False)
    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """All tools on offer by the names under which the model calls them."""

    specs: tuple[ToolSpec, ...] = ()
    tools: Mapping[str, CallableTool] = field(default_factory=dict)

    def name_of(self, name: str, namespace: str | None) -> str:
        """What the model calls a tool that the client named so in an earlier turn; the name itself, if it is no longer on offer."""
        matching = [shown for shown, tool in self.tools.items() if tool.name == name and tool.namespace == namespace]
        return matching[0] if matching else name


def offer_of(definitions: Iterable[Definition]) -> Offer:
    """The tools that hold: a later definition takes the place of an earlier one. Raises ``InvalidRequest`` where they are too many.

    In a namespace a tool has its own name if no other tool has it, and else both names, joined.
    """
    held = {(definition.called.namespace, definition.spec.name): definition for definition in definitions}
    if len(held) > MAX_TOOLS:
        place = next(reversed(held.values())).place
        raise place.wrong(f"{place.path}: there are {len(held)} tools; at most {MAX_TOOLS} are taken")
    own = [name for _, name in held]
    taken = {name for namespace, name in held if namespace is None}
    shown: dict[str, Definition] = {}
    for (namespace, name), definition in held.items():
        unique = namespace is None or own.count(name) == 1
        model_name = name if unique else _joined(str(namespace), name, taken)
        taken.add(model_name)
        shown[model_name] = definition
    return Offer(
        specs=tuple(replace(definition.spec, name=name) for name, definition in shown.items()),
        tools={name: definition.called for name, definition in shown.items()},
    )


def _joined(namespace: str, name: str, taken: set[str]) -> str:
    """A name that no other tool has; of one that is too long the end tells most."""
    joined = f"{namespace}__{name}"[-MAX_TOOL_NAME_CHARS:]
    count = 1
    while joined in taken:
        count += 1
        end = f"_{count}"
        joined = f"{namespace}__{name}"[-(MAX_TOOL_NAME_CHARS - len(end)) :] + end
    return joined


def _tool(value: Json, at: Place) -> tuple[Definition, ...]:
    kind = OBJECT.read(value, at).get("type")
    if kind is None:
        raise at.child("type").missing()
    reader = _KINDS.get(TEXT.read(kind, at.child("type")))
    if reader is not None:
        return reader.read(value, at)
    at.child(str(kind)).ignore()
    return ()


def _tools(value: Json, at: Place) -> tuple[Definition, ...]:
    definitions = tuple(tool for tools in _EACH.read(value, at) for tool in tools)
    seen: set[tuple[str | None, str]] = set()
    for definition in definitions:
        key = definition.called.namespace, definition.spec.name
        if key in seen:
            place = definition.place.child(NAME.name)
            raise place.wrong(f"{place.path}: {definition.spec.name} is the name of another tool, too")
        seen.add(key)
    return definitions


def _function(value: Json, at: Place) -> tuple[Definition, ...]:
    form = Form(value, FUNCTION_FIELDS, at)
    form.read(FUNCTION_TYPE, None)
    # Where nothing is said, whatever can be enforced of the schema is, which turns no request away.
    strict = form.read(STRICT, False)
    spec = ToolSpec(
        name=form.require(NAME),
        description=form.read(DESCRIPTION, ""),
        parameters=form.read(PARAMETERS, None),
        strict=strict,
    )
    check_schema(spec, form.place(PARAMETERS))
    echo: JsonObject = {
        "type": "function",
        "name": spec.name,
        "description": form.read(DESCRIPTION, None),
        "parameters": spec.parameters,
        "strict": strict,
    }
    return (Definition(spec=spec, called=CallableTool(name=spec.name), echo=echo, place=at),)


def _custom(value: Json, at: Place) -> tuple[Definition, ...]:
    form = Form(value, CUSTOM_FIELDS, at)
    form.read(CUSTOM_TYPE, None)
    name = form.require(NAME)
    pattern = form.read(CUSTOM_FORMAT, None)
    text: JsonObject = {"type": "string"} if pattern is None else {"type": "string", "pattern": pattern}
    spec = ToolSpec(
        name=name,
        description=form.read(DESCRIPTION, ""),
        parameters={
            "type": "object",
            "properties": {"input": text},
            "required": ["input"],
            "additionalProperties": False,
        },
        strict=pattern is not None,
    )
    check_schema(spec, form.place(CUSTOM_FORMAT))
    said = OBJECT.read(value, at)
    echo: dict[str, Json] = {"type": "custom", "name": name, "format": said.get("format") or {"type": "text"}}
    if form.has(DESCRIPTION):
        echo["description"] = spec.description
    return (Definition(spec=spec, called=CallableTool(name=name, kind="custom"), echo=echo, place=at),)


def _namespace(value: Json, at: Place) -> tuple[Definition, ...]:
    form = Form(value, NAMESPACE_FIELDS, at)
    form.read(NAMESPACE_TYPE, None)
    namespace = form.require(NAME)
    group: JsonObject = {
        "type": "namespace",
        "name": namespace,
        "description": form.read(NAMESPACE_DESCRIPTION, ""),
    }
    return tuple(
        replace(tool, called=replace(tool.called, namespace=namespace), group=group)
        for tool in form.require(NESTED_TOOLS)
    )


def _format(form: Form) -> str | None:
    if form.read(FORMAT_TYPE, "text") == "text":
        return None
    syntax, definition = form.require(SYNTAX), form.require(DEFINITION)
    try:
        return regular_expression(definition) if syntax == "lark" else whole(definition)
    except RegularFault as fault:
        place = form.place(DEFINITION)
        raise place.unsupported(f"{place.path}: the grammar {fault}") from None


def echoed(definitions: Sequence[Definition]) -> list[Json]:
    """The tools that may be called, as the response object repeats them; those of a namespace within it."""
    told: list[Json] = []
    nested: dict[str, list[Json]] = {}
    for definition in definitions:
        namespace = definition.called.namespace
        if namespace is None:
            told.append(definition.echo)
        elif namespace in nested:
            nested[namespace].append(definition.echo)
        else:
            nested[namespace] = [definition.echo]
            told.append({**definition.group, "tools": nested[namespace]})
    return told


def _kind(name: Literal["function", "custom", "namespace"]) -> Reader[str]:
    return Reader(f'"{name}"', TEXT.read, {"const": name})


_HINTS: Final = (
    ignored("defer_loading", _ALWAYS_OFFERED),
    ignored("allowed_callers", "Tools are called by the model alone."),
    ignored("async", "An answer ends with its calls."),
)
FUNCTION_TYPE: Final = honoured("type", _kind("function"), "What the tool is.", required=True)
FUNCTION_FIELDS: Final = Table(
    FUNCTION_TYPE,
    NAME,
    DESCRIPTION,
    PARAMETERS,
    STRICT,
    ignored("output_schema", "What a tool gives is not checked."),
    *_HINTS,
)

FORMAT_TYPE: Final = honoured("type", word("text", "grammar"), "Default `text`: any.")
SYNTAX: Final = honoured("syntax", word("lark", "regex"), "Of the `definition`.")
DEFINITION: Final = honoured(
    "definition", PROMPT_TEXT, "What the whole text must be: an expression, or a Lark grammar without recursion."
)
CUSTOM_FORMAT_FIELDS: Final = Table(FORMAT_TYPE, SYNTAX, DEFINITION)
CUSTOM_FORMAT: Final = honoured("format", record(CUSTOM_FORMAT_FIELDS, _format), "What text the tool takes.")
CUSTOM_TYPE: Final = honoured("type", _kind("custom"), "What the tool is.", required=True)
CUSTOM_FIELDS: Final = Table(CUSTOM_TYPE, NAME, DESCRIPTION, CUSTOM_FORMAT, *_HINTS)

_FUNCTION: Final = Reader(OBJECT.wants, _function, FUNCTION_FIELDS.schema)
_CUSTOM: Final = Reader(OBJECT.wants, _custom, CUSTOM_FIELDS.schema)

_NESTED: Final[Mapping[str, Reader[tuple[Definition, ...]]]] = {"function": _FUNCTION, "custom": _CUSTOM}


def _nested(value: Json, at: Place) -> tuple[Definition, ...]:
    kind = OBJECT.read(value, at).get("type", "function")
    reader = _NESTED.get(TEXT.read(kind, at.child("type")))
    if reader is None:
        raise at.child("type").wrong(f"{at.path}.type must be one of {', '.join(_NESTED)}")
    return reader.read(value, at)


def _namespaced(value: Json, at: Place) -> tuple[Definition, ...]:
    return tuple(tool for tools in _EACH_NESTED.read(value, at) for tool in tools)


_EACH_NESTED: Final = array(
    Reader("a tool", _nested, {"anyOf": [_FUNCTION.schema, _CUSTOM.schema]}), at_most=MAX_TOOLS, of="tools"
)
NESTED_TOOLS: Final = honoured(
    "tools",
    Reader(_EACH_NESTED.wants, _namespaced, _EACH_NESTED.schema),
    "Functions and custom tools.",
    required=True,
)
NAMESPACE_TYPE: Final = honoured("type", _kind("namespace"), "What the tool is.", required=True)
NAMESPACE_DESCRIPTION: Final = Field(
    name="description",
    disposition=Disposition.IGNORED,
    note="Repeated in the response. The model is shown those of the tools themselves.",
    reader=TEXT,
)
NAMESPACE_FIELDS: Final = Table(NAMESPACE_TYPE, NAME, NESTED_TOOLS, NAMESPACE_DESCRIPTION)

_KINDS: Final[Mapping[str, Reader[tuple[Definition, ...]]]] = {
    **_NESTED,
    "namespace": Reader(OBJECT.wants, _namespace, NAMESPACE_FIELDS.schema),
}
_EACH: Final = array(Reader("a tool", _tool), at_most=MAX_TOOLS, of="tools")

TOOLS: Final = honoured(
    "tools",
    Reader(
        _EACH.wants,
        _tools,
        {
            "type": "array",
            "items": {
                "anyOf": [
                    *(reader.schema for reader in _KINDS.values()),
                    {
                        "type": "object",
                        "properties": {"type": {"type": "string", "not": {"enum": list(_KINDS)}}},
                        "required": ["type"],
                    },
                ]
            },
            "maxItems": MAX_TOOLS,
        },
    ),
    f"What the model may call: functions, custom tools and namespaces of both, at most {MAX_TOOLS} (S119). Others are of OpenAI's platform; "
    "they are left out and listed.",
)
