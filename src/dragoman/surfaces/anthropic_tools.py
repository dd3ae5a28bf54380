"""``tools`` and ``tool_choice`` of the Messages surface, and when a deferred tool may be called.

A tool with ``defer_loading`` is not told to the model until a ``tool_reference`` names it. It is told where it was found, so that the
prompt's beginning does not change. Where nothing here could find it, because the search is a hosted one or because there is no tool that could
search, it is offered like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Final

from dragoman.core.errors import InvalidRequest
from dragoman.core.json import Json, JsonObject, compact
from dragoman.core.limits import MAX_TOOL_USE_NAME_CHARS, MAX_TOOLS
from dragoman.core.request import ToolChoice, ToolMode, ToolSpec
from dragoman.surfaces.anthropic_cache import CACHE_CONTROL
from dragoman.surfaces.anthropic_client_tools import CLIENT_TOOLS
from dragoman.surfaces.fields import Form, Table, honoured, ignored, record
from dragoman.surfaces.openai_tool_choice import Tooling
from dragoman.surfaces.openai_tools import DESCRIPTION, PARAMETERS, STRICT, check_schema
from dragoman.surfaces.readers import BOOLEAN, OBJECT, TEXT, Place, Reader, array, identifier, word

_SEARCHES: Final = "tool_search_tool_"
_SKIPPED: Final = (
    *("web_search_", "web_fetch_", "code_execution_", _SEARCHES, "mcp_toolset", "advisor_"),
    *("computer_", "browser_toolset_"),
)
"""How the types begin of tools that their host runs, and of those that need a screen."""

_VALUES: Final = frozenset({"const", "default"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One of ``tools``. ``spec`` is None for one that is skipped."""

    name: str
    kind: str
    spec: ToolSpec | None = None
    deferred: bool = False
    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All tools of a request."""

    declared: tuple[Declared, ...] = ()

    def spec(self, name: str) -> ToolSpec | None:
        """The tool of this name that could be called."""
        return next((tool.spec for tool in self.declared if tool.spec is not None and tool.name == name), None)

    def offered(self, found: AbstractSet[str]) -> tuple[ToolSpec, ...]:
        """The tools that may be called once those named in ``found`` were found, in their order."""
        callable_ = [(tool, tool.spec) for tool in self.declared if tool.spec is not None]
        hosted_search = any(tool.kind.startswith(_SEARCHES) for tool in self.declared)
        may_hide = not hosted_search and any(not tool.deferred for tool, _ in callable_)
        return tuple(
            replace(spec, deferred=True) if may_hide and tool.deferred else spec
            for tool, spec in callable_
            if not (may_hide and tool.deferred and tool.name not in found)
        )


def definition(tool: ToolSpec) -> str:
    """What a model is told of a tool that was found."""
    told: JsonObject = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters or {"type": "object"},
    }
    return f"This tool can be called from now on: {compact(told)}"


def tooling(form: Form, catalogue: Catalogue, found: AbstractSet[str]) -> Tooling:
    """The tools on offer, and what is said about calls. Raises ``InvalidRequest`` naming the field."""
    choice = form.read(TOOL_CHOICE, ToolChoice())
    at = form.place(TOOL_CHOICE)
    tools = () if choice.mode is ToolMode.NONE else catalogue.offered(found)
    for name in choice.names:
        if not any(tool.name == name for tool in tools):
            raise _not_callable(catalogue, name, at)
    if choice.mode is ToolMode.REQUIRED and not tools:
        raise at.wrong(f"{at.path} asks for a call, and there are no tools that could be called")
    if not tools:
        if catalogue.declared and choice.mode is ToolMode.NONE:
            form.ignore(TOOLS)
        return Tooling()
    _check(tools, catalogue.declared, form.place(TOOLS))
    return Tooling(tools=tools, choice=choice, named=bool(choice.names))


def _not_callable(catalogue: Catalogue, name: str, at: Place) -> InvalidRequest:
    for tool in catalogue.declared:
        if tool.name == name and tool.spec is None:
            return at.unsupported(f"{at.path} names {name}, and tools of the type {tool.kind} are not run here")
        if tool.name == name:
            return at.wrong(f"{at.path} names {name}, which is deferred, and no tool_reference has found it")
    return at.wrong(f"{at.path} names {name}, which is none of the tools")


def _check(tools: Sequence[ToolSpec], declared: Sequence[Declared], at: Place) -> None:
    if len(tools) > MAX_TOOLS:
        raise at.wrong(f"{at.path}: {len(tools)} tools can be called; at most {MAX_TOOLS} may be")
    places = {tool.name: tool.place for tool in declared}
    for tool in tools:
        check_schema(tool, places[tool.name].child(INPUT_SCHEMA.name))


def _tool(value: Json, at: Place) -> Declared:
    kind = OBJECT.read(value, at).get(TOOL_TYPE.name)
    known = "custom" if kind is None else TEXT.read(kind, at.child(TOOL_TYPE.name))
    if known == "custom":
        return _custom(Form(value, TOOL_FIELDS, at), at)
    if known in CLIENT_TOOLS:
        return _client(Form(value, CLIENT_TOOL_FIELDS, at), CLIENT_TOOLS[known], known, at)
    if known.startswith(_SKIPPED):
        at.child(known).ignore()
        name = OBJECT.read(value, at).get(NAME.name)
        return Declared(name=name if isinstance(name, str) else known, kind=known, place=at)
    place = at.child(TOOL_TYPE.name)
    raise place.unsupported(f'{place.path} is not supported: only tools of type "custom", which is the default')


def _custom(form: Form, at: Place) -> Declared:
    form.read(CACHE_CONTROL, None)
    spec = ToolSpec(
        name=form.require(NAME),
        description=form.read(DESCRIPTION, ""),
        parameters=form.require(INPUT_SCHEMA),
        strict=form.read(STRICT, False),
    )
    return Declared(name=spec.name, kind="custom", spec=spec, deferred=form.read(DEFER_LOADING, False), place=at)


def _client(form: Form, known: ToolSpec, kind: str, at: Place) -> Declared:
    form.read(CACHE_CONTROL, None)
    spec = replace(known, name=form.read(CLIENT_NAME, known.name), strict=form.read(STRICT, False))
    return Declared(name=spec.name, kind=kind, spec=spec, deferred=form.read(DEFER_LOADING, False), place=at)


def _input_schema(value: Json, at: Place) -> JsonObject:
    """Without what is null at its root: the SDK's type allows that for some keywords, and JSON Schema for none but values."""
    schema = PARAMETERS.reader.read(value, at)
    return {keyword: inner for keyword, inner in schema.items() if inner is not None or keyword in _VALUES}


def _tools(value: Json, at: Place) -> Catalogue:
    declared = _SOME.read(value, at)
    seen: set[str] = set()
    for tool in declared:
        if tool.name in seen:
            place = tool.place.child(NAME.name)
            raise place.wrong(f"{place.path} is the name of another tool, too")
        seen.add(tool.name)
    return Catalogue(declared)


def _choice(form: Form) -> ToolChoice:
    parallel = not form.read(DISABLE_PARALLEL, False)
    match form.require(CHOICE_TYPE):
        case "any":
            return ToolChoice(mode=ToolMode.REQUIRED, parallel=parallel)
        case "tool":
            return ToolChoice(mode=ToolMode.REQUIRED, names=(form.require(CHOSEN),), parallel=parallel)
        case "none":
            return ToolChoice(mode=ToolMode.NONE)
        case _:
            return ToolChoice(parallel=parallel)


TOOL_TYPE: Final = honoured("type", TEXT, "`custom`, which is the default.")
NAME: Final = honoured("name", identifier(MAX_TOOL_USE_NAME_CHARS), "No two are the same.", required=True)
CLIENT_NAME: Final = honoured("name", NAME.reader, "What it is called; its type says what that should be.")
INPUT_SCHEMA: Final = honoured(
    "input_schema",
    Reader(PARAMETERS.reader.wants, _input_schema, PARAMETERS.reader.schema),
    "A JSON Schema of its arguments.",
    required=True,
)
DEFER_LOADING: Final = honoured(
    "defer_loading", BOOLEAN, "Default false; with true the tool is not told until a `tool_reference` names it."
)
_HINTS: Final = (
    ignored("eager_input_streaming", "Arguments are always streamed as they come."),
    ignored("input_examples", "Tell the model in the description."),
    ignored("allowed_callers", "Only the model calls tools."),
)
TOOL_FIELDS: Final = Table(TOOL_TYPE, NAME, DESCRIPTION, INPUT_SCHEMA, STRICT, DEFER_LOADING, CACHE_CONTROL, *_HINTS)
CLIENT_TOOL_FIELDS: Final = Table(
    TOOL_TYPE,
    CLIENT_NAME,
    STRICT,
    DEFER_LOADING,
    CACHE_CONTROL,
    *_HINTS,
    ignored("max_characters", "How much of a file is shown is for the client to say."),
)
_SOME: Final = array(Reader(OBJECT.wants, _tool, OBJECT.schema), of="tools")

TOOLS: Final = honoured(
    "tools",
    Reader(_SOME.wants, _tools, _SOME.schema),
    f"What the model may call, at most {MAX_TOOLS} at a time (S119). Hosted tools are skipped and listed. A last assistant message is not "
    "continued beside them (S65).",
)

CHOICE_TYPE: Final = honoured("type", word("auto", "any", "tool", "none"), "Who decides.", required=True)
CHOSEN: Final = honoured("name", NAME.reader, "Of `tool`: the one that must be called.")
DISABLE_PARALLEL: Final = honoured(
    "disable_parallel_tool_use", BOOLEAN, "Default false; with true there is at most one call (S127)."
)
CHOICE_FIELDS: Final = Table(CHOICE_TYPE, CHOSEN, DISABLE_PARALLEL)
TOOL_CHOICE: Final = honoured(
    "tool_choice",
    record(CHOICE_FIELDS, _choice),
    "`auto`, the default: the model decides. `any`: at least one call. `tool`: a call of that one. `none`: the tools are left out (S121, S122).",
)
