"""llama.cpp's GBNF as Lark: ``root ::= "yes" | [0-9]+``.

Every literal and every class of characters stays a piece of its own, as GBNF has no lexer: one that takes the longest match would
allow less than the grammar says. Rules are numbered, since a name in capitals would be a terminal in Lark.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dragoman.core.limits import MAX_GRAMMAR_DEPTH

_ESCAPE: Final = r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[\"\\\[\]nrt^\-])"

_TOKEN: Final = re.compile(
    rf"""(?P<space>[ \t\r]+|\#[^\n]*)
      | (?P<line>\n)
      | (?P<name>[a-zA-Z][a-zA-Z0-9-]*)
      | (?P<define>::=)
      | (?P<literal>"(?:{_ESCAPE}|[^"\\\n])*")
      | (?P<class>\[\^?(?:{_ESCAPE}|[^\]\\\n])*\])
      | (?P<repeat>[*+?]|\{{[0-9]+(?:,[0-9]*)?\}})
      | (?P<mark>[().|])""",
    re.VERBOSE,
)

_CONTROL: Final = {"n": "\n", "r": "\r", "t": "\t"}
_SPECIAL_IN_CLASS: Final = frozenset("[]\\^&~-")


class GbnfFault(Exception):
    """No grammar; the text says what is wrong and in which line."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    line: int


def lark_of_gbnf(source: str) -> str:
    """Rewrite a grammar; its ``root`` becomes ``start``. Raises ``GbnfFault``."""
    return _Rewriting(list(_tokens(source))).grammar()


def _tokens(source: str) -> Iterator[_Token]:
    at, line = 0, 1
    while at < len(source):
        token = _TOKEN.match(source, at)
        if token is None:
            raise GbnfFault(f"line {line}: {source[at : at + 12]!r} is not understood")
        at = token.end()
        kind = token.lastgroup or ""
        if kind != "space":
            yield _Token(kind, token[0], line)
        line += kind == "line"
    yield _Token("end", "", line)


class _Rewriting:
    """Reads rule after rule. A rule ends where a line does, unless that is within parentheses or after ``|``."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._numbers: dict[str, str] = {"root": "start"}
        self._used: dict[str, int] = {}

    def grammar(self) -> str:
        rules: dict[str, str] = {}
        while not self._lines_then("end"):
            name = self._take("name")
            self._take("define")
            self._lines_then("")
            if name.text in rules:
                raise GbnfFault(f"line {name.line}: {name.text} is defined twice")
            rules[name.text] = self._alternatives(0)
            if self._next.kind not in {"line", "end"}:
                raise self._unexpected()
        if "root" not in rules:
            raise GbnfFault("there is no rule root")
        for name_used, line in self._used.items():
            if name_used not in rules:
                raise GbnfFault(f"line {line}: {name_used} is not defined")
        return "".join(f"{self._name(name)}: {body}\n" for name, body in rules.items())

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _unexpected(self) -> GbnfFault:
        what = "the end" if self._next.kind == "end" else repr(self._next.text)
        return GbnfFault(f"line {self._next.line}: {what} is not expected here")

    def _take(self, kind: str, text: str | None = None) -> _Token:
        token = self._next
        if token.kind != kind or (text is not None and token.text != text):
            raise self._unexpected()
        self._at += 1
        return token

    def _lines_then(self, kind: str) -> bool:
        """Pass over ends of lines; whether this comes next."""
        while self._next.kind == "line":
            self._at += 1
        return self._next.kind == kind

    def _name(self, name: str) -> str:
        return self._numbers.setdefault(name, f"rule_{len(self._numbers)}")

    def _alternatives(self, depth: int) -> str:
        if depth > MAX_GRAMMAR_DEPTH // 2:
            raise GbnfFault(f"line {self._next.line}: parentheses are nested too deep")
        options = [self._sequence(depth)]
        while self._next.text == "|":
            self._at += 1
            self._lines_then("")
            options.append(self._sequence(depth))
        return " | ".join(options)

    def _sequence(self, depth: int) -> str:
        parts: list[str] = []
        while True:
            if depth:
                self._lines_then("")
            part = self._part(depth)
            if part is None:
                return " ".join(parts) or '""'
            if self._next.kind == "repeat":
                part = f"{part}{self._take('repeat').text}"
            parts.append(part)

    def _part(self, depth: int) -> str | None:
        token = self._next
        match token.kind, token.text:
            case "name", name:
                if self._tokens[self._at + 1].kind == "define":
                    return None
                self._used.setdefault(name, token.line)
                part = self._name(name)
            case "literal", text:
                part = json.dumps(_unescaped(text[1:-1]))
            case "class", text:
                part = _class(text, token.line)
            case _, ".":
                part = r"/[\s\S]/"
            case _, "(":
                self._at += 1
                inner = self._alternatives(depth + 1)
                self._lines_then("")
                self._take("mark", ")")
                return f"({inner})"
            case _:
                return None
        self._at += 1
        return part


def _unescaped(text: str) -> str:
    return re.sub(_ESCAPE, lambda escape: _character(escape[0]), text)


def _character(written: str) -> str:
    """The character behind an escape, or the character itself."""
    if len(written) == 1:
        return written
    if written[1] in "xuU":
        return _code_point(int(f"0x{written[2:]}", 0))
    return _CONTROL.get(written[1], written[1])


def _code_point(number: int) -> str:
    if number > sys.maxunicode or 0xD800 <= number < 0xE000:
        raise GbnfFault(f"U+{number:04X} is no character")
    return chr(number)


def _class(text: str, line: int) -> str:
    negated = text.startswith("[^")
    body = text[1 + negated : -1]
    if not body:
        raise GbnfFault(f"line {line}: a class of characters is empty")
    members = re.findall(rf"{_ESCAPE}|.", body)
    written = [
        # A hyphen between two members is a range; an escaped one, or one at either end, is itself.
        "-" if member == "-" and 0 < index < len(members) - 1 else _member(_character(member))
        for index, member in enumerate(members)
    ]
    return f"/[{'^' if negated else ''}{''.join(written)}]/"


def _member(character: str) -> str:
    if character in _SPECIAL_IN_CLASS or character == "/":
        return "\\" + character
    return character if character.isalnum() else f"\\u{{{ord(character):X}}}"
