"""MiniMax-M3, which writes a mark before each tag, and arguments as tags of their own names.

    ]<]minimax[>[<tool_call>
    ]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Paris]<]minimax[>[</city>]<]minimax[>[</invoke>
    ]<]minimax[>[</tool_call>

Objects are tags in tags, and the elements of a list are tags called ``item``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from dragoman.core.errors import Code, Unsupported
from dragoman.core.grammar import literal
from dragoman.core.json import JsonObject
from dragoman.core.request import Conversation, Thinking, ToolSpec
from dragoman.dialects.arguments import schema_of, types_of
from dragoman.dialects.asking import switched
from dragoman.dialects.base import ModelTraits
from dragoman.dialects.call_grammar import ANYTHING, Written, argument_value, arguments_schema
from dragoman.dialects.family import FamilyDialect, build_family
from dragoman.dialects.lark import Lark, expression
from dragoman.dialects.nested import ITEM, MARK, NestedArguments
from dragoman.dialects.prose import prose
from dragoman.dialects.syntax import Syntax
from dragoman.dialects.table import Edge, Holds, State, Table

_THINK: Final = ("<mm:think>", "</mm:think>")
_NAME: Final = re.compile(r"[^\s<>/][^<>]*")
"""What a tag can be called and still be read as that."""

_ANY_NAME: Final = "[A-Za-z_][A-Za-z0-9_.-]*"

_SCALARS: Final = frozenset({"number", "integer", "boolean", "null"})
_KNOWN: Final = frozenset(
    {"type", "title", "description", "default", "examples", "properties", "required", "additionalProperties", "items"}
)
"""Keywords that tags can be held to, or that say nothing of what is allowed."""

_TABLE: Final = Table(
    {
        **prose({MARK: Edge("opened", tentative=True)}, think=_THINK),
        "opened": State(holds=Holds.SPACE, edges={"<tool_call>": Edge("block")}),
        "block": State(holds=Holds.SPACE, edges={MARK: Edge("invocation")}),
        "invocation": State(holds=Holds.SPACE, edges={'<invoke name="': Edge("name"), "</tool_call>": Edge("opening")}),
        "name": State(holds=Holds.NAME, edges={'">': Edge("arguments")}),
        "arguments": State(
            holds=Holds.BODY, body=NestedArguments, then=Edge("block", ends=True), controls=frozenset({MARK})
        ),
    }
)


def asked(conversation: Conversation) -> Conversation:
    """Its template knows a mode, which is the model's own choice where the client says nothing."""
    thinking = switched(conversation.thinking, {})
    if thinking.enabled is None:
        return conversation
    args = {"thinking_mode": "enabled" if thinking.enabled else "disabled", **conversation.template_args}
    return replace(conversation, thinking=Thinking(preserve=thinking.preserve), template_args=args)


@dataclass(frozen=True, slots=True)
class NestedForm:
    """A call, and a tag for each argument."""

    def rules(self, tool: ToolSpec, name: str, lark: Lark) -> str:
        """A rule for the call, and some for its arguments. Raises ``Unsupported`` for a strict tool that cannot be held to its schema."""
        writer = _Writer(tool, lark)
        arguments = writer.arguments(name, arguments_schema(tool.parameters))
        opened, closed = lark.text(f'{MARK}<invoke name="{tool.name}">'), lark.text("</invoke>\n")
        return "\n".join([f"{name}: {opened} {arguments} {closed}", *writer.rules]) + "\n"


@dataclass(slots=True)
class _Writer:
    """Collects the rules of one tool."""

    tool: ToolSpec
    lark: Lark
    rules: list[str] = field(default_factory=list)

    def arguments(self, name: str, schema: JsonObject) -> str:
        """An expression: the object of all arguments; any tags with any text in them where tags cannot be held to it."""
        if (found := self._object(name, schema)) is not None:
            return found
        closed = f"/<\\/{_ANY_NAME}>/ {self.lark.text(MARK)}"
        self.rules.append(f"{name}_any: /<{_ANY_NAME}>/ {self._text(name)} {closed}")
        return f"{self.lark.text(MARK)} {name}_any*"

    def object(self, name: str, schema: JsonObject) -> str:
        """An expression: an object within a value, as text where tags cannot be held to it, which may be JSON."""
        return self._object(name, schema) or self._text(name)

    def _object(self, name: str, schema: JsonObject) -> str | None:
        """An expression: a mark, and the tags of an object's properties, each with the mark behind it. None where not all can be tags.

        A mark is written with what stands before it, so that no tag begins as another does.
        """
        properties, required = schema.get("properties"), schema.get("required")
        if not isinstance(properties, Mapping) or schema.get("additionalProperties", False) is not False:
            self._loosen("not all of its properties are named")
            return None
        if odd := [key for key in properties if not _NAME.fullmatch(key)]:
            self._loosen(f"no tag can be called {odd[0]!r}")
            return None
        parts = []
        for place, key in enumerate(properties):
            inner = f"{name}_{place}"
            self._element(inner, key, schema_of(schema, key))
            parts.append(inner if isinstance(required, list) and key in required else f"{inner}?")
        return " ".join([self.lark.text(MARK), *parts])

    def _element(self, name: str, key: str, schema: JsonObject) -> None:
        """A rule: one tag with a value in it, and the mark behind it."""
        opened, closed = self.lark.text(f"<{key}>"), self.lark.text(f"</{key}>{MARK}")
        place = len(self.rules)
        value = self._value(name, schema)
        self.rules.insert(place, f"{name}: {opened} {value} {closed}")

    def _value(self, name: str, schema: JsonObject) -> str:
        """An expression: a value, and the mark behind it."""
        types, mark = types_of(schema), self.lark.text(MARK)
        options = schema.get("enum")
        if isinstance(options, list) and all(isinstance(option, str) for option in options):
            return f"({' | '.join(literal(str(option)) for option in options)}) {mark}"
        if types and types <= _SCALARS:
            return f"{argument_value(self.tool, schema, self.lark)} {mark}"
        if unknown := schema.keys() - _KNOWN:
            self._loosen(f"{min(unknown)!r} cannot be enforced in tags")
        items = schema.get("items")
        if types == {"array"} and isinstance(items, Mapping):
            self._element(f"{name}_item", ITEM, items)
            return f"{mark} {name}_item*"
        if types == {"object"}:
            return self.object(name, {"additionalProperties": False, **schema})
        if types != {"string"}:
            self._loosen("a value's type is not certain")
        return self._text(name)

    def _text(self, name: str) -> str:
        """An expression: any text up to a mark, and the mark."""
        if self.lark.begins_with_control(MARK):
            return f"{ANYTHING} {self.lark.text(MARK)}"
        self.rules.append(f"{name}_text[lazy]: /(?s:.*){expression(MARK)}/")
        return f"{name}_text"

    def _loosen(self, reason: str) -> None:
        """A tool that is not strict may be called with what its schema does not allow."""
        if self.tool.strict:
            raise Unsupported(
                f"the parameters of {self.tool.name!r} cannot be enforced: {reason}",
                code=Code.UNSUPPORTED_VALUE,
                feature="tools",
            )


SYNTAX: Final = Syntax(
    table=_TABLE,
    think=_THINK,
    asking=asked,
    written=Written(opener=f"{MARK}<tool_call>\n", call=NestedForm(), after=f"{MARK}</tool_call>"),
)


def build(traits: ModelTraits) -> FamilyDialect:
    """Raises ``ValueError`` as ``build_family`` does."""
    return build_family(traits, SYNTAX, name="minimax_m3")
