"""Lark's terminals, its strings and expressions, as regular expressions in ECMA-262's syntax.

Lark's expressions are Python's or Rust's, in which a dot is anything but a line feed; ECMA-262's leaves out more. Each function
returns a piece that can stand before a ``*``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

COMMON: Final[Mapping[str, str]] = MappingProxyType(
    {
        "DIGIT": "[0-9]",
        "HEXDIGIT": "[0-9a-fA-F]",
        "INT": "(?:[0-9]+)",
        "SIGNED_INT": "(?:[+-]?[0-9]+)",
        "DECIMAL": r"(?:[0-9]+\.[0-9]*|\.[0-9]+)",
        "FLOAT": r"(?:[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)",
        "NUMBER": r"(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)",
        "SIGNED_NUMBER": r"(?:[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)",
        "LCASE_LETTER": "[a-z]",
        "UCASE_LETTER": "[A-Z]",
        "LETTER": "[a-zA-Z]",
        "WORD": "(?:[a-zA-Z]+)",
        "CNAME": "(?:[_a-zA-Z][_a-zA-Z0-9]*)",
        "ESCAPED_STRING": r'(?:"(?:[^"\\\n]|\\[^\n])*")',
        "WS_INLINE": r"(?:[ \t]+)",
        "WS": r"(?:[ \t\f\r\n]+)",
        "CR": r"\r",
        "LF": r"\n",
        "NEWLINE": r"(?:(?:\r?\n)+)",
    }
)
"""Terminals of Lark's library, as its grammar ``common`` defines them."""

_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPED: Final = {
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "f": "\f",
    "v": "\v",
    "b": "\b",
    '"': '"',
    "\\": "\\",
    "/": "/",
    "'": "'",
}
_WRITTEN: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f", "\v": r"\v"}
_SYNTAX: Final = frozenset("\\^$.*+?()[]{}|/")

_COMPOUND: Final = re.compile(r"(?:\\.|(?!&&|~~|--)[^\\\[])*+(?:\[|&&|~~|--)", re.DOTALL)
"""What Rust takes for a class within a class, or for an operator between two."""

_PIECE: Final = re.compile(
    r"""(?P<class>\[\^?\]?(?:[^\]\\]|\\.)*\])
      | (?P<edge>[\^$]|\\[AbBzZ])
      | (?P<dot>\.)
      | \(\?P?<(?P<named>[A-Za-z_]\w*)>
      | (?P<group>\(\?:|\((?!\?))
      | (?P<extension>\(\?)
      | (?P<other>\\.|[^\\])""",
    re.VERBOSE | re.DOTALL,
)


class TerminalFault(Exception):
    """A terminal that has no such expression; the text says why, and completes "the grammar ..."."""


def text_of(string: str) -> str:
    """The text that a quoted string stands for, of which ``i`` may follow the quotes. Raises ``TerminalFault``."""
    inner = string[1 : string.rindex('"')]

    def unescaped(escape: re.Match[str]) -> str:
        digits = escape[1] or escape[2] or escape[3]
        if digits is None:
            if escape[4] not in _ESCAPED:
                raise TerminalFault(f"has {escape[0]} in {string}, which is no escape")
            return _ESCAPED[escape[4]]
        code = int(digits, 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise TerminalFault(f"has {escape[0]} in {string}, which is no character")
        return chr(code)

    return _ESCAPE.sub(unescaped, inner)


def literal(string: str) -> str:
    """An expression for a quoted string. Raises ``TerminalFault``."""
    written = "".join(_character(character) for character in text_of(string))
    return f"(?i:{written})" if string.endswith("i") else f"(?:{written})"


def between(first: str, last: str) -> str:
    """An expression for the characters from one quoted string to another. Raises ``TerminalFault``."""
    low, high = text_of(first), text_of(last)
    if len(low) != 1 or len(high) != 1 or low > high:
        raise TerminalFault(f"has a range from {first} to {last}, which are no two characters in their order")
    return f"[{_member(low)}-{_member(high)}]"


def expression(slashed: str) -> str:
    """An expression for one between slashes, with its flags after them. Raises ``TerminalFault``."""
    inner, _, flags = slashed[1:].rpartition("/")
    if flags.strip("imsu"):
        raise TerminalFault(f"has the flags {flags} at an expression, of which only i, m, s and u are known")
    return ecma(inner, dot_all="s" in flags, ignore_case="i" in flags)


def ecma(pattern: str, *, dot_all: bool = False, ignore_case: bool = False) -> str:
    """An expression in Python's or Rust's syntax. Raises ``TerminalFault`` for what looks beyond its own characters."""
    written: list[str] = []
    for piece in _pieces(pattern):
        match piece.lastgroup:
            case "edge" | "extension":
                raise TerminalFault(f"uses {piece[0]} in an expression, which looks beyond its own characters")
            case "dot":
                written.append(r"[\s\S]" if dot_all else r"[^\n]")
            case "class":
                written.append(_class(piece[0]))
            case "named" | "group":
                written.append("(?:")
            case _:
                written.append(piece[0])
    return f"({'?i' if ignore_case else '?'}:{''.join(written)})"


def unanchored(pattern: str) -> str:
    """The expression without the edges at its ends, where these are of all of it. Raises ``TerminalFault``."""
    pieces = list(_pieces(pattern))
    depth = 0
    for piece in pieces:
        depth += (piece.lastgroup in ("named", "group", "extension")) - (piece[0] == ")")
        if piece[0] == "|" and depth == 0:
            return pattern
    first = 1 if pieces and pieces[0][0] == "^" else 0
    last = len(pieces) - 1 if len(pieces) > first and pieces[-1][0] == "$" else len(pieces)
    return "".join(piece[0] for piece in pieces[first:last])


def _pieces(pattern: str) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(pattern):
        piece = _PIECE.match(pattern, at)
        if piece is None:
            raise TerminalFault(f"has an expression that ends in a backslash: {pattern[:40]}")
        at = piece.end()
        yield piece


def _class(written: str) -> str:
    """A class, of which a bracket at the beginning is a member. Raises ``TerminalFault`` for classes within it: ECMA-262 has none."""
    opening = "[^" if written.startswith("[^") else "["
    inner = written.removeprefix(opening)
    if _COMPOUND.match(inner):
        raise TerminalFault(f"has a class within a class in an expression: {written[:40]}")
    return f"{opening}\\{inner}" if inner.startswith("]") else written


def _character(character: str) -> str:
    if character in _SYNTAX:
        return "\\" + character
    return _WRITTEN.get(character, character if character >= " " else f"\\x{ord(character):02X}")


def _member(character: str) -> str:
    return "\\" + character if character in "-^]\\[&~" else _character(character)
