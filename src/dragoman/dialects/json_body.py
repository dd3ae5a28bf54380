"""JSON that is read while it grows: a call's arguments as one object, and a call as one object with a name in it. Pure.

    {"city": "Paris"}                                           ``JsonArguments``
    {"name": "get_weather", "arguments": {"city": "Paris"}}     ``JsonCall``, its keys in any order

Arguments go out as the model wrote them. Only control characters in strings, which models write and JSON forbids, are escaped.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from dragoman.dialects.arguments import encodable, is_encodable

_SPACE: Final = re.compile(r"[ \t\n\r]+")
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f]+')
_SCALAR: Final = re.compile(r"[-+.0-9A-Za-z]+")
_WHOLE: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?|true|false|null")
_ESCAPE: Final = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})')
_ESCAPE_BEGUN: Final = re.compile(r"\\(u[0-9a-fA-F]{0,3})?")
_CLOSERS: Final = {"{": "}", "[": "]"}


class _Expect(Enum):
    """What may come next."""

    VALUE = auto()
    ITEM = auto()  # a value, or the array's end
    FIRST_KEY = auto()  # a key, or the object's end
    KEY = auto()
    COLON = auto()
    COMMA = auto()  # a comma, or the end of what is open
    STRING = auto()  # inside a string
    NOTHING = auto()


@dataclass(slots=True)
class JsonScanner:
    """Checks one JSON value character by character.

    ``take`` returns the value's text so far; what can not be decided yet, half an escape, waits. ``failed`` from the first character
    that JSON does not allow there; ``rest`` is what was not taken.
    """

    rest: str = ""
    failed: bool = False
    is_key: bool = False
    """Whether the string that is being read, or was read last, is a key."""
    _open: list[str] = field(default_factory=list)
    _expect: _Expect = _Expect.VALUE
    _scalar: str = ""

    @property
    def depth(self) -> int:
        """Objects and arrays that are open."""
        return len(self._open)

    @property
    def done(self) -> bool:
        """Whether the value is whole."""
        return self._expect is _Expect.NOTHING

    @property
    def in_string(self) -> bool:
        """Whether a string is open."""
        return self._expect is _Expect.STRING

    def take(self) -> str | None:
        """Read one lexeme, or part of it, from ``rest`` and return it; None where more is needed, or at the end."""
        if not self.rest or self.done or self.failed:
            return None
        if self.in_string:
            return self._in_string()
        if not self._scalar and (space := _SPACE.match(self.rest)):
            return self._cut(space.end())
        if self._scalar or _SCALAR.match(self.rest):
            return self._in_scalar()
        return self._mark()

    def _cut(self, size: int) -> str:
        text, self.rest = self.rest[:size], self.rest[size:]
        return text

    def _fail(self) -> str | None:
        self.failed = True
        return None

    def _in_string(self) -> str | None:
        if plain := _PLAIN.match(self.rest):
            return self._cut(plain.end())
        match self.rest[0]:
            case '"':
                self._expect = _Expect.COLON if self.is_key else self._after_value()
                return self._cut(1)
            case "\\":
                if escape := _ESCAPE.match(self.rest):
                    return self._cut(escape.end())
                return None if _ESCAPE_BEGUN.fullmatch(self.rest) else self._fail()
            case _:
                return json.dumps(self._cut(1))[1:-1]

    def _in_scalar(self) -> str | None:
        if self._expect not in {_Expect.VALUE, _Expect.ITEM} or not self._open:
            return self._fail()
        if part := _SCALAR.match(self.rest):
            self._scalar += part.group()
            return self._cut(part.end())
        if not _WHOLE.fullmatch(self._scalar):
            return self._fail()
        self._scalar, self._expect = "", self._after_value()
        return ""

    def _mark(self) -> str | None:
        character = self.rest[0]
        match self._expect, character:
            case ((_Expect.VALUE | _Expect.ITEM), "{" | "["):
                self._open.append(_CLOSERS[character])
                self._expect = _Expect.FIRST_KEY if character == "{" else _Expect.ITEM
            case ((_Expect.VALUE | _Expect.ITEM | _Expect.KEY | _Expect.FIRST_KEY), '"') if self._open:
                self.is_key = self._expect in {_Expect.KEY, _Expect.FIRST_KEY}
                self._expect = _Expect.STRING
            case _Expect.COLON, ":":
                self._expect = _Expect.VALUE
            case _Expect.COMMA, ",":
                self._expect = _Expect.KEY if self._open[-1] == "}" else _Expect.VALUE
            case ((_Expect.COMMA | _Expect.FIRST_KEY | _Expect.ITEM), "}" | "]") if character == self._open[-1]:
                self._open.pop()
                self._expect = self._after_value()
            case _:
                return self._fail()
        return self._cut(1)

    def _after_value(self) -> _Expect:
        return _Expect.COMMA if self._open else _Expect.NOTHING


class JsonArguments:
    """Arguments as one JSON object."""

    def __init__(self) -> None:
        self._scanner = JsonScanner()

    def feed(self, text: str) -> str:
        """Return them as they come, without the white space around."""
        scanner = self._scanner
        scanner.rest += text
        if not scanner.depth:
            scanner.rest = scanner.rest.lstrip()
            scanner.failed = scanner.rest[:1] not in {"", "{"}
        out: list[str] = []
        while (taken := scanner.take()) is not None:
            out.append(taken)
        return "".join(out)

    @property
    def done(self) -> bool:
        """Whether the object is closed."""
        return self._scanner.done

    @property
    def failed(self) -> bool:
        """Whether it is no JSON object."""
        return self._scanner.failed

    @property
    def rest(self) -> str:
        """What stands behind the object."""
        return self._scanner.rest


@dataclass(frozen=True, slots=True, kw_only=True)
class CallKeys:
    """The keys of a call's object. It has no others than these."""

    name: str = "name"
    arguments: frozenset[str] = frozenset({"arguments", "parameters"})
    others: frozenset[str] = frozenset({"id", "type", "index"})


class JsonCall:
    """A call as one JSON object: the name is told as soon as it is known, and arguments that came before it are kept until then."""

    def __init__(self, keys: CallKeys = CallKeys()) -> None:
        self._keys = keys
        self._scanner = JsonScanner()
        self._key = ""
        self._value = ""  # of the key, where it is not the arguments
        self._kept = ""
        self._has_arguments = False
        self._failed = False
        self.name: str | None = None

    def feed(self, text: str) -> str:
        """Return arguments that are certain, once the name is known."""
        scanner = self._scanner
        scanner.rest += text
        if not scanner.depth and not scanner.done:
            scanner.rest = scanner.rest.lstrip()
            self._failed = scanner.rest[:1] not in {"", "{"}
        while not self.failed and not scanner.done and self._step():
            pass
        if self.name is None:
            return ""
        if scanner.done and not self._has_arguments:
            self._kept, self._has_arguments = "{}", True
        kept, self._kept = self._kept, ""
        return kept

    @property
    def done(self) -> bool:
        """Whether the call's object is closed."""
        return self._scanner.done and not self.failed

    @property
    def failed(self) -> bool:
        """Whether it is no call: no JSON, a key that no call has, or no name."""
        return self._failed or self._scanner.failed

    @property
    def rest(self) -> str:
        """What stands behind the object."""
        return self._scanner.rest

    def _step(self) -> bool:
        scanner = self._scanner
        depth, was_string = scanner.depth, scanner.in_string
        taken = scanner.take()
        if taken is None:
            return False
        own = depth == 1 and scanner.depth == 1
        if own and scanner.is_key and (was_string or scanner.in_string):
            self._key += taken
            if not scanner.in_string:
                self._key = json.loads(self._key)
                self._begin_value()
        elif depth == 1 and taken in {",", "}", ":"} and not was_string:
            if taken != ":":
                self._end_value()
        elif depth >= 1 and self._key:
            self._more(taken, inside=max(depth, scanner.depth) > 1)
            if self._key == self._keys.name and was_string and not scanner.in_string and depth == 1:
                self._read_name(json.loads(self._value))
        return True

    def _read_name(self, name: str) -> None:
        """Half of a surrogate pair names no tool, and could not be told."""
        self._failed = not is_encodable(name)
        self.name = None if self._failed else name

    def _begin_value(self) -> None:
        self._value = ""
        known = {self._keys.name, *self._keys.arguments, *self._keys.others}
        again = self._has_arguments if self._key in self._keys.arguments else self._key == self._keys.name and self.name
        self._failed = self._key not in known or bool(again)

    def _more(self, taken: str, *, inside: bool) -> None:
        if self._key in self._keys.arguments and (self._has_arguments or (taken == "{" and inside)):
            self._kept += taken if inside else ""
            self._has_arguments = True
        elif self._value or taken.strip():
            self._value += taken

    def _end_value(self) -> None:
        """A comma, or the object's end."""
        key, self._key = self._key, ""
        if key == self._keys.name:
            self._failed = not self.name
        elif key in self._keys.arguments and not self._has_arguments:
            self._kept = _object(self._value)
            self._has_arguments = bool(self._kept)
            self._failed = not self._kept
        if self._scanner.done and self.name is None:
            self._failed = True


def _object(text: str) -> str:
    """Arguments that are not written as an object: null is none, and a string may hold one. Empty for anything else."""
    value = json.loads(text or "null")
    if value is None or value == "":
        return "{}"
    try:
        return encodable(value) if isinstance(value, str) and isinstance(json.loads(value), dict) else ""
    except (ValueError, RecursionError):
        return ""
