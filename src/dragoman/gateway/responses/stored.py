"""Responses that were made, or are being made: read, followed, cancelled, deleted (S144)."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from dragoman.core.errors import Code, Conflict, InvalidRequest
from dragoman.gateway.answering import Answering
from dragoman.gateway.caller import caller_of
from dragoman.gateway.event_stream import EventStream, raw
from dragoman.gateway.replies import json_reply
from dragoman.gateway.responses.desk import ResponsesDesk
from dragoman.gateway.responses.listening import listen
from dragoman.gateway.responses.pages import flag, page_object, page_wish, whole_number
from dragoman.gateway.responses.shelf import unfinished
from dragoman.surfaces.base import ServerEvent
from dragoman.surfaces.openai_stream import DONE

_LAST_NUMBER: Final = 2**53


class GetResponse:
    """``GET /v1/responses/{id}`` as an ASGI application: the object as it is now, or with ``stream=true`` its events to their end."""

    def __init__(self, desk: ResponsesDesk, answering: Answering) -> None:
        self._desk = desk
        self._options = answering.options

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if flag(request.query_params, "stream"):
            await self._follow(request, send)
        else:
            stored, _ = await self._desk.shelf.look_up(*_named(request))
            await json_reply(stored.body)(scope, receive, send)

    async def _follow(self, request: Request, send: Send) -> None:
        owner, name = _named(request)
        after = whole_number(request.query_params, "starting_after", 0, _LAST_NUMBER)
        after = -1 if after is None else after
        stored, run = await self._desk.shelf.look_up(owner, name)
        if run is not None and run.resumable:
            await listen(run, after=after, headers={}, options=self._options, receive=request.receive, send=send)
            return
        if run is None and unfinished(stored):
            raise _elsewhere(name)
        events = await self._desk.store.events(owner, name)
        if not events:
            raise InvalidRequest(
                f"{name} has no events: only a response that was made with background: true and stream: true can be followed",
                code=Code.INVALID_VALUE,
                param="stream",
            )
        stream = EventStream(send, keepalive=bytes, interval=self._options.keepalive)
        await stream.open(raw({}))
        await stream.write(
            ServerEvent(event.data, event=event.name or None) for event in events if event.sequence > after
        )
        await stream.write((DONE,))
        await stream.close()


class StoredResponses:
    """The other endpoints over one desk."""

    def __init__(self, desk: ResponsesDesk) -> None:
        self._desk = desk

    async def delete(self, request: Request) -> Response:
        """Forget it; one that is being made is cancelled first, for whoever makes it would save it again."""
        owner, name = _named(request)
        stored, run = await self._desk.shelf.look_up(owner, name)
        if run is not None:
            await run.cancel()
        elif unfinished(stored):
            raise _elsewhere(name)
        await self._desk.store.delete_response(owner, name)
        return json_reply({"id": name, "object": "response", "deleted": True})

    async def cancel(self, request: Request) -> Response:
        """End a background response before its time. One that has ended stays as it is."""
        owner, name = _named(request)
        stored, run = await self._desk.shelf.look_up(owner, name)
        if not stored.background:
            raise InvalidRequest(
                f"{name} was not made in the background, so there is nothing to cancel: close its connection",
                code=Code.INVALID_VALUE,
                param="response_id",
            )
        if run is not None:
            await run.cancel()
        elif unfinished(stored):
            raise _elsewhere(name)
        return json_reply((await self._desk.store.response(owner, name)).body)

    async def input_items(self, request: Request) -> Response:
        """What it was an answer to."""
        owner, name = _named(request)
        await self._desk.shelf.look_up(owner, name)
        page = await self._desk.store.input_items(owner, name, page_wish(request.query_params))
        return json_reply(page_object(page))


def _named(request: Request) -> tuple[str, str]:
    return caller_of(request.scope).isolation, request.path_params["id"]


def _elsewhere(name: str) -> Conflict:
    return Conflict(f"{name} is being made by another server", code=Code.INVALID_VALUE, param="response_id")
