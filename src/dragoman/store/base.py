"""What outlives a request: answers, the items that led to them, conversations, and what a retry would get again.

Everything belongs to an ``owner`` (the caller's isolation key, empty without API keys): to any other owner it does not exist, so
an id is no key (S17). Times are Unix seconds. Items and bodies are JSON objects of a surface, which nobody here looks into, but for
an item's ``id``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from dragoman.core.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResponse:
    """One answer. ``body`` is the whole object as the client got it; ``input`` are the new items that it answered.

    ``previous`` is the response that it went on from. ``updated_at`` is when it was last saved, which the store writes itself.
    """

    id: str
    created_at: int
    body: JsonObject
    input: tuple[JsonObject, ...] = ()
    previous: str | None = None
    background: bool = False
    updated_at: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """One event of a stream that may be resumed; ``data`` is its JSON line."""

    sequence: int
    name: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredConversation:
    """A list of items that grows, under a name of its own."""

    id: str
    created_at: int
    metadata: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Part of a list, in the order that was asked for; ``more``: there are others behind it."""

    items: tuple[JsonObject, ...]
    more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PageWish:
    """Which part of a list: ``after`` is the id of the item before it."""

    limit: int = 20
    order: Literal["asc", "desc"] = "desc"
    after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReply:
    """A finished reply under an idempotency key; ``digest`` is that of the request which got it."""

    digest: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes = field(repr=False)


class Store(Protocol):
    """All methods raise ``NotFound`` (with the code of what is missing) for what this owner does not have."""

    # --- responses
    async def save_response(self, owner: str, response: StoredResponse) -> None:
        """Keep it, or replace what was kept under its id. Makes room: the longest unused go first."""
        ...

    async def response(self, owner: str, id: str) -> StoredResponse:
        """One answer."""
        ...

    async def delete_response(self, owner: str, id: str) -> None:
        """Forget it. What went on from it keeps its own history."""
        ...

    async def history(self, owner: str, id: str) -> tuple[JsonObject, ...]:
        """All items up to and including this answer's output: of every turn before it, input and output, oldest first."""
        ...

    async def input_items(self, owner: str, id: str, wish: PageWish) -> Page:
        """The items that this answer was given to: those of ``history`` before its own output."""
        ...

    async def find_item(self, owner: str, id: str) -> JsonObject:
        """An item of any answer or conversation of this owner, by its id (``item_reference``)."""
        ...

    # --- streams that may be resumed
    async def append_events(self, owner: str, id: str, events: Sequence[StoredEvent]) -> None:
        """Add to the events of a response."""
        ...

    async def events(self, owner: str, id: str) -> tuple[StoredEvent, ...]:
        """Its events in the order of their numbers."""
        ...

    # --- conversations
    async def save_conversation(self, owner: str, conversation: StoredConversation) -> None:
        """Begin one, or replace its metadata."""
        ...

    async def change_conversation(self, owner: str, id: str, metadata: JsonObject) -> StoredConversation:
        """Replace the metadata of one that is there; what it is now."""
        ...

    async def conversation(self, owner: str, id: str) -> StoredConversation:
        """One conversation, without its items."""
        ...

    async def delete_conversation(self, owner: str, id: str) -> None:
        """Forget it with all of its items."""
        ...

    async def add_items(self, owner: str, conversation: str, items: Sequence[JsonObject]) -> None:
        """Append items; those whose id is there already stay as they are."""
        ...

    async def items(self, owner: str, conversation: str, wish: PageWish) -> Page:
        """Some of its items."""
        ...

    async def all_items(self, owner: str, conversation: str) -> tuple[JsonObject, ...]:
        """All of its items, oldest first."""
        ...

    async def item(self, owner: str, conversation: str, id: str) -> JsonObject:
        """One of its items."""
        ...

    async def delete_item(self, owner: str, conversation: str, id: str) -> None:
        """Take one item out."""
        ...

    # --- retries
    async def kept_reply(self, owner: str, key: str) -> KeptReply | None:
        """What a request under this key got, while its window lasts."""
        ...

    async def keep_reply(self, owner: str, key: str, reply: KeptReply) -> None:
        """Keep it for the window."""
        ...

    async def aclose(self) -> None:
        """Write what is left, and let go of the database."""
        ...
