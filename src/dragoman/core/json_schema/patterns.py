"""A ``pattern`` of JSON Schema (ECMA-262's expressions) in the syntax of Rust's, which grammars are compiled with.

Most of it is common to both. What reads otherwise is rewritten, and what Rust's automata can not do is refused by name.

U+0000 is left out of whatever would match it. llguidance 1.9 takes a set that has all control characters, U+000A perhaps excepted, for
one that has every character which JSON escapes: it would let a quotation mark and a backslash through that the set excludes. No text
here may hold U+0000 anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

MAX_PATTERN_CHARS: Final = 32_768
MAX_PATTERN_DEPTH: Final = 100
"""Groups within groups; compilers of expressions recurse."""

_TOKEN: Final = re.compile(
    r"""(?P<look>\(\?(?:[=!]|<[=!]))        # ahead or behind
      | (?P<nul>\\(?:0|x00|u0000|u\{0+\})|\x00)
      | \\(?:(?P<back>[1-9]|k<)|(?P<edge>[bB])|(?P<control>c[A-Za-z])|(?P<space>[sS]))
      | (?P<property>\\[pP](?:\{[^}]*\}|[A-Za-z]))
      | (?P<escape>\\.)
      | (?P<open>\()
      | (?P<close>\))
      | (?P<class>\[\^?)
      | (?P<dot>\.)
      | (?P<count>\{[0-9]+(?:,[0-9]*)?\})
      | (?P<brace>[{}])
      | (?P<other>[^\\])""",
    re.VERBOSE | re.DOTALL,
)

_IN_CLASS: Final = re.compile(
    r"""(?P<end>\])
      | (?P<nul>\\(?:0|x00|u0000|u\{0+\})|\x00)(?P<range>-(?!\]))?
      | \\(?:(?P<control>c[A-Za-z])|(?P<backspace>b)|(?P<dash>-)|(?P<space>[sS]))
      | (?P<property>\\[pP](?:\{[^}]*\}|[A-Za-z]))
      | (?P<escape>\\.)
      | (?P<nested>[\[&~])                  # sets of sets in Rust's syntax, and mere characters in ECMA's
      | (?P<other>[^\\])""",
    re.VERBOSE | re.DOTALL,
)

_LINE_ENDS: Final = r"\n\r\u2028\u2029"
_SPACES: Final = r"\t\n\x0B\x0C\r \u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF"
"""ECMA-262's WhiteSpace and LineTerminator; Rust's ``\\s`` is another set."""


_REFUSED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "look": "look-ahead and look-behind can not be enforced",
        "back": "references to groups can not be enforced",
        "edge": "word boundaries can not be enforced",
        "nul": "the character U+0000 can not be enforced",
    }
)


class PatternFault(Exception):
    """An expression that can not be enforced; the text says why."""


def rust_pattern(pattern: str) -> str:
    """Rewrite an expression. Raises ``PatternFault`` naming what can not be done."""
    if len(pattern) > MAX_PATTERN_CHARS:
        raise PatternFault(f"it has more than {MAX_PATTERN_CHARS} characters")
    return "".join(_rewritten(pattern))


def _rewritten(pattern: str) -> Iterator[str]:
    at = depth = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            raise PatternFault("it ends in a backslash")
        at = token.end()
        kind = token.lastgroup or ""
        if kind in _REFUSED:
            raise PatternFault(_REFUSED[kind])
        if kind == "class":
            negated = token[0] == "[^"
            members, at = _class(pattern, at, negated=negated)
            yield _class_of(negated=negated, members=members)
        else:
            depth = _deeper(depth, kind)
            yield _outside(kind, token)
    if depth:
        raise PatternFault("a parenthesis is not closed")


def _deeper(depth: int, kind: str) -> int:
    depth += (kind == "open") - (kind == "close")
    if depth < 0:
        raise PatternFault("a parenthesis is closed that was not opened")
    if depth > MAX_PATTERN_DEPTH:
        raise PatternFault(f"its groups are nested more than {MAX_PATTERN_DEPTH} deep")
    return depth


def _outside(kind: str, token: re.Match[str]) -> str:
    """What is no class, and is not within one."""
    match kind:
        case "dot":
            return f"[^{_LINE_ENDS}]"
        case "space":
            return _class_of(negated=token["space"] == "S", members=_SPACES)
        case "property":
            return _without_nul(token[0])
        case "brace":
            return "\\" + token[0]
        case _:
            return _shared(token)


def _class(pattern: str, at: int, *, negated: bool) -> tuple[str, int]:
    """The members of a class in Rust's syntax, and where the expression goes on after it."""
    members: list[str] = []
    while token := _IN_CLASS.match(pattern, at):
        at = token.end()
        if token.lastgroup == "end":
            return "".join(members), at
        if token[0] == "-" and members and members[-1] == "-":
            raise PatternFault("two hyphens in a row in a class mean different things to different engines")
        members.append(_member(token, negated=negated))
    raise PatternFault("a class is not closed")


def _member(token: re.Match[str], *, negated: bool) -> str:
    """One token of a class. What is only excluded may have U+0000."""
    match token.lastgroup:
        case "nul" if not negated:
            raise PatternFault(_REFUSED["nul"])
        case "nul":
            return r"\x00"
        case "range":
            return r"\x00-" if negated else r"\x01-"
        case "property" if not negated:
            return _without_nul(token[0])
        case "backspace":
            return r"\x08"
        case "dash":
            return r"\-"
        case "space":
            return _SPACES if token["space"] == "s" else f"[^{_SPACES}]"
        case "nested":
            return "\\" + token[0]
        case _:
            return _shared(token)


def _class_of(*, negated: bool, members: str) -> str:
    if members:
        return _without_nul(f"[^{members}]") if negated else f"[{members}]"
    return r"[\s\S]" if negated else r"[^\s\S]"


def _without_nul(members: str) -> str:
    return rf"[{members}--\x00]"


def _shared(token: re.Match[str]) -> str:
    """What is written alike in classes and outside."""
    match token.lastgroup:
        case "control":
            return f"\\x{ord(token['control'][1]) % 32:02X}"
        case _:
            return token[0]
