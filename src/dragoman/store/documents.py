"""JSON as the bytes that are kept. What a client sent comes back as it was, lone surrogates and NULs included."""

from __future__ import annotations

import json
from collections.abc import Mapping

from dragoman.core.json import Json, JsonObject


def packed(value: Json) -> bytes:
    """One document."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)
    return text.encode("utf-8", "surrogatepass")


def unpacked(document: bytes) -> JsonObject:
    """The object that was packed."""
    value: JsonObject = json.loads(document.decode("utf-8", "surrogatepass"))
    return value


def _plain(value: object) -> object:
    """A mapping or a sequence that is not Python's own."""
    return dict(value) if isinstance(value, Mapping) else list(value)  # type: ignore[call-overload]  # json asks for what it cannot encode: a sequence here
