"""Responses over a WebSocket: one connection, one answer at a time, and turns that are kept nowhere but here.

A message is the body of a ``POST`` with ``"type": "response.create"``; what a stream would carry comes back as one message an event.
With ``store: false`` a turn lives as long as the connection, so that an agent's loop can send what is new alone (wire.md 0, 6).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Final

import msgspec
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from dragoman.core.errors import Code, InvalidRequest, Overloaded, ServiceError
from dragoman.core.events import Accepted, ChoiceFinished, Finished, FinishReason, GenerationEvent
from dragoman.core.json import JsonObject
from dragoman.core.limits import MAX_BODY_BYTES
from dragoman.gateway.answering import Answering
from dragoman.gateway.body import decode_object
from dragoman.gateway.caller import caller_of
from dragoman.gateway.hangup import ClientGone
from dragoman.gateway.middleware.request_id import request_id_of
from dragoman.gateway.replies import mistake
from dragoman.gateway.responses.answer import Answer
from dragoman.gateway.responses.desk import ResponsesDesk
from dragoman.gateway.silence import Silence
from dragoman.serving.generation import Generation
from dragoman.surfaces.base import ServerEvent
from dragoman.surfaces.responses_call import ResponsesCall, ResponsesRequest

logger = logging.getLogger(__name__)

LIFE_SECONDS: Final = 3600.0
"""OpenAI's: clients are made to open another one."""

MAX_WAITING: Final = 4
"""Messages that may wait for the one that is answered."""

MAX_TURNS: Final = 16
"""Turns that a connection remembers: a client goes on from its last one, or from one of the last."""

MAX_TURN_BYTES: Final = MAX_BODY_BYTES
"""Of the messages that began them, together."""

FAREWELL_SECONDS: Final = 10.0
"""For a client to take the last message of its connection."""

_encode: Final = msgspec.json.Encoder().encode


class Turns:
    """The turns of one connection that the client does not want stored, the latest last."""

    def __init__(self) -> None:
        self._turns: OrderedDict[str, _Turn] = OrderedDict()

    def history(self, id: str) -> tuple[JsonObject, ...] | None:
        """All items up to and including the output of this response, if it was one of these."""
        turn = self._turns.get(id)
        return None if turn is None else turn.items

    def remember(self, id: str, items: tuple[JsonObject, ...], size: int) -> None:
        """A turn that ended well, and began with a message of ``size`` bytes; the oldest make room."""
        self._turns[id] = _Turn(items=items, size=size)
        while len(self._turns) > MAX_TURNS or sum(turn.size for turn in self._turns.values()) > MAX_TURN_BYTES:
            self._turns.popitem(last=False)

    def forget(self, id: str | None) -> None:
        """What failed to go on cannot be gone on from again: the client has to begin anew."""
        if id is not None:
            self._turns.pop(id, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    items: tuple[JsonObject, ...]
    size: int


class ResponsesSocket:
    """An ASGI application for the scope ``websocket``."""

    def __init__(self, desk: ResponsesDesk, answering: Answering) -> None:
        self._desk = desk
        self._answering = answering

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        await socket.accept()
        await _Connection(socket, self._desk, self._answering).serve()


class _Connection:
    def __init__(self, socket: WebSocket, desk: ResponsesDesk, answering: Answering) -> None:
        self._socket = socket
        self._desk = desk
        self._answering = answering
        self._turns = Turns()
        self._inbox: asyncio.Queue[str | bytes] = asyncio.Queue(MAX_WAITING)
        self._writing = asyncio.Lock()

    async def serve(self) -> None:
        """Until the client leaves, or an hour is over."""
        worker = asyncio.create_task(self._work())
        try:
            async with asyncio.timeout(LIFE_SECONDS):
                await self._listen()
        except ClientGone:
            logger.debug("the client closed its socket")
        except TimeoutError:
            worker.cancel()  # it may be in the middle of a write that its client does not take
            await self._part()
        finally:
            worker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await worker

    async def _part(self) -> None:
        limit = InvalidRequest("this connection is an hour old: open another one", code=Code.CONNECTION_LIMIT_REACHED)
        with contextlib.suppress(TimeoutError, ClientGone, WebSocketDisconnect):
            async with asyncio.timeout(FAREWELL_SECONDS):
                await self._refuse(limit)
                await self._socket.close(1000)

    async def _listen(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                raise ClientGone
            text = message.get("text")
            try:
                self._inbox.put_nowait(message["bytes"] if text is None else text)
            except asyncio.QueueFull:
                await self._refuse(
                    Overloaded(f"{MAX_WAITING} messages wait already", code=Code.QUEUE_FULL, retry_after=1)
                )

    async def _work(self) -> None:
        with contextlib.suppress(ClientGone):  # who listens hears of it, too
            while True:
                await self._answer(await self._inbox.get())

    async def _answer(self, message: str | bytes) -> None:
        request: ResponsesRequest | None = None
        try:
            request = self._desk.parse(_body(message))
            if request.background:
                raise InvalidRequest(
                    "background is for requests that nobody waits for: send it as a POST",
                    code=Code.UNSUPPORTED_VALUE,
                    param="background",
                )
            owner = caller_of(self._socket.scope).isolation
            call = await self._desk.resolve(request, owner, self._turns)
            if not request.generate:
                call = _silenced(call)
            generation = await self._answering.begin(call, surface=self._desk.surface.name, scope=self._socket.scope)
            try:
                await self._tell(request, call, generation, size=len(message))
            finally:
                await generation.aclose()
        except ServiceError as error:
            await self._failed(request, error)
        except ClientGone:
            raise
        except Exception:
            logger.exception("a message failed by our own mistake")
            await self._failed(request, mistake())

    async def _failed(self, request: ResponsesRequest | None, error: ServiceError) -> None:
        self._turns.forget(request.previous if request is not None else None)
        await self._refuse(error)

    async def _tell(self, request: ResponsesRequest, call: ResponsesCall, generation: Generation, *, size: int) -> None:
        answer = self._desk.answer(request, call, self._socket.scope)
        silence = Silence(
            lambda: self._beat(answer.projector.beat()),
            interval=self._answering.options.keepalive,
            busy=self._writing.locked,
        )
        silence.begin()
        try:
            async for event in generation if request.generate else _unsaid(generation):
                events = answer.projector.feed(event)
                if isinstance(event, Finished):
                    silence.stop()  # nothing may come between: the events have their numbers
                    await self._remember(answer, size)
                await self._send(events)
                silence.broken()
        except ServiceError as error:
            silence.stop()
            await self._break(answer, error)
        except ClientGone:
            raise
        except Exception:
            logger.exception("an answer failed by our own mistake")
            silence.stop()
            await self._break(answer, mistake())
        finally:
            silence.stop()

    async def _break(self, answer: Answer, error: ServiceError) -> None:
        self._turns.forget(answer.request.previous)
        await self._send(answer.projector.fail(error))

    async def _beat(self, event: ServerEvent) -> None:
        with contextlib.suppress(ClientGone):
            await self._send([event])

    async def _remember(self, answer: Answer, size: int) -> None:
        if answer.request.store:
            await answer.settle()
        else:
            items = (*answer.call.history, *answer.call.input, *answer.projector.output_items)
            self._turns.remember(answer.id, items, size)

    async def _refuse(self, error: ServiceError) -> None:
        """An error that belongs to no response: in OpenAI's shape, and with what Open Responses asks for."""
        shaped = self._desk.surface.error(error, request_id=request_id_of(self._socket.scope))
        body = {"type": "error", "status": shaped.status, **shaped.body, "headers": shaped.headers}
        await self._send([ServerEvent(_encode(body), event="error")])

    async def _send(self, events: list[ServerEvent]) -> None:
        """Raises ``ClientGone``. What is sent first has the lower numbers, so nothing may wait between making and sending events."""
        try:
            async with self._writing:
                for event in events:
                    if event.event is not None:  # a message has its own end, so there is no [DONE]
                        await self._socket.send_text(event.data.decode())
        except (WebSocketDisconnect, RuntimeError):  # the write failed, or an earlier one had
            raise ClientGone from None


def _body(message: str | bytes) -> JsonObject:
    """The request in a message. Raises ``InvalidRequest``."""
    body = dict(decode_object(message.encode() if isinstance(message, str) else message))
    kind = body.pop("type", None)
    if kind != "response.create":
        raise InvalidRequest('type must be "response.create"', code=Code.INVALID_VALUE, param="type")
    body.pop("stream", None)  # Codex sends it; a socket always streams
    return body


def _silenced(call: ResponsesCall) -> ResponsesCall:
    """The call with its prompt read and nothing said: what a client sends ahead (``generate: false``)."""
    operation = call.operation
    return replace(call, operation=replace(operation, limits=replace(operation.limits, max_tokens=0)))


async def _unsaid(generation: Generation) -> AsyncIterator[GenerationEvent]:
    """The events of an answer that was not wanted: it ends as one that is whole, not as one that its budget cut."""
    async for event in generation:
        match event:
            case ChoiceFinished():
                yield replace(event, reason=FinishReason.STOP)
            case Accepted() | Finished():
                yield event
            case _:
                pass  # with a budget of zero there is no more to say
