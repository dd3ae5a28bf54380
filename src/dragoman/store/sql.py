"""The store over a database: each method is one transaction, and reading counts as use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from sqlalchemy import Connection

from dragoman.core.errors import Internal
from dragoman.core.json import JsonObject
from dragoman.store import conversations, entries, items, replies, responses, turns
from dragoman.store.base import (
    KeptReply,
    Page,
    PageWish,
    StoredConversation,
    StoredEvent,
    StoredResponse,
)
from dragoman.store.entries import Entry, Kind
from dragoman.store.eviction import make_room
from dragoman.store.limits import StoreLimits
from dragoman.store.transactions import Transactions, Writing

T = TypeVar("T")

_NOTED: Final = 60.0
"""Seconds for which a use need not be noted again, so that who polls does not write."""


class SqlStore:
    """Implements ``base.Store``. ``now`` tells Unix seconds."""

    def __init__(self, transactions: Transactions, limits: StoreLimits, now: Callable[[], float]) -> None:
        self._transactions = transactions
        self._limits = limits
        self._now = now

    async def tidy(self) -> None:
        """Remove what has become too old, or too much for limits that are lower now."""
        await self._write(_nothing)

    # --- responses
    async def save_response(self, owner: str, response: StoredResponse) -> None:
        """As ``Store`` says. One that is first kept pins the history that it goes on from; later it need not be there any more."""

        def work(writing: Writing) -> None:
            responses.save(writing, owner, response, now=self._now(), since=self._oldest)

        await self._write(work)

    async def response(self, owner: str, id: str) -> StoredResponse:
        return await self._read(owner, Kind.RESPONSE, id, responses.load)

    async def delete_response(self, owner: str, id: str) -> None:
        await self._delete(owner, Kind.RESPONSE, id)

    async def history(self, owner: str, id: str) -> tuple[JsonObject, ...]:
        def work(connection: Connection, entry: Entry) -> tuple[JsonObject, ...]:
            return turns.path(connection, responses.turn_of(connection, entry))

        return await self._read(owner, Kind.RESPONSE, id, work)

    async def input_items(self, owner: str, id: str, wish: PageWish) -> Page:
        def work(connection: Connection, entry: Entry) -> Page:
            listed = turns.given_to(responses.turn_of(connection, entry))
            return items.page(connection, listed, wish)

        return await self._read(owner, Kind.RESPONSE, id, work)

    async def find_item(self, owner: str, id: str) -> JsonObject:
        return await self._transactions.read(lambda connection: items.find(connection, owner, id))

    # --- streams that may be resumed
    async def append_events(self, owner: str, id: str, events: Sequence[StoredEvent]) -> None:
        def work(writing: Writing, entry: Entry) -> None:
            responses.append(writing, entry, events, now=self._now())

        await self._change(owner, Kind.RESPONSE, id, work)

    async def events(self, owner: str, id: str) -> tuple[StoredEvent, ...]:
        return await self._read(owner, Kind.RESPONSE, id, responses.all_events)

    # --- conversations
    async def save_conversation(self, owner: str, conversation: StoredConversation) -> None:
        def work(writing: Writing) -> None:
            conversations.save(writing, owner, conversation, now=self._now())

        await self._write(work)

    async def change_conversation(self, owner: str, id: str, metadata: JsonObject) -> StoredConversation:
        def work(writing: Writing) -> StoredConversation:
            entry = entries.need(writing.connection, owner, Kind.CONVERSATION, id, since=self._oldest)
            changed = StoredConversation(id=id, created_at=entry.created_at, metadata=metadata)
            conversations.save(writing, owner, changed, now=self._now())
            return changed

        return await self._write(work)

    async def conversation(self, owner: str, id: str) -> StoredConversation:
        return await self._read(owner, Kind.CONVERSATION, id, conversations.load)

    async def delete_conversation(self, owner: str, id: str) -> None:
        await self._delete(owner, Kind.CONVERSATION, id)

    async def add_items(self, owner: str, conversation: str, items: Sequence[JsonObject]) -> None:
        def work(writing: Writing, entry: Entry) -> None:
            conversations.append(writing, entry, items, now=self._now())

        await self._change(owner, Kind.CONVERSATION, conversation, work)

    async def items(self, owner: str, conversation: str, wish: PageWish) -> Page:
        def work(connection: Connection, entry: Entry) -> Page:
            return items.page(connection, conversations.listed(entry), wish)

        return await self._read(owner, Kind.CONVERSATION, conversation, work)

    async def all_items(self, owner: str, conversation: str) -> tuple[JsonObject, ...]:
        return await self._read(owner, Kind.CONVERSATION, conversation, conversations.all_items)

    async def item(self, owner: str, conversation: str, id: str) -> JsonObject:
        def work(connection: Connection, entry: Entry) -> JsonObject:
            return conversations.item(connection, entry, id)

        return await self._read(owner, Kind.CONVERSATION, conversation, work)

    async def delete_item(self, owner: str, conversation: str, id: str) -> None:
        def work(writing: Writing, entry: Entry) -> None:
            conversations.remove_item(writing, entry, id, now=self._now())

        await self._change(owner, Kind.CONVERSATION, conversation, work)

    # --- retries
    async def kept_reply(self, owner: str, key: str) -> KeptReply | None:
        since = self._now() - self._limits.reply_window
        return await self._transactions.read(lambda connection: replies.load(connection, owner, key, since=since))

    async def keep_reply(self, owner: str, key: str, reply: KeptReply) -> None:
        await self._write(lambda writing: replies.save(writing, owner, key, reply, now=self._now()))

    async def aclose(self) -> None:
        await self._transactions.aclose()

    @property
    def _oldest(self) -> float:
        """What was last used before this is not there any more, whether or not it has been removed."""
        return self._now() - self._limits.max_age

    async def _read(self, owner: str, kind: Kind, id: str, work: Callable[[Connection, Entry], T]) -> T:
        def reading(connection: Connection) -> tuple[Entry, T]:
            entry = entries.need(connection, owner, kind, id, since=self._oldest)
            return entry, work(connection, entry)

        entry, found = await self._transactions.read(reading)
        await self._note_use(entry)
        return found

    async def _note_use(self, entry: Entry) -> None:
        now = self._now()
        if now - entry.used_at < _NOTED:
            return
        try:
            await self._transactions.write(lambda writing: entries.use(writing, entry.key, now=now))
        except Internal:
            return  # a full disk is no reason to withhold what was read

    async def _write(self, work: Callable[[Writing], T]) -> T:
        """Do it, and make the room that it took."""

        def writing(writing: Writing) -> T:
            done = work(writing)
            make_room(writing, self._limits, now=self._now())
            return done

        return await self._transactions.write(writing)

    async def _change(self, owner: str, kind: Kind, id: str, work: Callable[[Writing, Entry], None]) -> None:
        def change(writing: Writing) -> None:
            work(writing, entries.need(writing.connection, owner, kind, id, since=self._oldest))

        await self._write(change)

    async def _delete(self, owner: str, kind: Kind, id: str) -> None:
        def delete(writing: Writing) -> None:
            entry = entries.need(writing.connection, owner, kind, id, since=self._oldest)
            entries.remove_one(writing, entry.key)

        await self._transactions.write(delete)


def _nothing(_writing: Writing) -> None:
    """No change of its own."""
