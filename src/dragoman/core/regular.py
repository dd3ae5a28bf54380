"""A Lark grammar without recursion as one regular expression.

A custom tool's input may be given by a grammar (the ``lark`` of OpenAI's ``CustomToolInputFormat``). It is an argument of a call all
the same, a string within JSON, of which a schema can say no more than a ``pattern``. What is read is Lark as llguidance has it, as
far as it names a regular language. Aliases, priorities and the marks of rules say how a tree is built, and no tree is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from dragoman.core.json_schema import PatternFault, rust_pattern
from dragoman.core.limits import MAX_GRAMMAR_BYTES
from dragoman.core.terminals import COMMON, TerminalFault, between, ecma, expression, literal, unanchored

_MAX_CHARS: Final = 32_000
"""Of the expression, just below what a ``pattern`` may have. A rule is written out wherever it is used."""

_MAX_DEPTH: Final = 64
"""Of brackets within brackets, and of rules within rules: both are read by recursion, and become groups within groups."""

_MAX_REASON_CHARS: Final = 200
"""Names and texts in a reason are the client's, and may be long."""

_TOKEN: Final = re.compile(
    r"""(?P<blank>[ \t\r\f]+|//[^\n]*)
      | (?P<line>\n)
      | (?P<directive>%[a-z]+)
      | (?P<string>"(?:[^"\\\n]|\\.)*"i?)
      | (?P<regex>/(?:[^/\\\n]|\\.)+/[a-z]*)
      | (?P<alias>->[ \t]*[A-Za-z_]\w*)
      | (?P<name>[!?]?[A-Za-z_]\w*)
      | (?P<times>[?*+]
          | ~[ ]*[0-9]{1,5}(?:[ ]*\.\.[ ]*[0-9]{1,5})?
          | \{[ ]*(?:[0-9]{1,5}[ ]*(?:,[ ]*[0-9]{0,5})?|,[ ]*[0-9]{1,5})[ ]*\})
      | (?P<priority>\.-?[0-9]+)
      | (?P<range>\.\.)
      | (?P<sign>[:|()\[\].,])""",
    re.VERBOSE | re.ASCII,
)


class RegularFault(Exception):
    """A grammar that is none, or that no expression can say here; the text completes "the grammar ...", and is short."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason if len(reason) <= _MAX_REASON_CHARS else f"{reason[:_MAX_REASON_CHARS]}...")


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class _Terminal:
    """An expression, as it stands."""

    expression: str


@dataclass(frozen=True, slots=True)
class _Name:
    name: str


@dataclass(frozen=True, slots=True)
class _Repeat:
    inner: _Node
    times: str


@dataclass(frozen=True, slots=True)
class _Choice:
    """One of these sequences."""

    options: tuple[tuple[_Node, ...], ...]


_Node: TypeAlias = "_Terminal | _Name | _Repeat | _Choice"


def whole(pattern: str) -> str:
    """An expression in Rust's syntax as one that a whole string matches. Raises ``RegularFault``."""
    try:
        return _anchored(ecma(unanchored(pattern)))
    except TerminalFault as fault:
        raise RegularFault(str(fault)) from None


def regular_expression(grammar: str) -> str:
    """An expression that a whole string matches where it is a sentence of ``start``. Raises ``RegularFault``."""
    if len(grammar.encode()) > MAX_GRAMMAR_BYTES:
        raise RegularFault(f"has more than {MAX_GRAMMAR_BYTES} bytes")
    try:
        return _anchored(_Writer(_Reader(list(_tokens(grammar))).rules()).rule("start"))
    except TerminalFault as fault:
        raise RegularFault(str(fault)) from None


def _anchored(inner: str) -> str:
    pattern = f"^{inner}$"
    try:
        rust_pattern(pattern)
    except PatternFault as fault:
        raise RegularFault(f"makes an expression that cannot be enforced: {fault}") from None
    return pattern


def _tokens(grammar: str) -> Iterator[_Token]:
    at = depth = 0
    while at < len(grammar):
        token = _TOKEN.match(grammar, at)
        if token is None:
            line = grammar.count("\n", 0, at) + 1
            raise RegularFault(f"cannot be read from {grammar[at : at + 12]!r} on, in line {line}")
        at = token.end()
        kind, text = token.lastgroup or "", token[0]
        depth += (text in ("(", "[")) - (text in (")", "]"))
        if depth > _MAX_DEPTH:
            raise RegularFault(f"nests brackets more than {_MAX_DEPTH} deep")
        # Within brackets a rule goes on in the next line.
        if kind != "blank" and not (kind == "line" and depth > 0):
            yield _Token(kind, text)
    yield _Token("line", "\n")
    yield _Token("end", "its end")


class _Reader:
    """Reads rule after rule; names are not looked up yet. The last token is never taken."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def rules(self) -> Mapping[str, _Node]:
        rules: dict[str, _Node] = {}
        while (token := self._here).kind != "end":
            self._at += 1
            match token.kind:
                case "line":
                    continue
                case "directive":
                    rules |= self._import(token.text)
                case "name":
                    name = token.text.lstrip("!?")
                    if name in rules:
                        raise RegularFault(f"defines {name} twice")
                    self._skip("priority")
                    self._take(":")
                    rules[name] = self._choice()
                    self._take("\n")
                case _:
                    raise RegularFault(f"has {token.text} where a rule should begin")
        return rules

    def _import(self, directive: str) -> dict[str, _Node]:
        if directive != "%import":
            raise RegularFault(f"uses {directive}, which an expression cannot say")
        words: list[str] = []
        alias = ""
        while (token := self._here).kind != "line":
            self._at += 1
            if token.kind == "name":
                words.append(token.text)
            elif token.kind == "alias":
                alias = token.text[2:].strip()
        if len(words) < 2 or words[0] != "common" or (alias and len(words) > 2):
            raise RegularFault("imports something other than terminals of common")
        for name in words[1:]:
            if name not in COMMON:
                raise RegularFault(f"imports common.{name}, which is not known here")
        return {alias or name: _Terminal(COMMON[name]) for name in words[1:]}

    def _choice(self) -> _Choice:
        options = [self._sequence()]
        while self._bar():
            options.append(self._sequence())
        return _Choice(tuple(options))

    def _bar(self) -> bool:
        """Take a bar, before which lines may end."""
        ahead = self._at
        while self._tokens[ahead].kind == "line":
            ahead += 1
        if self._tokens[ahead].text != "|":
            return False
        self._at = ahead + 1
        return True

    def _sequence(self) -> tuple[_Node, ...]:
        nodes: list[_Node] = []
        while self._here.kind not in ("line", "end") and self._here.text not in ("|", ")", "]"):
            if not self._skip("alias"):
                nodes.append(self._repeated(self._atom()))
        return tuple(nodes)

    def _repeated(self, node: _Node) -> _Node:
        while self._here.kind == "times":
            node = _Repeat(node, _times(self._here.text))
            self._at += 1
        return node

    def _atom(self) -> _Node:
        token = self._here
        self._at += 1
        match token.kind:
            case "string" if self._skip("range"):
                last = self._here
                self._at += 1
                return _Terminal(between(token.text, last.text if last.kind == "string" else '""'))
            case "string":
                return _Terminal(literal(token.text))
            case "regex":
                return _Terminal(expression(token.text))
            case "name":
                return _Name(token.text)
            case _ if token.text in ("(", "["):
                inner = self._choice()
                self._take(")" if token.text == "(" else "]")
                return inner if token.text == "(" else _Repeat(inner, "?")
            case _:
                raise RegularFault(f"has {token.text} where a part of a rule should stand")

    @property
    def _here(self) -> _Token:
        return self._tokens[min(self._at, len(self._tokens) - 1)]

    def _skip(self, kind: str) -> bool:
        found = self._here.kind == kind
        self._at += found
        return found

    def _take(self, sign: str) -> None:
        if self._here.text != sign:
            raise RegularFault(f"has {self._here.text!r} where {sign!r} should stand")
        self._at += 1


def _times(written: str) -> str:
    """How an expression says it; Lark has two ways to give numbers."""
    if written in ("?", "*", "+"):
        return written
    low, dots, high = written.strip("~{} ").replace("..", ",").partition(",")
    low, high = low.strip() or "0", high.strip()
    if high and int(low) > int(high):
        raise RegularFault(f"repeats something {low} to {high} times")
    return f"{{{low},{high}}}" if dots else f"{{{low}}}"


class _Writer:
    """Writes rules out where they are used."""

    def __init__(self, rules: Mapping[str, _Node]) -> None:
        self._rules = rules
        self._written: dict[str, str] = {}
        self._open: list[str] = []

    def rule(self, name: str) -> str:
        if name in self._written:
            return self._written[name]
        if name in self._open:
            raise RegularFault(f"defines {name} by itself, and an expression has no recursion")
        if name not in self._rules:
            raise RegularFault(f"does not define {name}")
        if len(self._open) > _MAX_DEPTH:
            raise RegularFault(f"nests rules more than {_MAX_DEPTH} deep")
        self._open.append(name)
        written = self._write(self._rules[name])
        self._open.pop()
        self._written[name] = written
        return written

    def _write(self, node: _Node) -> str:
        match node:
            case _Terminal(expression=piece):
                return piece
            case _Name(name=name):
                return self.rule(name)
            case _Repeat(inner=inner, times=times):
                return f"(?:{self._write(inner)}{times})"
            case _Choice(options=((only,),)):
                return self._write(only)
            case _Choice(options=options):
                return self._bounded(options)
            case _:
                assert_never(node)

    def _bounded(self, options: tuple[tuple[_Node, ...], ...]) -> str:
        """All alternatives in one group. Raises before more is written than may be."""
        pieces: list[str] = []
        size = 0
        for index, option in enumerate(options):
            pieces.append("|" if index else "(?:")
            for node in option:
                pieces.append(self._write(node))
                size += len(pieces[-1])
                if size > _MAX_CHARS:
                    raise RegularFault(f"makes an expression of more than {_MAX_CHARS} characters")
        return "".join((*pieces, ")"))
