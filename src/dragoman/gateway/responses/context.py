"""What a request to the Responses surface refers to, looked up: the turns before it, and items that it names."""

from __future__ import annotations

from typing import Final, Protocol

from dragoman.core.errors import Code, InvalidRequest, NotFound
from dragoman.core.json import JsonObject
from dragoman.gateway.responses.shelf import Shelf, unfinished
from dragoman.store.base import Store
from dragoman.surfaces.responses_call import ResponsesRequest

_SHOWN: Final = 64
"""Characters of an id in an error; ours have forty."""


class Memory(Protocol):
    """Turns that are kept nowhere but with a connection."""

    def history(self, id: str) -> tuple[JsonObject, ...] | None:
        """All items up to and including the output of a response, if it is one of these."""
        ...


class Context:
    """What came before a request, for one caller. Nothing of another caller's is ever found (S17)."""

    def __init__(self, store: Store, shelf: Shelf) -> None:
        self._store = store
        self._shelf = shelf

    async def history(
        self, request: ResponsesRequest, owner: str, memory: Memory | None = None
    ) -> tuple[JsonObject, ...]:
        """The items of all turns before it. Raises ``InvalidRequest`` or ``NotFound`` naming the field."""
        if request.conversation is not None:
            if not request.store:
                raise InvalidRequest(
                    "conversation keeps what is said, so it cannot go with store: false",
                    code=Code.INVALID_VALUE,
                    param="conversation",
                )
            return await self._store.all_items(owner, request.conversation)
        if request.previous is None:
            return ()
        if memory is not None and (known := memory.history(request.previous)) is not None:
            return known
        try:
            response, _ = await self._shelf.look_up(owner, request.previous)
        except NotFound:
            raise self._no_previous(request.previous) from None
        if unfinished(response):
            raise InvalidRequest(
                f"the response {request.previous} is not finished: wait for it, or cancel it",
                code=Code.INVALID_VALUE,
                param="previous_response_id",
            )
        return await self._store.history(owner, request.previous)

    async def referred(self, request: ResponsesRequest, owner: str) -> dict[str, JsonObject]:
        """The items that the input names, by their ids. Raises ``InvalidRequest`` for one that is nowhere."""
        found: dict[str, JsonObject] = {}
        for name in request.references:
            if name in found:  # as OpenAI does; or a short body could stand for a text of any length
                raise InvalidRequest(f"the item {_shown(name)} is named twice", code=Code.INVALID_VALUE, param="input")
            try:
                found[name] = await self._store.find_item(owner, name)
            except NotFound:
                raise InvalidRequest(
                    f"there is no item {_shown(name)}", code=Code.ITEM_NOT_FOUND, param="input"
                ) from None
        return found

    def _no_previous(self, id: str) -> InvalidRequest:
        # A 400 as OpenAI's: the field is wrong, the route is right.
        return InvalidRequest(
            f"there is no response {_shown(id)}: it was never stored, has been deleted or forgotten, or is another caller's",
            code=Code.PREVIOUS_RESPONSE_NOT_FOUND,
            param="previous_response_id",
        )


def _shown(id: str) -> str:
    """What a client calls something, as far as it helps to find it: a body may be full of it."""
    return id if len(id) <= _SHOWN else f"{id[:_SHOWN]}…"
