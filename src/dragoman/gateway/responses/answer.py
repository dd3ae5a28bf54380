"""One response in the making, and its place in the store."""

from __future__ import annotations

import logging

from dragoman.core.errors import ServiceError
from dragoman.store.base import Store, StoredResponse
from dragoman.surfaces.base import Stamp
from dragoman.surfaces.responses_call import ResponsesCall, ResponsesRequest
from dragoman.surfaces.responses_projector import ResponsesProjector

logger = logging.getLogger(__name__)


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
        """Save it as it is now, if the client wants it kept."""
        if not self.request.store:
            return
        kept = StoredResponse(
            id=self.id,
            created_at=self._stamp.created,
            body=self.projector.result(),
            input=self.call.input,
            previous=self.request.previous,
            background=self.request.background,
        )
        await self._store.save_response(self.owner, kept)

    async def settle(self) -> None:
        """It has ended well: save it, and add the turn to its conversation.

        An answer that cannot be saved is told all the same, since it is there, and the client cannot mend the store.
        """
        try:
            await self.keep()
            if self.request.conversation is not None:
                turn = (*self.call.input, *self.projector.output_items)
                await self._store.add_items(self.owner, self.request.conversation, turn)
        except ServiceError:
            logger.exception("the response %s could not be stored", self.id)
