"""What all Responses routes work with: the surface, the store, what goes on, and how a request becomes a call."""

from __future__ import annotations

from starlette.types import Scope

from dragoman.core.json import JsonObject
from dragoman.gateway.answering import Answering
from dragoman.gateway.caller import caller_of
from dragoman.gateway.responses.answer import Answer
from dragoman.gateway.responses.context import Context, Memory
from dragoman.gateway.responses.runs import Runs
from dragoman.gateway.responses.shelf import Shelf
from dragoman.store.base import Store
from dragoman.surfaces.responses import Responses
from dragoman.surfaces.responses_call import ResponsesCall, ResponsesRequest
from dragoman.surfaces.responses_projector import ResponsesProjector


class ResponsesDesk:
    """One for a server."""

    def __init__(self, *, store: Store, runs: Runs, answering: Answering) -> None:
        self.surface = Responses()
        self.store = store
        self.runs = runs
        self.shelf = Shelf(store=store, runs=runs, now=answering.now)
        self._context = Context(store, self.shelf)
        self._answering = answering

    def parse(self, body: JsonObject) -> ResponsesRequest:
        """A body, by itself. Raises ``InvalidRequest`` naming the field."""
        return self.surface.parse(body, strict=self._answering.options.strict_fields, mint=self._answering.mint)

    async def resolve(self, request: ResponsesRequest, owner: str, memory: Memory | None = None) -> ResponsesCall:
        """The call that it is, with all that it refers to. Raises ``ServiceError`` for what is not there."""
        history = await self._context.history(request, owner, memory)
        return request.resolve(history, await self._context.referred(request, owner))

    def answer(self, request: ResponsesRequest, call: ResponsesCall, scope: Scope) -> Answer:
        """A response that has not begun."""
        stamp = self._answering.stamp(call, scope)
        return Answer(
            request=request,
            call=call,
            projector=ResponsesProjector(call, stamp, queued=request.background, clock=self._answering.now),
            stamp=stamp,
            owner=caller_of(scope).isolation,
            store=self.store,
        )
