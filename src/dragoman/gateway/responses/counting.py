"""``POST /v1/responses/input_tokens`` and ``/compact``: how long a conversation is, and a shorter one."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from dragoman.core.errors import ServiceError
from dragoman.core.events import Finished, TextDelta, Usage
from dragoman.core.request import Conversation, Tokenize
from dragoman.gateway.answering import Answering
from dragoman.gateway.body import read_json
from dragoman.gateway.caller import caller_of
from dragoman.gateway.hangup import ClientGone, HangUp
from dragoman.gateway.ignored import ignored_header
from dragoman.gateway.middleware.request_id import request_id_of
from dragoman.gateway.replies import error_reply, json_reply
from dragoman.gateway.responses.desk import ResponsesDesk
from dragoman.surfaces.responses_call import ResponsesCall
from dragoman.surfaces.responses_compact import compaction, summarising


class Measures:
    """Endpoints over one desk."""

    def __init__(self, desk: ResponsesDesk, answering: Answering) -> None:
        self._desk = desk
        self._answering = answering

    async def input_tokens(self, request: Request) -> Response:
        """The tokens that a response to this body would be billed for as input."""
        call: ResponsesCall | None = None
        try:
            body = await read_json(request.scope, request.receive, timeout=self._answering.options.read_timeout)
            wanted = self._desk.surface.parse_count(
                body, strict=self._answering.options.strict_fields, mint=self._answering.mint
            )
            call = await self._desk.resolve(wanted, caller_of(request.scope).isolation)
            prompt = call.operation.prompt
            if not isinstance(prompt, Conversation):
                raise TypeError("a request to Responses is a conversation")
            tokens = await self._answering.service.tokenize(Tokenize(source=prompt, model=call.operation.model))
        except ServiceError as error:
            return error_reply(self._desk.surface.error(error, call, request_id=request_id_of(request.scope)))
        headers = ignored_header(call.ignored, self._answering.service.unused(call.operation), call.spelling)
        return json_reply({"object": "response.input_tokens", "input_tokens": len(tokens.ids)}, headers=headers)

    async def compact(self, request: Request) -> Response:
        """The conversation with a summary in the place of what the model said and did in it."""
        call: ResponsesCall | None = None
        try:
            body = await read_json(request.scope, request.receive, timeout=self._answering.options.read_timeout)
            wanted = self._desk.surface.parse_compact(
                body, strict=self._answering.options.strict_fields, mint=self._answering.mint
            )
            call = await self._desk.resolve(wanted, caller_of(request.scope).isolation)
            async with HangUp(request.receive):
                summary, usage = await self._summary(call, request)
        except ClientGone:
            return Response()
        except ServiceError as error:
            return error_reply(self._desk.surface.error(error, call, request_id=request_id_of(request.scope)))
        stamp = self._answering.stamp(call, request.scope)
        return json_reply(
            compaction((*call.history, *call.input), summary, usage, stamp), headers=self._answering.headers(call)
        )

    async def _summary(self, call: ResponsesCall, request: Request) -> tuple[str, Usage | None]:
        operation = summarising(call)
        if operation is None:
            return "", None
        generation = await self._answering.service.generate(
            operation, surface=self._desk.surface.name, isolation=caller_of(request.scope).isolation
        )
        said: list[str] = []
        usage: Usage | None = None
        try:
            async for event in generation:
                match event:
                    case TextDelta(text=text):
                        said.append(text)
                    case Finished():
                        usage = event.usage
                    case _:
                        pass
        finally:
            await generation.aclose()
        return "".join(said).strip(), usage
