"""Whether the model shall call tools on the Responses surface, and which: ``tool_choice`` with names as the client knows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dragoman.core.json import Json
from dragoman.core.request import ToolChoice, ToolMode
from dragoman.surfaces.fields import Form, Table, honoured, record
from dragoman.surfaces.openai_tools import NAME
from dragoman.surfaces.readers import OBJECT, TEXT, Place, Reader, array, word
from dragoman.surfaces.responses_tools import Offer

_TOOL_KINDS: Final = ("function", "custom")


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A tool as a choice names it."""

    name: str
    namespace: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A choice as it was written. ``one``: it names the one tool that must be called."""

    mode: ToolMode = ToolMode.AUTO
    tools: tuple[Named, ...] = ()
    one: bool = False
    echo: Json = "auto"


def choice_of(wish: Wish, offer: Offer, at: Place, *, parallel: bool) -> ToolChoice:
    """The choice in the model's names. Raises ``InvalidRequest`` naming the field (``at``) for what is not on offer."""
    if not offer.specs:
        if wish.mode is ToolMode.REQUIRED or wish.tools:
            raise at.wrong(f"{at.path} speaks of calls, and no tools were sent that could be called")
        return ToolChoice()
    names = tuple(dict.fromkeys(_on_offer(tool, offer, at) for tool in wish.tools))
    return ToolChoice(mode=wish.mode, names=names, parallel=parallel)


def _on_offer(named: Named, offer: Offer, at: Place) -> str:
    matching = [
        shown
        for shown, tool in offer.tools.items()
        if tool.name == named.name and named.namespace in (None, tool.namespace)
    ]
    if named.name in matching:  # it stands in no namespace, or is the only one of its name
        return named.name
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise at.wrong(f"{at.path} names {named.name}, which several namespaces have; send its namespace")
    raise at.wrong(f"{at.path} names {named.name}, which is none of the tools")


def _named(form: Form) -> Named:
    form.read(KIND, None)
    return Named(name=form.require(NAME), namespace=form.read(NAMESPACE, None))


def _one_of_some(value: Json, at: Place) -> Named:
    _check_kind(OBJECT.read(value, at).get("type"), at.child("type"))
    return _NAMED.read(value, at)


def _check_kind(kind: Json, at: Place) -> None:
    if kind is None:
        raise at.missing()
    if TEXT.read(kind, at) not in _TOOL_KINDS:
        raise at.unsupported(
            f'{at.path} "{ascii(kind)[1:-1][:64]}" is not supported: only functions and custom tools can be called here'
        )


def _allowed(form: Form) -> tuple[ToolMode, tuple[Named, ...]]:
    form.read(ALLOWED_TYPE, None)
    return ToolMode(form.require(ALLOWED_MODE)), form.require(ALLOWED_TOOLS)


def _tool_choice(value: Json, at: Place) -> Wish:
    if isinstance(value, str):
        return Wish(mode=ToolMode(_MODE.read(value, at)), echo=value)
    if not isinstance(value, Mapping):
        raise at.invalid(TOOL_CHOICES.wants, value)
    if value.get("type") == "allowed_tools":
        mode, tools = _ALLOWED.read(value, at)
        return Wish(mode=mode, tools=tools, echo=value)
    _check_kind(value.get("type"), at.child("type"))
    return Wish(mode=ToolMode.REQUIRED, tools=(_NAMED.read(value, at),), one=True, echo=value)


_MODE: Final = word(*(mode.value for mode in ToolMode))
KIND: Final = honoured("type", word(*_TOOL_KINDS), "What it names.", required=True)
NAMESPACE: Final = honoured("namespace", TEXT, "The namespace that the tool stands in.")
_NAMED: Final = record(Table(KIND, NAME, NAMESPACE), _named)

ALLOWED_TYPE: Final = honoured(
    "type", Reader('"allowed_tools"', TEXT.read, {"const": "allowed_tools"}), "What the object is.", required=True
)
ALLOWED_MODE: Final = honoured("mode", word("auto", "required"), "As the word alone.", required=True)
ALLOWED_TOOLS: Final = honoured(
    "tools",
    array(Reader("a tool", _one_of_some, _NAMED.schema), at_least=1, of="tools"),
    "Those that may be called.",
    required=True,
)
_ALLOWED: Final = record(Table(ALLOWED_TYPE, ALLOWED_MODE, ALLOWED_TOOLS), _allowed)

TOOL_CHOICES: Final = Reader(
    f'{_MODE.wants}, or an object of type "function", "custom" or "allowed_tools"',
    _tool_choice,
    {"anyOf": [_MODE.schema, _NAMED.schema, _ALLOWED.schema]},
)
TOOL_CHOICE: Final = honoured(
    "tool_choice",
    TOOL_CHOICES,
    "Default `auto`, the model decides. `none`: the tools are left out. `required`: at least one call. An object names the one tool that "
    "must be called, or those that may be (S121, S122).",
)
