"""A request to the Responses surface between its parsing and its answer: what it refers to, and how it wants to be told.

A body may go on from an earlier response, or speak of items by their ids. So it is parsed into a ``ResponsesRequest``, which becomes
a ``ResponsesCall`` once somebody has looked those up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from dragoman.core.json import JsonObject
from dragoman.surfaces.base import Call


@dataclass(frozen=True, slots=True, kw_only=True)
class CallableTool:
    """What a client calls a function that the model may call. ``namespace`` is the namespace tool that it stood in.

    A ``custom`` tool takes text; the model calls a function whose one argument, the string ``input``, is that text.
    """

    name: str
    kind: Literal["function", "custom"] = "function"
    namespace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsesCall(Call):
    """``echo`` are the fields of the response object that repeat the request, complete (``instructions``, ``tools``, ``text`` and so on).

    ``tools`` finds a client's tool by the name under which the model calls it. ``summaries``: reasoning is told as a summary, because
    the client asked for one; else as it is. ``encrypted``: reasoning items carry ``encrypted_content``. ``logprobs``: output text does.
    ``input`` are the new items with their ids, as they will be stored and listed; ``history`` are those of the turns before.
    """

    echo: JsonObject = field(default_factory=dict)
    tools: Mapping[str, CallableTool] = field(default_factory=dict)
    summaries: bool = False
    encrypted: bool = False
    logprobs: bool = False
    input: tuple[JsonObject, ...] = ()
    history: tuple[JsonObject, ...] = ()


class ResponsesRequest(Protocol):
    """A body that is well-formed by itself."""

    @property
    def stream(self) -> bool:
        """Events in the place of one object."""
        ...

    @property
    def store(self) -> bool:
        """Whether the answer can be asked for later, and gone on from."""
        ...

    @property
    def background(self) -> bool:
        """Whether the answer is made while nobody listens."""
        ...

    @property
    def generate(self) -> bool:
        """False where the prompt is to be read ahead, and nothing answered yet (over a socket)."""
        ...

    @property
    def previous(self) -> str | None:
        """``previous_response_id``."""
        ...

    @property
    def conversation(self) -> str | None:
        """The id of the conversation that it belongs to."""
        ...

    @property
    def references(self) -> tuple[str, ...]:
        """Ids of items that the input speaks of without having them."""
        ...

    @property
    def input(self) -> tuple[JsonObject, ...]:
        """The new items, each with an id, references not yet replaced."""
        ...

    def resolve(
        self, history: Sequence[JsonObject] = (), referred: Mapping[str, JsonObject] | None = None
    ) -> ResponsesCall:
        """The call, with the items that came before and those that were referred to. Raises ``InvalidRequest`` naming the field."""
        ...
