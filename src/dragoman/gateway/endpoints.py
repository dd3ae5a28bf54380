"""The one endpoint behind every generation route that keeps nothing: parse, start, commit, then stream or fold.

The commit point is where ``Service.generate`` returns (S116). An error before it is a reply in the surface's envelope; an
error after it ends the stream in the surface's own way (S155). Which surface it is, is never asked.
"""

from __future__ import annotations

import logging

from starlette.types import Receive, Scope, Send

from dragoman.core.errors import ServiceError
from dragoman.gateway.answering import Answering
from dragoman.gateway.body import read_json
from dragoman.gateway.event_stream import EventStream, raw
from dragoman.gateway.hangup import ClientGone, HangUp
from dragoman.gateway.middleware.request_id import request_id_of
from dragoman.gateway.replies import error_reply, json_reply, mistake
from dragoman.gateway.telling import tell
from dragoman.serving.generation import Generation
from dragoman.surfaces.base import Call, Surface

logger = logging.getLogger(__name__)


class GenerationEndpoint:
    """An ASGI application for one surface."""

    def __init__(self, *, surface: Surface, answering: Answering) -> None:
        self._surface = surface
        self._answering = answering
        self._options = answering.options

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call: Call | None = None
        try:
            body = await read_json(scope, receive, timeout=self._options.read_timeout)
            call = self._surface.parse(body, strict=self._options.strict_fields)
            async with HangUp(receive) as line:
                generation = await self._answering.begin(call, surface=self._surface.name, scope=scope)
                try:
                    if call.stream:
                        await self._stream(call, generation, line, scope, send)
                    else:
                        await self._fold(call, generation, line, scope, receive, send)
                finally:
                    await generation.aclose()
        except ClientGone:
            logger.debug("the client left before its answer ended")
        except ServiceError as error:
            await self._refuse(error, call, scope, receive, send)
        except Exception:
            logger.exception("a request failed by our own mistake")
            await self._refuse(mistake(), call, scope, receive, send)

    async def _refuse(self, error: ServiceError, call: Call | None, scope: Scope, receive: Receive, send: Send) -> None:
        shaped = self._surface.error(error, call, request_id=request_id_of(scope))
        await error_reply(shaped)(scope, receive, send)

    async def _stream(self, call: Call, generation: Generation, line: HangUp, scope: Scope, send: Send) -> None:
        projector = self._surface.projector(call, self._answering.stamp(call, scope))
        stream = EventStream(send, keepalive=projector.keepalive, interval=self._options.keepalive)
        await stream.open(raw(self._answering.headers(call, generation)))
        await tell(generation, projector, stream, line=line, scope=scope)

    async def _fold(
        self, call: Call, generation: Generation, line: HangUp, scope: Scope, receive: Receive, send: Send
    ) -> None:
        projector = self._surface.projector(call, self._answering.stamp(call, scope))
        async for event in generation:
            projector.feed(event)
        line.disarm()
        headers = self._answering.headers(call, generation)
        await json_reply(projector.result(), headers=headers)(scope, receive, send)
