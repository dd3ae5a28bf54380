"""Responses that were made, or are being made: read, followed, cancelled, deleted (S144)."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from dragoman.core.errors import Code, Conflict, InvalidRequest
from dragoman.core.json import JsonObject
from dragoman.gateway.answering import Answering
from dragoman.gateway.caller import caller_of
from dragoman.gateway.event_stream import EventStream, raw
from dragoman.gateway.replies import json_reply
from dragoman.gateway.responses.context import UNFINISHED
from dragoman.gateway.responses.desk import ResponsesDesk
from dragoman.gateway.responses.listening import DONE, listen
from dragoman.gateway.responses.pages import flag, page_object, page_wish, whole_number
from dragoman.gateway.responses.runs import STALE_SECONDS, Run
from dragoman.store.base import StoredResponse
from dragoman.surfaces.base import ServerEvent
from dragoman.surfaces.responses_object import failed

_LAST_NUMBER: Final = 2**53


class _Shelf:
    """The stored responses of callers."""

    def __init__(self, desk: ResponsesDesk, answering: Answering) -> None:
        self._desk = desk
        self._answering = answering

    async def _look_up(self, request: Request) -> tuple[StoredResponse, Run | None]:
        """The response, and who makes it here. One that no server works on any more has failed, and is told so from now on."""
        owner, name = _named(request)
        run = self._desk.runs.find(owner, name)  # first: while the store is read it may end
        stored = await self._desk.store.response(owner, name)
        silent = self._answering.now() - stored.updated_at > STALE_SECONDS
        if run is None and silent and _unfinished(stored):
            stored = _abandoned(stored)
            await self._desk.store.save_response(owner, stored)
        return stored, run


class GetResponse(_Shelf):
    """``GET /v1/responses/{id}`` as an ASGI application: the object as it is now, or with ``stream=true`` its events to their end."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if flag(request.query_params, "stream"):
            await self._follow(request, send)
        else:
            stored, _ = await self._look_up(request)
            await json_reply(stored.body)(scope, receive, send)

    async def _follow(self, request: Request, send: Send) -> None:
        owner, name = _named(request)
        after = whole_number(request.query_params, "starting_after", 0, _LAST_NUMBER)
        after = -1 if after is None else after
        stored, run = await self._look_up(request)
        if run is not None and run.resumable:
            options = self._answering.options
            await listen(run, after=after, headers={}, options=options, receive=request.receive, send=send)
            return
        if run is None and _unfinished(stored):
            raise _elsewhere(name)
        events = await self._desk.store.events(owner, name, -1)
        if not events:
            raise InvalidRequest(
                f"{name} has no events: only a response that was made with background: true and stream: true can be followed",
                code=Code.INVALID_VALUE,
                param="stream",
            )
        stream = EventStream(send, keepalive=bytes, interval=self._answering.options.keepalive)
        await stream.open(raw({}))
        await stream.write(
            ServerEvent(event.data, event=event.name or None) for event in events if event.sequence > after
        )
        await stream.write((DONE,))
        await stream.close()


class StoredResponses(_Shelf):
    """The other endpoints."""

    async def delete(self, request: Request) -> Response:
        """Forget it; one that is being made is cancelled first, for whoever makes it would save it again."""
        owner, name = _named(request)
        stored, run = await self._look_up(request)
        if run is not None:
            await run.cancel()
        elif _unfinished(stored):
            raise _elsewhere(name)
        await self._desk.store.delete_response(owner, name)
        return json_reply({"id": name, "object": "response", "deleted": True})

    async def cancel(self, request: Request) -> Response:
        """End a background response before its time. One that has ended stays as it is."""
        owner, name = _named(request)
        stored, run = await self._look_up(request)
        if not stored.background:
            raise InvalidRequest(
                f"{name} was not made in the background, so there is nothing to cancel: close its connection",
                code=Code.INVALID_VALUE,
                param="response_id",
            )
        if run is not None:
            await run.cancel()
        elif _unfinished(stored):
            raise _elsewhere(name)
        return json_reply((await self._desk.store.response(owner, name)).body)

    async def input_items(self, request: Request) -> Response:
        """What it was an answer to."""
        owner, name = _named(request)
        await self._look_up(request)
        page = await self._desk.store.input_items(owner, name, page_wish(request.query_params))
        return json_reply(page_object(page))


def _named(request: Request) -> tuple[str, str]:
    return caller_of(request.scope).isolation, request.path_params["id"]


def _unfinished(stored: StoredResponse) -> bool:
    return stored.body.get("status") in UNFINISHED


def _elsewhere(name: str) -> Conflict:
    return Conflict(f"{name} is being made by another server", code=Code.INVALID_VALUE, param="response_id")


def _abandoned(stored: StoredResponse) -> StoredResponse:
    body: JsonObject = failed(stored.body, "the server was stopped while it worked on this")
    return StoredResponse(
        id=stored.id,
        created_at=stored.created_at,
        body=body,
        input=stored.input,
        previous=stored.previous,
        background=stored.background,
    )
