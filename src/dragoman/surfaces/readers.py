"""Typed readers of JSON values: each knows what it wants, and names the place where it got something else.

A reader is data (``wants`` for messages, ``schema`` for machines) and a function. Nothing is converted silently: a
number in a string is a string, and ``true`` is not 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeGuard, TypeVar

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.json import Json, JsonObject
from dragoman.core.limits import MAX_TOKEN_ID

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_MAX_KEY_CHARS: Final = 64
"""Of a client's own key in a path: paths go into messages and a header."""

_MAX_IGNORED: Final = 32
"""Names kept for the header of ignored fields; proxies refuse long headers."""


class Place:
    """Where in a body we are. Places below one root share its strictness and its record of ignored fields.

    A place is made for each value and named only when something is wrong there, so ``path`` is worked out late.
    """

    __slots__ = ("_key", "_parent", "ignored", "strict")

    def __init__(self, parent: Place | None = None, key: str | int = "", *, strict: bool = False) -> None:
        self._parent = parent
        self._key = key
        self.strict: bool = strict if parent is None else parent.strict
        self.ignored: dict[str, None] = {} if parent is None else parent.ignored

    def child(self, key: str | int) -> Place:
        """The place one step down."""
        return Place(self, key)

    def inside(self, *keys: str | int) -> Place:
        """The place that these steps lead to."""
        place = self
        for key in keys:
            place = place.child(key)
        return place

    @property
    def path(self) -> str:
        """Steps joined by dots; empty at the root. Keys are the client's, so they become printable ASCII."""
        if self._parent is None:
            return ""
        step = str(self._key) if isinstance(self._key, int) else ascii(self._key)[1:-1][:_MAX_KEY_CHARS]
        above = self._parent.path
        return f"{above}.{step}" if above else step

    def ignore(self) -> None:
        """Record this place as accepted without effect; items of one array are recorded once, as ``*``."""
        if len(self.ignored) < _MAX_IGNORED:
            self.ignored[".".join("*" if step.isdecimal() else step for step in self.path.split("."))] = None

    def invalid(self, wants: str, value: Json) -> InvalidRequest:
        """The error for a value that is not what the field wants."""
        return self.wrong(f"{self.path or 'the body'} must be {wants}; got {_got(value)}")

    def wrong(self, message: str) -> InvalidRequest:
        """An error about this place in words of its own."""
        return InvalidRequest(message, code=Code.INVALID_VALUE, param=self.path or None)

    def missing(self) -> InvalidRequest:
        """The error for a field that is absent or null and must not be."""
        return InvalidRequest(f"{self.path} is required", code=Code.MISSING_FIELD, param=self.path)

    def unsupported(self, message: str, code: Code = Code.UNSUPPORTED_VALUE) -> Unsupported:
        """The error for what is well-formed and cannot be done here."""
        return Unsupported(message, code=code, param=self.path)


@dataclass(frozen=True, slots=True)
class Reader(Generic[T_co]):
    """``read`` returns the typed value or raises ``InvalidRequest``; ``wants`` completes "must be ...".

    ``schema`` is a JSON Schema (2020-12) that accepts what ``read`` accepts, as far as a schema can say it.
    """

    wants: str
    read: Callable[[Json, Place], T_co]
    schema: JsonObject = field(default_factory=dict, compare=False)


def integer(low: int, high: int) -> Reader[int]:
    """An integer within both bounds. A float is refused even when it is whole, and so is a boolean."""
    wants = f"an integer from {low} to {high}"

    def read(value: Json, at: Place) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        raise at.invalid(wants, value)

    return Reader(wants, read, {"type": "integer", "minimum": low, "maximum": high})


def number(low: float, high: float, *, above: bool = False) -> Reader[float]:
    """A finite number within both bounds; with ``above``, ``low`` itself is out."""
    wants = f"a number above {low:g} and at most {high:g}" if above else f"a number from {low:g} to {high:g}"

    def read(value: Json, at: Place) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool):
            # NaN is within nothing.
            within = low < value <= high if above else low <= value <= high
            if within:
                return float(value)
        raise at.invalid(wants, value)

    bottom = {"exclusiveMinimum": low} if above else {"minimum": low}
    return Reader(wants, read, {"type": "number", **bottom, "maximum": high})


def array(item: Reader[T], *, at_least: int = 0, at_most: int | None = None, of: str) -> Reader[tuple[T, ...]]:
    """An array whose items are all read by ``item``; a bad one is named by its index."""
    wants = f"a non-empty array of {of}" if at_least else f"an array of {of}"
    schema: dict[str, Json] = {"type": "array", "items": item.schema}
    if at_least:
        schema["minItems"] = at_least
    if at_most is not None:
        schema["maxItems"] = at_most

    def read(value: Json, at: Place) -> tuple[T, ...]:
        if not isinstance(value, list) or len(value) < at_least:
            raise at.invalid(wants, value)
        if at_most is not None and len(value) > at_most:
            raise at.wrong(f"{at.path} holds {len(value)} items; at most {at_most} are taken")
        return tuple(item.read(entry, at.child(index)) for index, entry in enumerate(value))

    return Reader(wants, read, schema)


def text(shortest: int, longest: int) -> Reader[str]:
    """A string whose length in characters is within both bounds."""
    wants = f"a string of {shortest} to {longest} characters"

    def read(value: Json, at: Place) -> str:
        string = TEXT.read(value, at)
        if shortest <= len(string) <= longest:
            return string
        raise at.wrong(f"{at.path} must have {shortest} to {longest} characters; got {len(string)}")

    return Reader(wants, read, {"type": "string", "minLength": shortest, "maxLength": longest})


def word(*options: str) -> Reader[str]:
    """One of these words."""
    wants = f"one of {', '.join(options)}"

    def read(value: Json, at: Place) -> str:
        if TEXT.read(value, at) in options:
            return str(value)
        raise at.wrong(f"{at.path} must be {wants}")

    return Reader(wants, read, {"enum": list(options)})


def identifier(longest: int) -> Reader[str]:
    """A name that is safe in a header, a log line, a URL path and a grammar."""
    wants = f"1 to {longest} letters, digits, and any of _ . -"
    pattern = rf"[A-Za-z0-9_.-]{{1,{longest}}}"

    def read(value: Json, at: Place) -> str:
        name = TEXT.read(value, at)
        if re.fullmatch(pattern, name) is None:
            raise at.wrong(f"{at.path} must be {wants}")
        return name

    return Reader(wants, read, {"type": "string", "pattern": f"^{pattern}$"})


def token_ids(*, at_least: int = 0, at_most: int | None = None) -> Reader[tuple[int, ...]]:
    """An array of token ids, as ``is_token_ids`` knows them."""
    return array(integer(0, MAX_TOKEN_ID), at_least=at_least, at_most=at_most, of="token ids")


def is_token_ids(value: Json) -> TypeGuard[list[int]]:
    """Whether this is an array of token ids, perhaps empty. Booleans are not numbers here."""
    return isinstance(value, list) and all(type(item) is int and 0 <= item <= MAX_TOKEN_ID for item in value)


def _anything(value: Json, _at: Place) -> Json:
    return value


def _boolean(value: Json, at: Place) -> bool:
    if isinstance(value, bool):
        return value
    raise at.invalid("true or false", value)


def _text(value: Json, at: Place) -> str:
    if not isinstance(value, str):
        raise at.invalid("a string", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair is no character: no tokenizer could read it, and no reply could carry it.
        raise at.wrong(f"{at.path} holds a lone surrogate, which is not text") from None
    return value


def _prompt_text(value: Json, at: Place) -> str:
    text = _text(value, at)
    # Engines of the older protocol end a prompt at a NUL (seeds.md 2.6).
    if "\0" in text:
        raise at.wrong(f"{at.path} holds a NUL character")
    return text


def _mapping(value: Json, at: Place) -> JsonObject:
    if isinstance(value, Mapping):
        return value
    raise at.invalid("an object", value)


ANYTHING: Final = Reader("any value", _anything)
BOOLEAN: Final = Reader("true or false", _boolean, {"type": "boolean"})
TEXT: Final = Reader("a string", _text, {"type": "string"})
PROMPT_TEXT: Final = Reader("a string", _prompt_text, {"type": "string", "pattern": r"^[^\u0000]*$"})
OBJECT: Final = Reader("an object", _mapping, {"type": "object"})


def _got(value: Json) -> str:
    """What to call a value in a message: numbers by value, the rest by kind, so that no content is repeated."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float() if abs(value) < 1e21:  # not NaN, and not longer than a message should be
            return str(value)
        case int() | float():
            return "a number out of range"
        case str():
            return "a string"
        case Mapping():
            return "an object"
        case []:
            return "an empty array"
        case _:
            return "an array"
