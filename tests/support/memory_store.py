"""A store in dictionaries, for tests on virtual time, where a real one's threads would be overtaken by the clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from dragoman.core.errors import Code, NotFound
from dragoman.core.json import JsonObject
from dragoman.store.base import KeptReply, Page, PageWish, StoredConversation, StoredEvent, StoredResponse

Named = tuple[str, str]


class MemoryStore:
    """Keeps everything. ``replies`` are those of retries; ``now`` is what responses are dated with."""

    def __init__(self, now: Callable[[], float] = lambda: 0.0) -> None:
        self.responses: dict[Named, StoredResponse] = {}
        self.replies: dict[Named, KeptReply] = {}
        self._events: dict[Named, list[StoredEvent]] = {}
        self._conversations: dict[Named, tuple[StoredConversation, list[JsonObject]]] = {}
        self._now = now

    async def save_response(self, owner: str, response: StoredResponse) -> None:
        if (owner, response.id) not in self.responses and response.previous is not None:
            _found(self.responses, (owner, response.previous), Code.PREVIOUS_RESPONSE_NOT_FOUND)
        self.responses[owner, response.id] = replace(response, updated_at=int(self._now()))

    async def response(self, owner: str, id: str) -> StoredResponse:
        return _found(self.responses, (owner, id), Code.RESPONSE_NOT_FOUND)

    async def delete_response(self, owner: str, id: str) -> None:
        await self.response(owner, id)
        del self.responses[owner, id]

    async def history(self, owner: str, id: str) -> tuple[JsonObject, ...]:
        response = await self.response(owner, id)
        return (*await self._before(owner, response), *response.body["output"])

    async def input_items(self, owner: str, id: str, wish: PageWish) -> Page:
        return _page(await self._before(owner, await self.response(owner, id)), wish)

    async def _before(self, owner: str, response: StoredResponse) -> tuple[JsonObject, ...]:
        earlier = () if response.previous is None else await self.history(owner, response.previous)
        return (*earlier, *response.input)

    async def find_item(self, owner: str, id: str) -> JsonObject:
        items = [
            *(
                item
                for (whose, _), response in self.responses.items()
                if whose == owner
                for item in (*response.input, *response.body["output"])
            ),
            *(item for (whose, _), (_, some) in self._conversations.items() if whose == owner for item in some),
        ]
        return _found({item["id"]: item for item in items}, id, Code.ITEM_NOT_FOUND)

    async def append_events(self, owner: str, id: str, events: Sequence[StoredEvent]) -> None:
        self._events.setdefault((owner, id), []).extend(events)

    async def events(self, owner: str, id: str) -> tuple[StoredEvent, ...]:
        return tuple(self._events.get((owner, id), ()))

    async def save_conversation(self, owner: str, conversation: StoredConversation) -> None:
        items = self._conversations.get((owner, conversation.id), (None, []))[1]
        self._conversations[owner, conversation.id] = (conversation, items)

    async def change_conversation(self, owner: str, id: str, metadata: JsonObject) -> StoredConversation:
        known, items = _found(self._conversations, (owner, id), Code.CONVERSATION_NOT_FOUND)
        changed = replace(known, metadata=metadata)
        self._conversations[owner, id] = (changed, items)
        return changed

    async def conversation(self, owner: str, id: str) -> StoredConversation:
        return _found(self._conversations, (owner, id), Code.CONVERSATION_NOT_FOUND)[0]

    async def delete_conversation(self, owner: str, id: str) -> None:
        await self.conversation(owner, id)
        del self._conversations[owner, id]

    async def add_items(self, owner: str, conversation: str, items: Sequence[JsonObject]) -> None:
        there = _found(self._conversations, (owner, conversation), Code.CONVERSATION_NOT_FOUND)[1]
        known = {item["id"] for item in there}
        there += [item for item in items if item["id"] not in known]

    async def items(self, owner: str, conversation: str, wish: PageWish) -> Page:
        return _page(await self.all_items(owner, conversation), wish)

    async def all_items(self, owner: str, conversation: str) -> tuple[JsonObject, ...]:
        return tuple(_found(self._conversations, (owner, conversation), Code.CONVERSATION_NOT_FOUND)[1])

    async def item(self, owner: str, conversation: str, id: str) -> JsonObject:
        items = await self.all_items(owner, conversation)
        return _found({item["id"]: item for item in items}, id, Code.ITEM_NOT_FOUND)

    async def delete_item(self, owner: str, conversation: str, id: str) -> None:
        await self.item(owner, conversation, id)
        there = self._conversations[owner, conversation][1]
        there[:] = [item for item in there if item["id"] != id]

    async def kept_reply(self, owner: str, key: str) -> KeptReply | None:
        return self.replies.get((owner, key))

    async def keep_reply(self, owner: str, key: str, reply: KeptReply) -> None:
        self.replies[owner, key] = reply

    async def aclose(self) -> None:
        pass


def _found(those, key, code):
    try:
        return those[key]
    except KeyError:
        raise NotFound(f"there is no {key}", code=code) from None


def _page(items: Sequence[JsonObject], wish: PageWish) -> Page:
    ordered = list(items) if wish.order == "asc" else list(reversed(items))
    ids = [item["id"] for item in ordered]
    start = 0 if wish.after is None else ids.index(wish.after) + 1
    return Page(items=tuple(ordered[start : start + wish.limit]), more=len(ordered) > start + wish.limit)
