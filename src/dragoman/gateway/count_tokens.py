"""``POST /v1/messages/count_tokens``: what the same body would report as its input."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from dragoman.core.errors import ServiceError
from dragoman.gateway.answering import Answering
from dragoman.gateway.body import read_json
from dragoman.gateway.ignored import ignored_header
from dragoman.gateway.middleware.request_id import request_id_of
from dragoman.gateway.replies import error_reply, json_reply
from dragoman.surfaces.anthropic_fields import SPELLING
from dragoman.surfaces.anthropic_messages import Messages, counted


class CountTokens:
    """An endpoint over the service."""

    def __init__(self, surface: Messages, answering: Answering) -> None:
        self._surface = surface
        self._answering = answering

    async def count(self, request: Request) -> Response:
        """Equal to ``input_tokens`` and the cached ones of the answer, since it is the same conversation that is rendered."""
        service, options = self._answering.service, self._answering.options
        try:
            body = await read_json(request.scope, request.receive, timeout=options.read_timeout)
            operation, ignored = self._surface.parse_count(body, strict=options.strict_fields)
            result = await service.tokenize(operation)
        except ServiceError as error:
            return error_reply(self._surface.error(error, request_id=request_id_of(request.scope)))
        headers = ignored_header(ignored, service.unused(operation), SPELLING)
        return json_reply(counted(result), headers=headers)
