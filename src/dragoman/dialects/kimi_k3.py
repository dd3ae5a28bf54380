"""Kimi-K3, whose answer is channels of XML in which control tokens take the place of brackets (XTML).

    <|open|>response<|sep|>I look.<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|>
    <|open|>argument key="city" type="string"<|sep|>Paris<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>

(one line in truth). The prompt opens the first channel, ``think`` or ``response``. What stands in none is text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from dragoman.core.grammar import literal
from dragoman.core.json import JsonObject
from dragoman.core.json_schema import SchemaFault
from dragoman.core.request import Conversation, ToolSpec
from dragoman.dialects.arguments import types_of
from dragoman.dialects.asking import switched
from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import ANYTHING, Written, arguments_schema, arguments_value
from dragoman.dialects.family import FamilyDialect, build_family
from dragoman.dialects.json_body import JsonArguments
from dragoman.dialects.lark import Lark
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Edge, Holds, State, Table, Terminal

_OPEN, _CLOSE, _SEPARATOR = "<|open|>", "<|close|>", "<|sep|>"

_CHANNELS: Final[dict[Terminal, Edge]] = {_OPEN: Edge("opened", tentative=True), _CLOSE: Edge("closed", tentative=True)}
_ENDS: Final[dict[Terminal, Edge]] = {_CLOSE: Edge("argument_closed", tentative=True)}


def attribute(text: str) -> str:
    """What an attribute's value means."""
    return text.replace("&quot;", '"').replace("&amp;", "&")


def asked(conversation: Conversation) -> Conversation:
    """Its template knows an effort by another name."""
    thinking = switched(conversation.thinking, {"minimal": "low", "xhigh": "max"})
    if thinking.effort is None:
        return replace(conversation, thinking=thinking)
    args = {"thinking_effort": thinking.effort, **conversation.template_args}
    return replace(conversation, thinking=replace(thinking, effort=None), template_args=args)


def _tag(to: Edge) -> State:
    """The rest of a tag whose name is known, its attributes included."""
    return State(holds=Holds.SYNTAX, edges={_SEPARATOR: to})


_TABLE: Final = Table(
    {
        "opening": State(holds=Holds.SPACE, edges=_CHANNELS, otherwise="text"),
        "thinking": State(holds=Holds.SPACE, edges=_CHANNELS, otherwise="reasoning"),
        "reasoning": State(holds=Holds.REASONING, edges=_CHANNELS),
        "text": State(holds=Holds.TEXT, edges=_CHANNELS),
        "opened": State(
            holds=Holds.SPACE,
            edges={"think": Edge("to_thinking"), "response": Edge("to_response"), "tools": Edge("to_tools")},
        ),
        "to_thinking": _tag(Edge("thinking")),
        "to_response": _tag(Edge("opening")),
        "to_tools": _tag(Edge("tools")),
        "closed": State(
            holds=Holds.SPACE,
            edges={name: Edge("to_opening") for name in ("think", "response", "tools", "message")},
        ),
        "to_opening": _tag(Edge("opening")),
        "tools": State(holds=Holds.SPACE, edges={_OPEN: Edge("call"), _CLOSE: Edge("closed")}),
        "call": State(holds=Holds.SPACE, edges={'call tool="': Edge("name")}),
        "name": State(holds=Holds.NAME, read=attribute, edges={'"': Edge("named")}),
        "named": _tag(Edge("arguments")),
        "arguments": State(holds=Holds.SPACE, edges={_OPEN: Edge("argument"), _CLOSE: Edge("called")}),
        "called": _tag(Edge("tools", ends=True)),
        "argument": State(holds=Holds.SPACE, edges={'argument key="': Edge("key"), "json": Edge("to_object")}),
        "key": State(
            holds=Holds.KEY, read=attribute, edges={'" type="string"': Edge("to_string"), '"': Edge("to_value")}
        ),
        "to_string": _tag(Edge("string")),
        "to_value": _tag(Edge("value")),
        "string": State(holds=Holds.STRING, edges=_ENDS),
        "value": State(holds=Holds.JSON, edges=_ENDS),
        "argument_closed": State(holds=Holds.SPACE, edges={"argument": Edge("to_arguments")}),
        "to_arguments": _tag(Edge("arguments")),
        "to_object": _tag(Edge("object")),
        "object": State(
            holds=Holds.BODY,
            body=lambda _: JsonArguments(),
            then=Edge("object_closed"),
            edges={_CLOSE: Edge("to_arguments")},
        ),
        "object_closed": State(holds=Holds.SPACE, edges={_CLOSE: Edge("to_arguments")}),
    }
)


def quoted(text: str) -> str:
    """An attribute's value as it is written."""
    escaped = text.replace("&", "&amp;").replace('"', "&quot;")
    return f'"{escaped}"'


@dataclass(frozen=True, slots=True)
class XtmlForm:
    """A call, in which the model counts, with an element for each argument, which says its type.

    Where the schema says more than can be held to in this way, the arguments are one element with a JSON object.
    """

    def rules(self, tool: ToolSpec, name: str, lark: Lark) -> str:
        """A rule for the call, and one for each argument. Raises ``Unsupported`` for a strict tool that cannot be held to its schema."""
        opened = f'{lark.text(f"{_OPEN}call tool={quoted(tool.name)} index=")} /"[0-9]{{1,4}}"/ {lark.text(_SEPARATOR)}'
        closed = lark.text(f"{_CLOSE}call{_SEPARATOR}")
        with suppress(SchemaFault):
            arguments = {f"{name}_{place}": argument for place, argument in enumerate(_arguments(tool, lark))}
            pairs = [f"{rule}{'' if needed else '?'}" for rule, (_, needed) in arguments.items()]
            rules = [f"{name}: {' '.join([opened, *pairs, closed])}"]
            rules += [f"{rule}: {body}" for rule, (body, _) in arguments.items()]
            return "\n".join(rules) + "\n"
        before, behind = lark.text(f'{_OPEN}json type="object"{_SEPARATOR}'), lark.text(f"{_CLOSE}json{_SEPARATOR}")
        return f"{name}: {opened} {before} {arguments_value(tool, lark)} {behind} {closed}\n"


def _arguments(tool: ToolSpec, lark: Lark) -> Iterator[tuple[str, bool]]:
    """An expression for each argument, and whether it is needed. Raises ``SchemaFault`` where elements cannot say what the schema does."""
    schema = arguments_schema(tool.parameters)
    properties, required = schema.get("properties"), schema.get("required", [])
    if not isinstance(properties, Mapping) or schema.get("additionalProperties") is not False:
        raise SchemaFault("not all arguments are named", ())
    for key, value in properties.items():
        if not isinstance(value, Mapping):
            raise SchemaFault("nothing is known of it", ("properties", key))
        kinds = [f"({_element(key, each, value, lark)})" for each in sorted(types_of(value))]
        if not kinds or not value.keys() <= _SIMPLE:
            raise SchemaFault("its types are not all named", ("properties", key))
        yield " | ".join(kinds), isinstance(required, list) and key in required


def _element(key: str, kind: str, schema: JsonObject, lark: Lark) -> str:
    """One argument of one type."""
    named = "number" if kind == "integer" else kind
    opened = lark.text(f'{_OPEN}argument key={quoted(key)} type="{named}"{_SEPARATOR}')
    closed = lark.text(f"{_CLOSE}argument{_SEPARATOR}")
    options = schema.get("enum")
    if kind != "string":
        return f"{opened} {lark.json({**schema, 'type': kind})} {closed}"
    if not isinstance(options, list):
        return f"{opened} {ANYTHING} {closed}"
    texts = [literal(option) for option in options if isinstance(option, str)]
    return f"{opened} ({' | '.join(texts)}) {closed}"


_SIMPLE: Final = frozenset(
    {"type", "enum", "title", "description", "default", "examples", "items", "properties", "required",
     "additionalProperties", "minimum", "maximum", "minItems", "maxItems"}
)  # fmt: skip
"""Keywords of values that elements can be held to."""

SYNTAX: Final = Syntax(
    table=_TABLE,
    silent=_TABLE,
    think=(f"{_OPEN}think{_SEPARATOR}", f"{_CLOSE}think{_SEPARATOR}"),
    said=f"{_OPEN}response{_SEPARATOR}",
    shut=f"{_CLOSE}response{_SEPARATOR}",
    asking=asked,
    written=Written(
        opener=f"{_CLOSE}response{_SEPARATOR}{_OPEN}tools{_SEPARATOR}",
        call=XtmlForm(),
        after=f"{_CLOSE}tools{_SEPARATOR}",
    ),
)


def build(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, SYNTAX, name="kimi_k3")
