"""Cache breakpoints: what ``cache_control`` asks for, wherever it stands.

Prompts share their cached beginnings without being asked, up to the last token. A breakpoint says more: the client will be back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from dragoman.core.json import Json, JsonObject
from dragoman.surfaces.fields import Form, Table, honoured, ignored, record
from dragoman.surfaces.readers import word


def _cache_control(form: Form) -> bool:
    form.require(_TYPE)
    return True


_TYPE: Final = honoured("type", word("ephemeral"), "The only kind.", required=True)

CACHE_CONTROL: Final = honoured(
    "cache_control",
    record(
        Table(_TYPE, ignored("ttl", "A prompt is kept for as long as there is room.", word("5m", "1h"))), _cache_control
    ),
    "The client will be back with this prompt and more: it leaves the prefix cache after others.",
)
"""The row of everything that may be a breakpoint: the body, blocks, tools."""


def has_breakpoint(body: JsonObject) -> bool:
    """Whether there is one anywhere in a body that was read."""
    return any(isinstance(part, Mapping) and part.get(CACHE_CONTROL.name) is not None for part in _markable(body))


def _markable(body: JsonObject) -> Iterator[Json]:
    yield body
    yield from _items(body.get("system"))
    yield from _items(body.get("tools"))
    for message in _items(body.get("messages")):
        for block in _content(message):
            yield block
            yield from _content(block)


def _content(of: Json) -> tuple[Json, ...]:
    return _items(of.get("content")) if isinstance(of, Mapping) else ()


def _items(value: Json) -> tuple[Json, ...]:
    return tuple(value) if isinstance(value, list) else ()
