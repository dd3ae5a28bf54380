"""The HTTP side in one list of middleware and one list of routes."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import ASGIApp

from dragoman.core.errors import ServiceError
from dragoman.gateway.answering import Answering, mint_id
from dragoman.gateway.endpoints import GenerationEndpoint
from dragoman.gateway.information import Information
from dragoman.gateway.middleware.api_key import ApiKey
from dragoman.gateway.middleware.body_limit import BodyLimit
from dragoman.gateway.middleware.cors import Cors
from dragoman.gateway.middleware.host_guard import HostGuard
from dragoman.gateway.middleware.request_id import RequestId, mint_request_id
from dragoman.gateway.options import GatewayOptions
from dragoman.gateway.replies import on_bug, on_http_exception, on_service_error
from dragoman.metrics import Metrics
from dragoman.serving.service import Service
from dragoman.surfaces.base import Surface
from dragoman.surfaces.openai_chat import ChatCompletions
from dragoman.surfaces.openai_completions import Completions


def build_app(
    *,
    service: Service,
    metrics: Metrics,
    options: GatewayOptions,
    mint: Callable[[], str] = mint_id,
    mint_request: Callable[[], str] = mint_request_id,
    now: Callable[[], float] = time.time,
) -> ASGIApp:
    """The whole server as an ASGI application. ``mint`` and ``now`` make what pure code can not: ids and Unix time."""
    info = Information(service=service, metrics=metrics, options=options)

    chat = ChatCompletions(continue_assistant=options.continue_assistant, reasoning=options.reasoning_field)

    answering = Answering(service=service, options=options, mint=mint, now=now)

    def generation(surface: Surface) -> ASGIApp:
        return GenerationEndpoint(surface=surface, answering=answering)

    routes = [
        Route("/v1/chat/completions", generation(chat), methods=["POST"]),
        Route("/v1/completions", generation(Completions()), methods=["POST"]),
        Route("/v1/models", info.model_list, methods=["GET"]),
        Route("/v1/models/{id:path}", info.model, methods=["GET"]),
        Route("/tokenize", info.tokenize, methods=["POST"]),
        Route("/v1/tokenize", info.tokenize, methods=["POST"]),
        Route("/detokenize", info.detokenize, methods=["POST"]),
        Route("/v1/detokenize", info.detokenize, methods=["POST"]),
        Route("/health", info.health, methods=["GET"]),
        Route("/metrics", info.metrics, methods=["GET"]),
        Route("/version", info.version, methods=["GET"]),
        Route("/openapi.json", info.openapi, methods=["GET"]),
        Route("/", info.root, methods=["GET"]),
    ]
    middleware = [  # a request passes from the top to the bottom
        Middleware(HostGuard, allowed=(options.host, *options.allowed_hosts)),
        Middleware(Cors, origins=options.origins),
        Middleware(ApiKey, keys=options.keys),
        Middleware(BodyLimit, limit=options.max_body),
    ]
    app = Starlette(
        routes=routes,
        middleware=middleware,
        exception_handlers={ServiceError: on_service_error, HTTPException: on_http_exception, Exception: on_bug},
    )
    app.router.redirect_slashes = False  # a path typed wrongly is a 404, never somewhere else
    return RequestId(app, mint=mint_request)  # around all, so that the reply to a bug has an id, too
