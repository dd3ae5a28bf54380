"""Arguments as tags in tags, each behind a mark, turned into JSON text as they are read. Pure.

    ]<]minimax[>[<city>Paris]<]minimax[>[</city>]<]minimax[>[<sites>]<]minimax[>[<item>a.example]<]minimax[>[</item>
    ]<]minimax[>[</sites>]<]minimax[>[</invoke>

A string goes out as it comes. Anything else does when its own tag is closed: until then nobody knows whether there are tags in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from dragoman.core.json import JsonObject
from dragoman.core.text import held_back
from dragoman.dialects.arguments import Arguments, by_schema, schema_of, types_of
from dragoman.dialects.table import Holds

MARK: Final = "]<]minimax[>["
ITEM: Final = "item"

_CLOSED: Final = "invoke"
_TAG: Final = re.compile(r"\s*<(/?)([^<>]*)>")
_TAG_BEGUN: Final = re.compile(r"\s*(<[^<>]*)?")
_EMPTY: Final = {"array": "[]", "object": "{}"}


@dataclass(slots=True)
class _Element:
    """A tag that is open."""

    name: str
    schema: JsonObject
    text: str = ""
    inner: list[tuple[str, str]] = field(default_factory=list)
    """Names of the tags that were in it, and their JSON."""

    @property
    def is_string(self) -> bool:
        """Whether it can be nothing but a string, so that what looks like a tag in it is none."""
        return types_of(self.schema) == {"string"}

    def json(self) -> str:
        """What it holds."""
        if self.inner and all(name == ITEM for name, _ in self.inner) and not _names(self.schema, ITEM):
            return f"[{','.join(value for _, value in self.inner)}]"
        if self.inner:
            pairs = (f"{json.dumps(name, ensure_ascii=False)}:{value}" for name, value in dict(self.inner).items())
            return f"{{{','.join(pairs)}}}"
        types = types_of(self.schema)
        if not self.text.strip() and len(types) == 1 and not types.isdisjoint(_EMPTY):
            return _EMPTY[min(types)]
        return by_schema(self.text, self.schema)

    def within(self, name: str) -> JsonObject:
        """The schema of a tag in it."""
        items = self.schema.get("items")
        if name == ITEM and isinstance(items, Mapping) and not _names(self.schema, ITEM):
            return items
        return schema_of(self.schema, name)


class NestedArguments:
    """Reads one call's arguments, up to the end of the call."""

    def __init__(self, schema: JsonObject | None) -> None:
        self.rest = ""
        self.done = False
        self.failed = False
        self._schema = schema
        self._arguments = Arguments(schema=schema)
        self._open: list[_Element] = []

    def feed(self, text: str) -> str:
        """Take more of them, and return the JSON text that is certain now."""
        self.rest += text
        out: list[str] = []
        while not self.done and not self.failed and (more := self._step()) is not None:
            out.append(more)
        return "".join(out)

    def _step(self) -> str | None:
        place = self.rest.find(MARK)
        if place:
            return self._text(len(self.rest) - held_back(self.rest, (MARK,)) if place < 0 else place)
        tag = _TAG.match(self.rest, len(MARK))
        if tag is None:
            self.failed = _TAG_BEGUN.fullmatch(self.rest, len(MARK)) is None
            return None
        self.rest = self.rest[tag.end() :]
        return self._leave(tag[2]) if tag[1] else self._enter(tag[2])

    def _text(self, size: int) -> str | None:
        if not size:
            return None
        text, self.rest = self.rest[:size], self.rest[size:]
        if not self._open:
            return ""
        self._open[-1].text += text
        return self._arguments.value(text) if self._open[0].is_string else ""

    def _enter(self, name: str) -> str:
        if self._open and self._open[0].is_string:
            return ""
        schema = self._open[-1].within(name) if self._open else schema_of(self._schema, name)
        self._open.append(_Element(name, schema))
        if len(self._open) > 1:
            return ""
        key = self._arguments.key(name)
        self._arguments.begin_value(Holds.STRING if self._open[0].is_string else Holds.JSON)
        return key

    def _leave(self, name: str) -> str:
        if not self._open and name == _CLOSED:
            self.done = True
            return self._arguments.end()
        if name not in {element.name for element in self._open}:
            self.failed = name == _CLOSED  # an argument was never closed
            return ""
        while self._open[-1].name != name:
            self._close()
        return self._close()

    def _close(self) -> str:
        element = self._open.pop()
        if self._open:
            self._open[-1].inner.append((element.name, element.json()))
            return ""
        if not element.is_string:
            self._arguments.value(element.json())
        return self._arguments.end_value()


def _names(schema: JsonObject, key: str) -> bool:
    """Whether it has a property of that name."""
    properties = schema.get("properties")
    return isinstance(properties, Mapping) and key in properties
