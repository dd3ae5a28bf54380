"""The one endpoint behind every generation route: parse, start, commit, then stream or fold.

The commit point is where ``Service.generate`` returns (S116). An error before it is a reply in the surface's envelope; an
error after it ends the stream in the surface's own way (S155). Which surface it is, is never asked.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable

from starlette.types import Receive, Scope, Send

from dragoman.core.errors import Code, Internal, ServiceError
from dragoman.core.events import Finished
from dragoman.gateway.body import read_json
from dragoman.gateway.caller import caller_of
from dragoman.gateway.event_stream import EventStream
from dragoman.gateway.hangup import ClientGone, HangUp
from dragoman.gateway.ignored import ignored_header
from dragoman.gateway.middleware.request_id import request_id_of
from dragoman.gateway.options import GatewayOptions
from dragoman.gateway.replies import error_reply, json_reply
from dragoman.serving.generation import Generation
from dragoman.serving.service import Service
from dragoman.surfaces.base import Call, Projector, Stamp, Surface

logger = logging.getLogger(__name__)


def mint_id() -> str:
    """An id that nobody can guess (S17)."""
    return secrets.token_hex(12)


class GenerationEndpoint:
    """An ASGI application for one surface. ``mint`` makes reply ids; ``now`` gives Unix seconds."""

    def __init__(
        self,
        *,
        surface: Surface,
        service: Service,
        options: GatewayOptions,
        mint: Callable[[], str] = mint_id,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._surface = surface
        self._service = service
        self._options = options
        self._mint = mint
        self._now = now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call: Call | None = None
        try:
            body = await read_json(scope, receive, timeout=self._options.read_timeout)
            call = self._surface.parse(body, strict=self._options.strict_fields)
            async with HangUp(receive) as line:
                generation = await self._service.generate(
                    call.operation, surface=self._surface.name, isolation=caller_of(scope).isolation
                )
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
            await self._refuse(_internal(), call, scope, receive, send)

    async def _refuse(self, error: ServiceError, call: Call | None, scope: Scope, receive: Receive, send: Send) -> None:
        shaped = self._surface.error(error, call, request_id=request_id_of(scope))
        await error_reply(shaped)(scope, receive, send)

    async def _stream(self, call: Call, generation: Generation, line: HangUp, scope: Scope, send: Send) -> None:
        projector = self._projector(call, scope)
        stream = EventStream(send, keepalive=projector.keepalive, interval=self._options.keepalive)
        await stream.open([(name.encode(), value.encode()) for name, value in self._headers(call, generation).items()])
        try:
            async for event in generation:
                if isinstance(event, Finished):
                    line.disarm()
                await stream.write(projector.feed(event))
        except ServiceError as error:
            line.disarm()
            await stream.write(projector.fail(error))
        except Exception:
            logger.exception("a stream failed by our own mistake")
            line.disarm()
            await stream.write(projector.fail(_internal()))
        finally:
            stream.stop()
        await stream.close()

    async def _fold(
        self, call: Call, generation: Generation, line: HangUp, scope: Scope, receive: Receive, send: Send
    ) -> None:
        projector = self._projector(call, scope)
        async for event in generation:
            projector.feed(event)
        line.disarm()
        await json_reply(projector.result(), headers=self._headers(call, generation))(scope, receive, send)

    def _projector(self, call: Call, scope: Scope) -> Projector:
        stamp = Stamp(
            id=self._mint(),
            created=int(self._now()),
            model=self._service.card(call.operation.model).id,
            fingerprint=self._service.fingerprint,
            request_id=request_id_of(scope),
        )
        return self._surface.projector(call, stamp)

    def _headers(self, call: Call, generation: Generation) -> dict[str, str]:
        headers = {"x-dragoman-queue-wait-ms": str(round(generation.queue_wait * 1000))}
        if generation.repairs:
            headers["x-dragoman-repaired"] = ", ".join(generation.repairs)
        return headers | ignored_header(call.ignored, self._service.unused(call.operation), call.spelling)


def _internal() -> Internal:
    return Internal("the server made a mistake", code=Code.INTERNAL)
