"""What the items of a Responses input mean, whatever they are called: who said what, who called what, which tools there are.

An item becomes none, one or several of these, and a list of them becomes a conversation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from dragoman.core.json import JsonObject
from dragoman.core.request import Part, Role
from dragoman.surfaces.readers import Place
from dragoman.surfaces.responses_tools import Definition


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message, or a part of an answer."""

    role: Role
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """What the assistant thought before what follows."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """The assistant called a tool, by the client's name of it. ``arguments`` is JSON text as the model wrote it."""

    call: str
    name: str
    arguments: str
    namespace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a call gave. ``place`` is where the client says which call."""

    call: str
    parts: tuple[Part, ...]
    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """Tools that the model may call from here on."""

    tools: tuple[Definition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Referred:
    """An item that the client knows by its id alone. ``place`` is where it says so."""

    id: str
    place: Place = field(compare=False, repr=False)


Entry: TypeAlias = Said | Thought | Called | Answered | Offered | Referred


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item: what it means, and the object that is kept and listed."""

    entries: tuple[Entry, ...]
    kept: JsonObject
