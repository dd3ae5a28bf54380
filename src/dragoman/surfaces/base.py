"""What a wire contract must answer: parse a body, project events, shape an error. Pure: ids and time are arguments.

Buffered is the fold of the stream: a projector is fed the same events either way, and ``result`` is what it gathered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from dragoman.core.errors import ServiceError
from dragoman.core.events import GenerationEvent
from dragoman.core.json import JsonObject
from dragoman.core.request import Generate


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A parsed request: what to do, and how the client wants to hear of it.

    ``ignored`` lists the fields that were accepted without effect, for the ``x-dragoman-ignored`` header; each is
    printable ASCII. ``continuous_usage`` puts the usage so far into every chunk (vLLM's ``continuous_usage_stats``).
    ``request_id`` is the client's own id for the reply, in the place of the stamp's (S50).
    ``named_call``: the client named the one function that must be called. ``function_call``: it is to be told of a call in the form
    that OpenAI had before there were tools.
    ``spelling`` maps a feature that an error may name to the field in which this client asked for it.
    """

    operation: Generate
    stream: bool = False
    include_usage: bool = False
    continuous_usage: bool = False
    ignored: tuple[str, ...] = ()
    request_id: str | None = None
    named_call: bool = False
    function_call: bool = False
    spelling: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What a reply must carry that pure code cannot make: ``id`` without prefix, Unix ``created`` seconds, names.

    ``request_id`` is what the reply's header calls the request.
    """

    id: str
    created: int
    model: str
    fingerprint: str | None = None
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One server-sent event; ``data`` is a single line of UTF-8."""

    data: bytes
    event: str | None = None

    def encode(self) -> bytes:
        """The bytes of the event, for one write (WHATWG HTML, server-sent events)."""
        if self.event is None:
            return b"data: " + self.data + b"\n\n"
        return b"event: " + self.event.encode() + b"\ndata: " + self.data + b"\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReply:
    """An error before the commit."""

    status: int
    body: JsonObject
    headers: dict[str, str] = field(default_factory=dict)


class Projector(Protocol):
    """Turns one answer's events into one contract's objects."""

    def feed(self, event: GenerationEvent) -> list[ServerEvent]:
        """The stream's events for this one, terminal markers included after ``Finished``."""
        ...

    def fail(self, error: ServiceError) -> list[ServerEvent]:
        """The native end of a committed stream that failed."""
        ...

    def keepalive(self) -> bytes:
        """What to write when nothing was written for a while: the contract's own event where it has one, else a comment."""
        ...

    def result(self) -> JsonObject:
        """The buffered object; legal once ``Finished`` was fed."""
        ...


class Surface(Protocol):
    """One wire contract for generation."""

    @property
    def name(self) -> str:
        """Label for metrics, such as ``chat``."""
        ...

    def parse(self, body: JsonObject, *, strict: bool = False) -> Call:
        """Read a body. Raises ``InvalidRequest`` naming the field; ``strict`` refuses unknown fields, too."""
        ...

    def projector(self, call: Call, stamp: Stamp) -> Projector:
        """A new projector for one answer."""
        ...

    def error(self, error: ServiceError, call: Call | None = None, *, request_id: str = "") -> ErrorReply:
        """The contract's envelope, status and headers for an error before the commit; ``call`` once it was parsed."""
        ...
