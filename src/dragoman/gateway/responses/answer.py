"""One response in the making, and its place in the store."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from dragoman.core.errors import NotFound
from dragoman.core.json import JsonObject
from dragoman.store.base import Store, StoredResponse
from dragoman.surfaces.base import Stamp
from dragoman.surfaces.responses_call import ResponsesCall, ResponsesRequest
from dragoman.surfaces.responses_projector import ResponsesProjector

logger = logging.getLogger(__name__)

PATIENCE_SECONDS: Final = 10.0
"""For the store, while a client waits for the end of its answer; a database that hangs takes longer, and so do those that queue for it."""


class Answer:
    """``owner`` is who asked. What is kept is what the client would be told now."""

    def __init__(
        self,
        *,
        request: ResponsesRequest,
        call: ResponsesCall,
        projector: ResponsesProjector,
        stamp: Stamp,
        owner: str,
        store: Store,
    ) -> None:
        self.request = request
        self.call = call
        self.projector = projector
        self.owner = owner
        self._stamp = stamp
        self._store = store

    @property
    def id(self) -> str:
        """What the client calls it."""
        return self.projector.id

    async def keep(self) -> None:
        """Save it as it is now, if the client wants it kept. Raises ``ServiceError``."""
        if not self.request.store:
            return
        try:
            await self._save(self.call.input, self.request.previous)
        except NotFound:
            if self.request.previous is None:
                raise
            # Its connection alone knows what it goes on from, or somebody has deleted that: so it gets all of it for itself.
            await self._save((*self.call.history, *self.call.input), None)

    async def note(self) -> None:
        """Save it if the store can. An answer is told all the same, since it is there, and the client cannot mend the store."""
        try:
            await self.keep()
        except Exception:
            logger.exception("the response %s could not be stored", self.id)

    async def settle(self) -> None:
        """It has ended well: note it, and add the turn to its conversation.

        That is done to its end whether the client leaves meanwhile, or has waited long enough.
        """
        settling = asyncio.ensure_future(self._settle())
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await asyncio.shield(settling)
        except TimeoutError:
            logger.warning("the response %s is told before it is stored: the store is slow", self.id)

    async def _settle(self) -> None:
        await self.note()
        if self.request.conversation is None:
            return
        try:
            turn = (*self.call.input, *self.projector.output_items)
            await self._store.add_items(self.owner, self.request.conversation, turn)
        except Exception:
            logger.exception("the response %s could not be added to its conversation", self.id)

    async def _save(self, input: tuple[JsonObject, ...], previous: str | None) -> None:
        kept = StoredResponse(
            id=self.id,
            created_at=self._stamp.created,
            body=self.projector.result(),
            input=input,
            previous=previous,
            background=self.request.background,
        )
        await self._store.save_response(self.owner, kept)
