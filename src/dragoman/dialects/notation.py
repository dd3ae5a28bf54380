"""Arguments in a notation that is not JSON, turned into JSON text as they are read. Pure.

    city="Paris", days=[1, 2], strict=True)          Python's keyword arguments
    city:<|"|>Paris<|"|>,days:[1,2],strict:true}     objects with bare keys and quotes of their own

The JSON is compact, and what was returned is never taken back. Keys and strings go out as they come, numbers and words when they are
whole. What neither notation knows is read kindly: a bare text is a string, a key without a value is null, a comma too many is none.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from dragoman.core.json import Json
from dragoman.core.text import held_back

_WORDS: Final = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|[0-7]{1,3}|[^uUx0-7])", re.DOTALL)
_LONGEST_ESCAPE: Final = len(r"\U00010000")
_CHARACTERS: Final = {
    "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "/": "/", "\\": "\\", '"': '"', "'": "'", "\n": "",
}  # fmt: skip
_KEY: Final = re.compile(r"[\w$][\w$.-]*")
_BETWEEN: Final = re.compile(r"[\s,]*")
_ENDS: Final = {"{": "}", "[": "]", "(": ")"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Notation:
    """How a family writes arguments: the quotes around its strings, where a longer quote comes before one that begins it.

    In ``raw`` quotes a backslash is a character like others, in the rest it escapes as in Python and JSON. ``closer`` ends it all.
    """

    quotes: tuple[str, ...]
    raw: frozenset[str] = frozenset()
    closer: str


PYTHON: Final = Notation(quotes=('"""', "'''", '"', "'"), closer=")")


@dataclass(slots=True)
class _Container:
    """An object or an array that is not closed yet."""

    closer: str
    is_object: bool
    count: int = 0
    inline: bool = False
    """Its items belong to what is around it, as behind Python's ``**``."""


@dataclass(slots=True)
class ArgumentsReader:
    """Reads one call's arguments, from behind what opened them."""

    notation: Notation
    done: bool = False
    rest: str = ""
    """What is not read yet; after the end, what stands behind it."""
    failed: bool = False
    """Never: what it does not know it reads kindly."""
    _open: list[_Container] = field(default_factory=list)
    _state: Callable[[ArgumentsReader], str | None] | None = None
    _quote: str = ""
    _is_key: bool = False
    _bare: int = 0
    """Characters of ``rest`` among which there is no end of a bare text; they are not looked through again."""

    def feed(self, text: str) -> str:
        """Take more of them, and return the JSON text that is certain now."""
        self.rest += text
        out: list[str] = []
        if self._state is None:
            out.append(self._enter(self.notation.closer, is_object=True))
        while not self.done and self._state is not None and (more := self._state(self)) is not None:
            out.append(more)
        return "".join(out)

    # --- states: each reads what it can, and returns None where it needs more ----------------------------------------

    def _item(self) -> str | None:
        """Before a key, or an element of an array."""
        container = self._open[-1]
        self.rest = _BETWEEN.sub("", self.rest, count=1)
        if not self.rest:
            return None
        if self.rest.startswith(container.closer):
            return self._leave()
        if not container.is_object:
            return self._value(comma="," if container.count else "")
        if self.rest.startswith("**"):
            return self._inline()
        quote = self._opening_quote()
        if quote is None:
            return None
        key = None if quote else self._bare_text(":=,")
        if not quote and key is None:
            return None
        comma = "," if container.count else ""
        container.count += 1
        if key is None:
            return comma + self._begin_string(quote, is_key=True)
        self._state = ArgumentsReader._assignment
        return comma + json.dumps(key, ensure_ascii=False)

    def _inline(self) -> str | None:
        """Keywords as one object."""
        opener = self.rest[2:].lstrip()
        if not opener:
            return None
        self.rest = opener[1:]
        if opener[0] == "{":
            self._open.append(_Container("}", is_object=True, count=self._open[-1].count, inline=True))
        return ""

    def _assignment(self) -> str | None:
        """Between a key and its value."""
        self.rest = self.rest.lstrip()
        if not self.rest:
            return None
        if self.rest[0] in ":=":
            self.rest = self.rest[1:]
            self._state = ArgumentsReader._value
            return ":"
        self._state = ArgumentsReader._item
        return ":null"

    def _value(self, comma: str = "") -> str | None:
        """Before a value."""
        self.rest = self.rest.lstrip()
        if not self.rest:
            return None
        quote = self._opening_quote()
        if quote is None:
            return None
        if quote:
            self._count_element()
            return comma + self._begin_string(quote, is_key=False)
        if self.rest[0] in _ENDS:
            opener, self.rest = self.rest[0], self.rest[1:]
            self._count_element()
            return comma + self._enter(_ENDS[opener], is_object=opener == "{")
        word = self._bare_text(",")
        if word is None:
            return None
        self._count_element()
        self._state = ArgumentsReader._item
        return comma + _literal(word)

    def _string(self) -> str | None:
        """Inside a string."""
        end, escape = self.rest.find(self._quote), -1
        if self._quote not in self.notation.raw:
            escape = self.rest.find("\\")
        if escape >= 0 and (end < 0 or escape < end):
            return self._escaped(escape)
        if end >= 0:
            text, self.rest = self.rest[:end], self.rest[end + len(self._quote) :]
            self._state = ArgumentsReader._assignment if self._is_key else ArgumentsReader._item
            return _escape(text) + '"'
        certain = len(self.rest) - held_back(self.rest, (self._quote,))
        if not certain:
            return None
        text, self.rest = self.rest[:certain], self.rest[certain:]
        return _escape(text)

    # --- steps -------------------------------------------------------------------------------------------------------

    def _escaped(self, place: int) -> str | None:
        """The text before a backslash, and what that stands for."""
        text = self.rest[:place]
        match = _ESCAPE.match(self.rest, place)
        room = len(self.rest) - place
        if room < _LONGEST_ESCAPE and (match is None or (match.end() == len(self.rest) and match[1][0] in "01234567")):
            if not text:
                return None
            self.rest = self.rest[place:]
            return _escape(text)
        if match is None:  # the beginning of an escape that is none
            self.rest = self.rest[place + 1 :]
            return _escape(f"{text}\\")
        self.rest = self.rest[match.end() :]
        return _escape(text) + _unescaped(match[1])

    def _bare_text(self, ends: str) -> str | None:
        """The text up to one of the ``ends`` or the container's own; None where it may go on."""
        end = re.compile(f"[{ends}{re.escape(self._open[-1].closer)}]").search(self.rest, self._bare)
        if end is None:
            self._bare = len(self.rest)
            return None
        word, self.rest, self._bare = self.rest[: end.start()].strip(), self.rest[end.start() :], 0
        return word

    def _opening_quote(self) -> str | None:
        """The quote that stands here, "" for none; None while a longer one could still come."""
        for quote in self.notation.quotes:
            if self.rest.startswith(quote):
                return quote
            if len(self.rest) < len(quote) and quote.startswith(self.rest):
                return None
        return ""

    def _begin_string(self, quote: str, *, is_key: bool) -> str:
        self.rest = self.rest[len(quote) :]
        self._quote, self._is_key = quote, is_key
        self._state = ArgumentsReader._string
        return '"'

    def _count_element(self) -> None:
        container = self._open[-1]
        if not container.is_object:
            container.count += 1

    def _enter(self, closer: str, *, is_object: bool) -> str:
        self._open.append(_Container(closer, is_object))
        self._state = ArgumentsReader._item
        return "{" if is_object else "["

    def _leave(self) -> str:
        container = self._open.pop()
        self.rest = self.rest[len(container.closer) :]
        self.done = not self._open
        if container.inline:
            self._open[-1].count = container.count
            return ""
        return "}" if container.is_object else "]"


def keyword_call(name: str, arguments: str) -> str:
    """A call in Python's notation, of its arguments as JSON; those that are no object stand as they are."""
    try:
        value: Json = json.loads(arguments)
    except (ValueError, RecursionError):
        return f"{name}({arguments})"
    if not isinstance(value, dict):
        return f"{name}({arguments})"
    if not all(map(_KEY.fullmatch, value)):
        return f"{name}(**{_compact(value)})"
    return f"{name}({', '.join(f'{key}={_python(each)}' for key, each in value.items())})"


def _python(value: Json) -> str:
    return str(value) if isinstance(value, bool) else _compact(value)


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _escape(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _unescaped(code: str) -> str:
    """The JSON for what a backslash and ``code`` mean; Python leaves both where they mean nothing."""
    match code[0]:
        case "u":  # as it is: half a surrogate pair has its other half in the next
            return f"\\{code}"
        case "U" | "x" if (number := int(code[1:], 16)) <= 0x10FFFF:
            return _escape(chr(number)) if number > 0xFFFF else f"\\u{number:04x}"
        case digit if digit in "01234567":
            return _escape(chr(int(code, 8)))
        case known if known in _CHARACTERS:
            return _escape(_CHARACTERS[known])
        case _:
            return _escape(f"\\{code}")


def _literal(word: str) -> str:
    """A number or a word as JSON; what is neither is a string."""
    if word in _WORDS:
        return _WORDS[word]
    if _NUMBER.fullmatch(word):
        return word
    for read in (lambda text: int(text, 0), float):
        with suppress(ValueError, OverflowError):
            number = read(word)
            if math.isfinite(number):
                return json.dumps(number)
    return json.dumps(word, ensure_ascii=False)
