"""``/v1/conversations``: lists of items under a name, which responses go on from and add to (S144)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from dragoman.core.json import JsonObject
from dragoman.gateway.answering import Answering
from dragoman.gateway.body import read_json
from dragoman.gateway.caller import caller_of
from dragoman.gateway.replies import json_reply
from dragoman.gateway.responses.desk import ResponsesDesk
from dragoman.gateway.responses.pages import page_object, page_wish
from dragoman.store.base import Page, StoredConversation
from dragoman.surfaces import responses_conversations as conversations


class Conversations:
    """Endpoints over one desk. Each raises ``NotFound`` for what this caller does not have."""

    def __init__(self, desk: ResponsesDesk, answering: Answering) -> None:
        self._store = desk.store
        self._answering = answering

    async def create(self, request: Request) -> Response:
        """Begin one, with items if there are any."""
        body = await self._body(request)
        items, metadata = conversations.parse_create(body, strict=self._strict, mint=self._answering.mint)
        conversation = StoredConversation(
            id=f"conv_{self._answering.mint()}", created_at=int(self._answering.now()), metadata=metadata
        )
        owner = caller_of(request.scope).isolation
        await self._store.save_conversation(owner, conversation)
        if items:
            await self._store.add_items(owner, conversation.id, items)
        return json_reply(conversations.conversation_object(conversation.id, conversation.created_at, metadata))

    async def get(self, request: Request) -> Response:
        """The conversation without its items."""
        return json_reply(self._object(await self._store.conversation(*_named(request))))

    async def update(self, request: Request) -> Response:
        """Give it other metadata."""
        owner, name = _named(request)
        metadata = conversations.parse_update(await self._body(request), strict=self._strict)
        changed = await self._store.change_conversation(owner, name, metadata)
        return json_reply(self._object(changed))

    async def delete(self, request: Request) -> Response:
        """Forget it."""
        owner, name = _named(request)
        await self._store.delete_conversation(owner, name)
        return json_reply({"id": name, "object": "conversation.deleted", "deleted": True})

    async def items(self, request: Request) -> Response:
        """Some of its items."""
        page = await self._store.items(*_named(request), page_wish(request.query_params))
        return json_reply(page_object(page))

    async def add(self, request: Request) -> Response:
        """Append items; they are told as they are listed from now on."""
        owner, name = _named(request)
        await self._store.conversation(owner, name)
        items = conversations.parse_items(await self._body(request), strict=self._strict, mint=self._answering.mint)
        await self._store.add_items(owner, name, items)
        return json_reply(page_object(Page(items=items)))

    async def item(self, request: Request) -> Response:
        """One item."""
        owner, name = _named(request)
        return json_reply(await self._store.item(owner, name, request.path_params["item"]))

    async def delete_item(self, request: Request) -> Response:
        """Take one item out; the conversation is told."""
        owner, name = _named(request)
        known = await self._store.conversation(owner, name)
        await self._store.delete_item(owner, name, request.path_params["item"])
        return json_reply(self._object(known))

    @property
    def _strict(self) -> bool:
        return self._answering.options.strict_fields

    async def _body(self, request: Request) -> JsonObject:
        return await read_json(request.scope, request.receive, timeout=self._answering.options.read_timeout)

    def _object(self, conversation: StoredConversation) -> JsonObject:
        return conversations.conversation_object(conversation.id, conversation.created_at, conversation.metadata)


def _named(request: Request) -> tuple[str, str]:
    return caller_of(request.scope).isolation, request.path_params["id"]
