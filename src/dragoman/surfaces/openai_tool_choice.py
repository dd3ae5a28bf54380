"""Whether the model shall call tools, and which: the fields of a conversation that become ``ToolChoice``.

``tool_choice`` is OpenAI's word for it, and ``function_call`` the one that went with ``functions``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.json import Json
from dragoman.core.request import ToolChoice, ToolMode, ToolSpec
from dragoman.surfaces.fields import Field, Form, Table, honoured, record
from dragoman.surfaces.openai_tools import FUNCTIONS, NAME, TOOL_FUNCTION, TOOL_TYPE, TOOLS, check_schemas
from dragoman.surfaces.readers import BOOLEAN, TEXT, Place, Reader, array


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A choice as it was written. ``named``: it names the one function that must be called."""

    mode: ToolMode = ToolMode.AUTO
    names: tuple[str, ...] = ()
    named: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tooling:
    """The tools on offer, which are none where no call is allowed, and what the client says about calls.

    ``named`` is as in ``Wish``. ``functions``: the client speaks of functions, and is answered so.
    """

    tools: tuple[ToolSpec, ...] = ()
    choice: ToolChoice = field(default_factory=ToolChoice)
    named: bool = False
    functions: bool = False

    @property
    def spelling(self) -> Mapping[str, str]:
        """The fields behind what a model may be unable to do."""
        tools, choice = (FUNCTIONS, FUNCTION_CALL) if self.functions else (TOOLS, TOOL_CHOICE)
        return {"tools": tools.name, "tool_choice": choice.name, "grammar": tools.name}


def tooling(form: Form) -> Tooling:
    """The tools of a body whose table has the rows of ``TOOLING``. Raises ``InvalidRequest`` naming the field."""
    tools = _offer(form, TOOLS, TOOL_CHOICE)
    functions = _offer(form, FUNCTIONS, FUNCTION_CALL)
    if tools.tools and functions.tools:
        raise InvalidRequest(
            f"{FUNCTIONS.name} are the older form of {TOOLS.name}: send one of the two",
            code=Code.INVALID_VALUE,
            param=FUNCTIONS.name,
        )
    parallel = form.read(PARALLEL_TOOL_CALLS, True)
    if not tools.tools:
        form.ignore(PARALLEL_TOOL_CALLS)
    if functions.tools:
        check_schemas(functions.tools, form.place(FUNCTIONS))
        # The older answer has room for one call.
        return replace(functions, functions=True, choice=replace(functions.choice, parallel=False))
    check_schemas(tools.tools, form.place(TOOLS), TOOL_FUNCTION.name)
    return replace(tools, choice=replace(tools.choice, parallel=parallel)) if tools.tools else Tooling()


def _offer(form: Form, tools: Field[tuple[ToolSpec, ...]], choice: Field[Wish]) -> Tooling:
    offered, wish = form.read(tools, ()), form.read(choice, Wish())
    if wish.mode is ToolMode.NONE or not offered:
        if wish.mode is ToolMode.REQUIRED or wish.names:
            raise _wrong(choice, f"speaks of calls, and no {tools.name} were sent that could be called")
        if offered:
            form.ignore(tools)
        return Tooling()
    known = {tool.name for tool in offered}
    for name in wish.names:
        if name not in known:
            raise _wrong(choice, f"names {name}, which is none of the {tools.name}")
    return Tooling(tools=offered, choice=ToolChoice(mode=wish.mode, names=wish.names), named=wish.named)


def _wrong(choice: Field[Wish], message: str) -> InvalidRequest:
    return InvalidRequest(f"{choice.name} {message}", code=Code.INVALID_VALUE, param=choice.name)


def _mode(words: Collection[ToolMode]) -> Reader[Wish]:
    wants = f"one of {', '.join(words)}"

    def read(value: Json, at: Place) -> Wish:
        word = TEXT.read(value, at)
        if word in words:
            return Wish(mode=ToolMode(word))
        raise at.wrong(f"{at.path} must be {wants}")

    return Reader(wants, read, {"enum": list(words)})


def _named(form: Form) -> Wish:
    return Wish(mode=ToolMode.REQUIRED, names=(form.require(NAME),), named=True)


def _named_tool(form: Form) -> Wish:
    form.read(TOOL_TYPE, None)
    return form.require(NAMED_FUNCTION)


def _some(form: Form) -> Wish:
    return replace(form.require(ALLOWED_MODE), names=tuple(dict.fromkeys(form.require(ALLOWED_NAMES))))


def _allowed(form: Form) -> Wish:
    return form.require(ALLOWED_TOOLS)


def _tool_choice(value: Json, at: Place) -> Wish:
    if isinstance(value, str):
        return _TOOL_MODE.read(value, at)
    if not isinstance(value, Mapping):
        raise at.invalid(TOOL_CHOICES.wants, value)
    match value.get("type"):
        case "function":
            return _NAMED_TOOL.read(value, at)
        case "allowed_tools":
            return _ALLOWED.read(value, at)
        case "custom":
            raise at.child("type").unsupported(f'{at.path}.type "custom" is not supported: tools are functions')
        case _:
            raise at.child("type").wrong(f'{at.path}.type must be "function" or "allowed_tools"')


def _function_call(value: Json, at: Place) -> Wish:
    if isinstance(value, str):
        return _FUNCTION_MODE.read(value, at)
    if not isinstance(value, Mapping):
        raise at.invalid(FUNCTION_CALLS.wants, value)
    return _NAMED_FUNCTION.read(value, at)


_NAMED_FUNCTION: Final = record(Table(NAME), _named)
NAMED_FUNCTION: Final = honoured("function", _NAMED_FUNCTION, "Its `name`.", required=True)
_NAMED_TOOL: Final = record(Table(TOOL_TYPE, NAMED_FUNCTION), _named_tool)

ALLOWED_MODE: Final = honoured("mode", _mode((ToolMode.AUTO, ToolMode.REQUIRED)), "As the word alone.", required=True)
ALLOWED_NAMES: Final = honoured(
    "tools",
    array(
        Reader(_NAMED_TOOL.wants, lambda value, at: _NAMED_TOOL.read(value, at).names[0], _NAMED_TOOL.schema),
        at_least=1,
        of="functions",
    ),
    "Those that may be called, by `type` and `function.name`.",
    required=True,
)
ALLOWED_TOOLS: Final = honoured(
    "allowed_tools", record(Table(ALLOWED_MODE, ALLOWED_NAMES), _some), "`mode` and `tools`.", required=True
)
ALLOWED_TYPE: Final = honoured(
    "type", Reader('"allowed_tools"', TEXT.read, {"const": "allowed_tools"}), "What the object is.", required=True
)
_ALLOWED: Final = record(Table(ALLOWED_TYPE, ALLOWED_TOOLS), _allowed)

_TOOL_MODE: Final = _mode(tuple(ToolMode))
TOOL_CHOICES: Final = Reader(
    f'{_TOOL_MODE.wants}, or an object of type "function" or "allowed_tools"',
    _tool_choice,
    {"anyOf": [_TOOL_MODE.schema, _NAMED_TOOL.schema, _ALLOWED.schema]},
)
_FUNCTION_MODE: Final = _mode((ToolMode.NONE, ToolMode.AUTO))
FUNCTION_CALLS: Final = Reader(
    f"{_FUNCTION_MODE.wants}, or an object with a name",
    _function_call,
    {"anyOf": [_FUNCTION_MODE.schema, _NAMED_FUNCTION.schema]},
)

TOOL_CHOICE: Final = honoured(
    "tool_choice",
    TOOL_CHOICES,
    "Default `auto`, the model decides. `none`: the tools are left out. `required`: at least one call. An object names the one function "
    "that must be called, or those that may be (S121, S122).",
)
PARALLEL_TOOL_CALLS: Final = honoured(
    "parallel_tool_calls", BOOLEAN, "Default true; with false there is at most one call (S127)."
)
FUNCTION_CALL: Final = honoured("function_call", FUNCTION_CALLS, "The older form of `tool_choice`, for `functions`.")

TOOLING: Final = Table(TOOLS, TOOL_CHOICE, PARALLEL_TOOL_CALLS, FUNCTIONS, FUNCTION_CALL)
"""The rows that ``tooling`` reads."""
