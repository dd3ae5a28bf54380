"""The small routes: what is served, how the server is, and what its tokens are."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from dragoman import __version__
from dragoman.core.errors import ServiceError
from dragoman.gateway.body import read_json
from dragoman.gateway.caller import caller_of
from dragoman.gateway.ignored import ignored_header
from dragoman.gateway.options import GatewayOptions
from dragoman.gateway.replies import json_reply, refusal
from dragoman.metrics import Metrics
from dragoman.serving.service import Service
from dragoman.surfaces import models, openapi, tokens
from dragoman.surfaces.openai_conversation import CONVERSATION_SPELLING


class Information:
    """Endpoints over a service, as methods that take a request."""

    def __init__(self, *, service: Service, metrics: Metrics, options: GatewayOptions) -> None:
        self._service = service
        self._metrics = metrics
        self._options = options
        self._document = openapi.document(version=__version__)

    async def root(self, _: Request) -> Response:
        """Something to see for those who open the address, and for clients that ask whether anybody is there."""
        return json_reply({"name": "dragoman", "version": __version__})

    async def version(self, _: Request) -> Response:
        """The server's version."""
        return json_reply({"version": __version__})

    async def openapi(self, _: Request) -> Response:
        """What every route takes and answers, as OpenAPI 3.1."""
        return json_reply(self._document)

    async def health(self, request: Request) -> Response:
        """200 when ``ok``, else 503; strangers learn the status alone (S11)."""
        health = self._service.health()
        status = 200 if health.status == "ok" else 503
        if not caller_of(request.scope).authorised:
            return json_reply({"status": health.status}, status=status)
        return json_reply(
            {
                "status": health.status,
                "cause": health.cause,
                "version": __version__,
                "model": self._service.card().id,
                "active": health.active,
                "queued": health.queued,
                "completed": health.completed,
                "rejected": health.rejected,
                "failed": health.failed,
            },
            status=status,
        )

    async def metrics(self, _: Request) -> Response:
        """Prometheus' text format (S145)."""
        body, content_type = self._metrics.exposition()
        return Response(body, headers={"content-type": content_type})

    async def model_list(self, _: Request) -> Response:
        """Every name of the served model."""
        return json_reply(models.model_list(self._service.models()))

    async def model(self, request: Request) -> Response:
        """One name of the served model, or 404 ``model_not_found`` (S9)."""
        return json_reply(models.model_object(self._service.card(request.path_params["id"])))

    async def tokenize(self, request: Request) -> Response:
        """The tokens of a text or a conversation."""
        body = await read_json(request.scope, request.receive, timeout=self._options.read_timeout)
        operation, ignored = tokens.parse_tokenize(
            body, strict=self._options.strict_fields, continue_assistant=self._options.continue_assistant
        )
        try:
            result = await self._service.tokenize(operation)
        except ServiceError as error:
            return refusal(error, request.scope, CONVERSATION_SPELLING)
        unused = self._service.unused(operation)
        return json_reply(tokens.tokenized(result), headers=ignored_header(ignored, unused, CONVERSATION_SPELLING))

    async def detokenize(self, request: Request) -> Response:
        """The text of some tokens."""
        body = await read_json(request.scope, request.receive, timeout=self._options.read_timeout)
        operation, ignored = tokens.parse_detokenize(body, strict=self._options.strict_fields)
        result = await self._service.detokenize(operation)
        return json_reply(tokens.detokenized(result), headers=ignored_header(ignored, (), {}))
