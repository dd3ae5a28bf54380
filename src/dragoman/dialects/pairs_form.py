"""The grammar of calls whose arguments are pairs of a key and a value, each between tags of its own.

    <function=get_weather>
    <parameter=city>
    Paris
    </parameter>
    </function>

A value whose schema takes strings is text up to its closing tag, any other is JSON. Keys come in the order of the schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dragoman.core.errors import Code, Unsupported
from dragoman.core.grammar import literal
from dragoman.core.json import JsonObject
from dragoman.core.request import ToolSpec
from dragoman.dialects.arguments import schema_of, types_of
from dragoman.dialects.call_grammar import ANYTHING, argument_value, arguments_schema
from dragoman.dialects.lark import Lark, expression

_SILENT: Final = frozenset({"type", "title", "description", "default", "examples", "deprecated", "$comment", "format"})
"""Keywords beside which a string may be any text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsForm:
    """``before NAME middle (key KEY assign VALUE end)* after``. ``assign_json`` stands in the place of ``assign`` before JSON."""

    before: str
    middle: str
    key: str
    assign: str
    end: str
    after: str
    assign_json: str | None = None

    def rules(self, tool: ToolSpec, name: str, lark: Lark) -> str:
        """A rule for the call, and one for each argument."""
        schema = arguments_schema(tool.parameters)
        properties = schema.get("properties")
        rules: list[str] = []
        if isinstance(properties, Mapping) and schema.get("additionalProperties") is False:
            pairs = self._pairs(tool, schema, properties, name, lark, rules)
        elif tool.strict:
            raise self._cannot(tool, "its arguments are not all named")
        else:
            pairs = [f"{name}_any*"]
            opened = f"{lark.text(self.key)} /[A-Za-z_][A-Za-z0-9_.-]*/ {lark.text(self.assign)}"
            rules.append(f"{name}_any: {opened} {self._text(f'{name}_text', lark, rules)}")
        call = [lark.text(self.before + tool.name + self.middle), *pairs, lark.text(self.after)]
        return "\n".join([f"{name}: {' '.join(call)}", *rules]) + "\n"

    def _pairs(
        self, tool: ToolSpec, schema: JsonObject, properties: JsonObject, name: str, lark: Lark, rules: list[str]
    ) -> list[str]:
        required = schema.get("required")
        needed = required if isinstance(required, list) else []
        pairs = []
        for place, key in enumerate(properties):
            pair = f"{name}_{place}"
            rules.append(f"{pair}: {self._pair(tool, schema, key, pair, lark, rules)}")
            pairs.append(pair if key in needed else f"{pair}?")
        return pairs

    def _pair(self, tool: ToolSpec, schema: JsonObject, key: str, name: str, lark: Lark, rules: list[str]) -> str:
        value = schema_of(schema, key)
        types = types_of(value)
        opened = lark.text(self.key + key + self.assign)
        if not types or "string" not in types:
            assign = self.assign if self.assign_json is None else self.assign_json
            return f"{lark.text(self.key + key + assign)} {argument_value(tool, value, lark)} {lark.text(self.end)}"
        options = value.get("enum", [value["const"]] if "const" in value else None)
        if isinstance(options, Sequence) and options and all(isinstance(option, str) for option in options):
            texts = " | ".join(literal(str(option)) for option in options)
            return f"{opened} ({texts}) {lark.text(self.end)}"
        if tool.strict and (unheld := value.keys() - _SILENT):
            raise self._cannot(
                tool, f"{min(unheld)!r} of {key!r} cannot be enforced where strings are written as they are"
            )
        return f"{opened} {self._text(f'{name}_text', lark, rules)}"

    def _text(self, name: str, lark: Lark, rules: list[str]) -> str:
        """Any text, and the tag that ends it."""
        head = lark.before_control(self.end)
        if head != self.end:
            return f"/(?s:.*){expression(head)}/ {lark.text(self.end.removeprefix(head))}"
        rules.append(f"{name}[suffix={lark.text(self.end)}]: {ANYTHING}")
        return name

    def _cannot(self, tool: ToolSpec, reason: str) -> Unsupported:
        return Unsupported(
            f"the parameters of {tool.name!r} cannot be enforced: {reason}",
            code=Code.UNSUPPORTED_VALUE,
            feature="tools",
        )
