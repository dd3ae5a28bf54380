"""The grammar of an answer: reasoning first, then text, calls of tools, or a format that the client asked for.

    auto        text, in which a call may begin; from there on calls alone, each with a tool's name and what its schema allows
    required    calls alone
    a format    the format, or calls where there are tools

How a family writes a call is a ``CallForm``; the rest is the same for all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from dragoman.core.errors import Code, Unsupported
from dragoman.core.grammar import rule_of
from dragoman.core.json import Json, JsonObject
from dragoman.core.json_schema import SchemaFault
from dragoman.core.request import OutputFormat, ToolChoice, ToolMode, ToolSpec
from dragoman.dialects.lark import Lark, expression

DEFINITIONS: Final = ("$defs", "definitions")
"""Where schemas keep what they refer to."""

ANYTHING: Final = "/(?s:.*)/"

MAX_CALLS: Final = 16
"""Calls in one answer. Small models would repeat themselves until their budget ends."""


class CallForm(Protocol):
    """How a family writes one call, from behind its opener to its end."""

    def rules(self, tool: ToolSpec, name: str, lark: Lark) -> str:
        """Definitions of rules; the first is ``name``, the others begin with it. Raises ``Unsupported``, or ``SchemaFault``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """How a family writes its calls: ``opener call (between call)* after``.

    The ``opener`` in a text is the beginning of a call; with ``leads`` only where the answer begins with it. One that is ``single`` writes no
    second call.
    """

    opener: str
    call: CallForm
    between: str = ""
    after: str = ""
    leads: bool = False
    single: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """Reasoning that comes before the rest: whether it is open already, and may not be left out. ``budget`` bounds its tokens."""

    opener: str
    closer: str
    is_open: bool
    budget: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonForm:
    """``before NAME middle {arguments} after``."""

    before: str
    middle: str
    after: str = ""

    def rules(self, tool: ToolSpec, name: str, lark: Lark) -> str:
        """One rule."""
        after = f" {lark.text(self.after)}" if self.after else ""
        return f"{name}: {lark.text(self.before + tool.name + self.middle)} {arguments_value(tool, lark)}{after}\n"


def offered(tools: Sequence[ToolSpec], choice: ToolChoice) -> tuple[ToolSpec, ...]:
    """The tools that may be called."""
    if choice.mode is ToolMode.NONE:
        return ()
    return tuple(tool for tool in tools if not choice.names or tool.name in choice.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerGrammar:
    """What one answer must follow. ``said`` stands before text and formats, and ``shut`` may stand behind, where a family writes that."""

    tools: tuple[ToolSpec, ...]
    choice: ToolChoice
    output: OutputFormat | None
    written: Written | None
    thought: Thought | None
    said: str = ""
    shut: str = ""
    lark: Lark

    def text(self) -> str | None:
        """The grammar; None where anything goes.

        Raises ``Unsupported`` where calls cannot be enforced in this family, or a strict tool's schema cannot.
        """
        bounded = self.thought is not None and self.thought.budget is not None
        if not self.tools and self.output is None and not bounded:
            return None
        rules: list[str] = []
        bodies: list[str] = []
        must_call = bool(self.tools) and self.choice.mode is ToolMode.REQUIRED
        if self.tools:
            bodies += self._calls(_enforced(self.written), rules, alone=must_call or self.output is not None)
        if self.output is not None and not must_call:
            bodies.append(f"{self._said()}output{self._shut()}")
            rules.append(rule_of(self.output, "output"))
        if not bodies:
            bodies.append(f"{self._said()}free{self._shut()}")
            rules += [f"FREE: {ANYTHING}{self._barred()}", "free: FREE"]
        start = self._start(bodies, rules)
        return "".join(f"{rule.rstrip()}\n" for rule in [start, *rules])

    def _calls(self, written: Written, rules: list[str], *, alone: bool) -> list[str]:
        """Rules for calls, and the bodies in which they stand: ``alone``, or after text."""
        names = [f"call_{place}" for place in range(len(self.tools))]
        more = "" if self._is_single(written) else f" ({self._between(written)}call){{0,{MAX_CALLS - 1}}}"
        last = f" {self.lark.text(written.after)}" if written.after else ""
        rules += [f"calls: call{more}{last}", f"call: {' | '.join(names)}"]
        rules += [written.call.rules(tool, name, self.lark) for tool, name in zip(self.tools, names, strict=True)]
        opened = f"{self.lark.text(written.opener)} calls"
        said = "" if written.leads else self._said()
        if alone:
            return [f"{said}{opened}"]
        rules += [f"FREE: {ANYTHING}{self._barred(written)}", "free: FREE"]
        if written.leads:
            return [f"{self._said()}free{self._shut()}", opened]
        head = self.lark.before_control(written.opener)
        rest = written.opener.removeprefix(head)
        if not head:
            return [f"{said}free{self._shut()}", f"{said}free {opened}"]
        rules.append(f"lead: {self.lark.text(rest)}" if rest else f"lead[lazy]: FREE {self.lark.text(head)}")
        if not rest:
            return [f"{said}free{self._shut()}", f"{said}lead calls"]
        rules.append(f"LEAD: FREE {self.lark.text(head)}")
        return [f"{said}free{self._shut()}", f"{said}LEAD lead calls"]

    def _is_single(self, written: Written) -> bool:
        """Whether one call is all. A tool that the client named is called once, as by OpenAI's models: SDKs count on it."""
        named = self.choice.mode is ToolMode.REQUIRED and len(self.choice.names) == 1
        return named or written.single or not self.choice.parallel

    def _barred(self, written: Written | None = None) -> str:
        """What text may not begin with, because it would be taken for text where it is something else."""
        texts = [written.opener] if written is not None and written.leads else []
        texts += [self.thought.opener] if self.thought is not None and not self.thought.is_open else []
        spelled = [text for text in texts if not self.lark.begins_with_control(text)]
        return "".join(rf" & ~/\s*{expression(text)}(?s:.*)/" for text in spelled)

    def _between(self, written: Written) -> str:
        return f"{self.lark.text(written.between)} " if written.between else ""

    def _said(self) -> str:
        return f"{self.lark.text(self.said)} " if self.said else ""

    def _shut(self) -> str:
        return f" ({self.lark.text(self.shut)})?" if self.shut else ""

    def _start(self, bodies: Sequence[str], rules: list[str]) -> str:
        """The first rule: thoughts, where there may be any, and then one of the bodies."""
        thought = self.thought
        if thought is None:
            return f"start: {' | '.join(bodies)}"
        thinking = [f"think {body}" for body in bodies]
        opening = "" if thought.is_open else f"{self.lark.text(thought.opener)} "
        rules += [f"think: {opening}thought SPACE", r"SPACE: /\s{0,8}/", *self._thought(thought)]
        return f"start: {' | '.join(thinking if thought.is_open else [*bodies, *thinking])}"

    def _thought(self, thought: Thought) -> list[str]:
        """Rules for reasoning to its end. When its budget is used up, nothing but the closer may follow.

        Only where that is one token: a text would have to be told from the thought before it is whole.
        """
        spelled = expression(thought.closer)
        token = None if thought.budget is None else self.lark.one_token(thought.closer)
        if token is not None and thought.budget == 0:
            return [f"thought: {token}"]
        if token is not None:
            within = "" if self.lark.is_control(thought.closer) else f" & ~/(?s:.*){spelled}(?s:.*)/"
            return [
                f"thought: bounded {token}",
                f"bounded[max_tokens={thought.budget}]: OPEN",
                f"OPEN: {ANYTHING}{within}",
            ]
        if self.lark.begins_with_control(thought.closer):
            return [f"thought: {ANYTHING} {self.lark.text(thought.closer)}"]
        return [f"thought[lazy]: /(?s:.*){spelled}/"]


def _enforced(written: Written | None) -> Written:
    if written is None:
        raise Unsupported("this model was taught no way to call tools", code=Code.UNSUPPORTED_VALUE, feature="tools")
    return written


def arguments_value(tool: ToolSpec, lark: Lark) -> str:
    """An expression: the tool's arguments as JSON. What cannot be enforced of a tool that is not strict is left to the model."""
    schema = arguments_schema(tool.parameters)
    try:
        return lark.json(schema, lenient=not tool.strict)
    except SchemaFault as fault:
        if tool.strict:
            raise unenforceable(tool, fault) from fault
        return lark.json({"type": "object"})


def argument_value(tool: ToolSpec, value: JsonObject, lark: Lark) -> str:
    """An expression: one argument as JSON, of which no more is asked than of ``arguments_value``. It may refer to the tool's definitions."""
    parameters = tool.parameters or {}
    if '"$ref"' in json.dumps(value):
        value = {**{key: parameters[key] for key in DEFINITIONS if key in parameters}, **value}
    try:
        return lark.json(value, lenient=not tool.strict)
    except SchemaFault as fault:
        if tool.strict:
            raise unenforceable(tool, fault) from fault
        return lark.json({})


def arguments_schema(parameters: JsonObject | None) -> JsonObject:
    """The schema of an object. Arguments that it does not name are none, unless it asks for some: nobody would know what to do with them."""
    schema: dict[str, Json] = {"type": "object", "properties": {}, **(parameters or {})}
    properties, required = schema["properties"], schema.get("required", [])
    if (
        _OPENING.isdisjoint(schema)
        and isinstance(properties, Mapping)
        and isinstance(required, Sequence)
        and all(name in properties for name in required)
    ):
        schema["additionalProperties"] = False
    return schema


_OPENING: Final = frozenset(
    {
        *("additionalProperties", "patternProperties", "propertyNames", "unevaluatedProperties", "minProperties"),
        *("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "const", "enum"),
        *("dependencies", "dependentRequired", "dependentSchemas"),
    }
)
"""Keywords beside which a schema does not name all of its properties, or says itself what others may be."""


def unenforceable(tool: ToolSpec, fault: SchemaFault) -> Unsupported:
    """The refusal of a strict tool."""
    return Unsupported(
        f"the parameters of {tool.name!r} cannot be enforced: {fault.message}",
        code=Code.UNSUPPORTED_VALUE,
        feature="tools",
    )
