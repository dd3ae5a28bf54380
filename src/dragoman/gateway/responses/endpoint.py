"""``POST /v1/responses``: streamed, folded, or left to the background."""

from __future__ import annotations

import logging

from starlette.types import Receive, Scope, Send

from dragoman.core.errors import ServiceError
from dragoman.gateway.answering import Answering
from dragoman.gateway.body import read_json
from dragoman.gateway.caller import caller_of
from dragoman.gateway.event_stream import EventStream, raw
from dragoman.gateway.hangup import ClientGone, HangUp
from dragoman.gateway.middleware.request_id import request_id_of
from dragoman.gateway.replies import error_reply, json_reply, mistake
from dragoman.gateway.responses.answer import Answer
from dragoman.gateway.responses.desk import ResponsesDesk
from dragoman.gateway.responses.listening import listen
from dragoman.gateway.telling import tell
from dragoman.serving.generation import Generation
from dragoman.surfaces.responses_call import ResponsesCall, ResponsesRequest

logger = logging.getLogger(__name__)


class CreateResponse:
    """An ASGI application."""

    def __init__(self, desk: ResponsesDesk, answering: Answering) -> None:
        self._desk = desk
        self._answering = answering

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call: ResponsesCall | None = None
        try:
            body = await read_json(scope, receive, timeout=self._answering.options.read_timeout)
            request = self._desk.parse(body)
            call = await self._desk.resolve(request, caller_of(scope).isolation)
            if request.background:
                await self._leave(request, call, scope, receive, send)
            else:
                await self._attend(request, call, scope, receive, send)
        except ClientGone:
            logger.debug("the client left before its response ended")
        except ServiceError as error:
            await self._refuse(error, call, scope, receive, send)
        except Exception:
            logger.exception("a request failed by our own mistake")
            await self._refuse(mistake(), call, scope, receive, send)

    async def _refuse(
        self, error: ServiceError, call: ResponsesCall | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        shaped = self._desk.surface.error(error, call, request_id=request_id_of(scope))
        await error_reply(shaped)(scope, receive, send)

    async def _attend(
        self, request: ResponsesRequest, call: ResponsesCall, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """The client waits for it, and nobody else would."""
        async with HangUp(receive) as line:
            generation = await self._answering.begin(call, surface=self._desk.surface.name, scope=scope)
            answer = self._desk.answer(request, call, scope)
            try:
                if request.stream:
                    await self._stream(answer, generation, line, scope, send)
                else:
                    await self._fold(answer, generation, line, scope, receive, send)
            finally:
                await generation.aclose()

    async def _stream(self, answer: Answer, generation: Generation, line: HangUp, scope: Scope, send: Send) -> None:
        projector = answer.projector
        stream = EventStream(send, keepalive=projector.keepalive, interval=self._answering.options.keepalive)
        await stream.open(raw(self._answering.headers(answer.call, generation)))
        await tell(generation, projector, stream, line=line, scope=scope, ending=answer.settle)

    async def _fold(
        self, answer: Answer, generation: Generation, line: HangUp, scope: Scope, receive: Receive, send: Send
    ) -> None:
        async for event in generation:
            answer.projector.feed(event)
        line.disarm()
        await answer.settle()
        headers = self._answering.headers(answer.call, generation)
        await json_reply(answer.projector.result(), headers=headers)(scope, receive, send)

    async def _leave(
        self, request: ResponsesRequest, call: ResponsesCall, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """The client may go: the response is made all the same, and found under its id."""
        answer = self._desk.answer(request, call, scope)
        run = await self._desk.runs.start(
            answer,
            lambda queued: self._answering.begin(call, surface=self._desk.surface.name, scope=scope, queued=queued),
            resumable=request.stream,
        )
        headers = self._answering.headers(call)
        if request.stream:
            await listen(run, after=-1, headers=headers, options=self._answering.options, receive=receive, send=send)
        else:
            await json_reply(answer.projector.result(), headers=headers)(scope, receive, send)
