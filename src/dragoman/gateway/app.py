"""The HTTP side in one list of middleware and one list of routes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp

from dragoman.core.errors import ServiceError
from dragoman.gateway.answering import Answering, mint_id
from dragoman.gateway.count_tokens import CountTokens
from dragoman.gateway.endpoints import GenerationEndpoint
from dragoman.gateway.idempotency import Idempotent, Retries
from dragoman.gateway.information import Information
from dragoman.gateway.middleware.api_key import ApiKey
from dragoman.gateway.middleware.body_limit import BodyLimit
from dragoman.gateway.middleware.cors import Cors
from dragoman.gateway.middleware.host_guard import HostGuard
from dragoman.gateway.middleware.request_id import RequestId, mint_request_id
from dragoman.gateway.options import GatewayOptions
from dragoman.gateway.replies import on_bug, on_http_exception, on_service_error
from dragoman.gateway.responses.conversations import Conversations
from dragoman.gateway.responses.counting import Measures
from dragoman.gateway.responses.desk import ResponsesDesk
from dragoman.gateway.responses.endpoint import CreateResponse
from dragoman.gateway.responses.runs import Runs
from dragoman.gateway.responses.socket import ResponsesSocket
from dragoman.gateway.responses.stored import GetResponse, StoredResponses
from dragoman.metrics import Metrics
from dragoman.serving.service import Service
from dragoman.store.base import Store
from dragoman.surfaces.anthropic_messages import Messages
from dragoman.surfaces.base import Surface
from dragoman.surfaces.openai_chat import ChatCompletions
from dragoman.surfaces.openai_completions import Completions


def build_app(
    *,
    service: Service,
    metrics: Metrics,
    store: Store,
    options: GatewayOptions,
    mint: Callable[[], str] = mint_id,
    mint_request: Callable[[], str] = mint_request_id,
    now: Callable[[], float] = time.time,
) -> ASGIApp:
    """The whole server as an ASGI application. ``mint`` and ``now`` make what pure code can not: ids and Unix time.

    What it does in the background ends with its lifespan.
    """
    answering = Answering(service=service, options=options, mint=mint, now=now)
    runs, retries = Runs(store), Retries(store=store)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.gather(runs.aclose(), retries.aclose())

    app = Starlette(
        routes=[
            *_generation(answering, retries),
            *_responses(ResponsesDesk(store=store, runs=runs, answering=answering), answering, retries),
            *_information(Information(service=service, metrics=metrics, options=options)),
        ],
        middleware=[  # a request passes from the top to the bottom
            Middleware(HostGuard, allowed=(options.host, *options.allowed_hosts)),
            Middleware(Cors, origins=options.origins),
            Middleware(ApiKey, keys=options.keys),
            Middleware(BodyLimit, limit=options.max_body),
        ],
        exception_handlers={ServiceError: on_service_error, HTTPException: on_http_exception, Exception: on_bug},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # a path typed wrongly is a 404, never somewhere else
    return RequestId(app, mint=mint_request)  # around all, so that the reply to a bug has an id, too


def _generation(answering: Answering, retries: Retries) -> list[Route]:
    options = answering.options
    chat = ChatCompletions(continue_assistant=options.continue_assistant, reasoning=options.reasoning_field)
    messages = Messages(keep_billing_header=options.keep_billing_header)
    surfaces: dict[str, Surface] = {
        "/v1/chat/completions": chat,
        "/v1/completions": Completions(),
        "/v1/messages": messages,
    }
    endpoints = {path: GenerationEndpoint(surface=surface, answering=answering) for path, surface in surfaces.items()}
    return [
        *(Route(path, _again(endpoint, answering, retries), methods=["POST"]) for path, endpoint in endpoints.items()),
        Route("/v1/messages/count_tokens", CountTokens(messages, answering).count, methods=["POST"]),
    ]


def _responses(desk: ResponsesDesk, answering: Answering, retries: Retries) -> list[Route | WebSocketRoute]:
    stored, measures = StoredResponses(desk), Measures(desk, answering)
    conversations = Conversations(desk, answering)
    return [
        Route("/v1/responses", _again(CreateResponse(desk, answering), answering, retries), methods=["POST"]),
        WebSocketRoute("/v1/responses", ResponsesSocket(desk, answering)),
        Route("/v1/responses/input_tokens", measures.input_tokens, methods=["POST"]),
        Route("/v1/responses/compact", measures.compact, methods=["POST"]),
        Route("/v1/responses/{id}", GetResponse(desk, answering), methods=["GET"]),
        Route("/v1/responses/{id}", stored.delete, methods=["DELETE"]),
        Route("/v1/responses/{id}/cancel", stored.cancel, methods=["POST"]),
        Route("/v1/responses/{id}/input_items", stored.input_items, methods=["GET"]),
        Route("/v1/conversations", conversations.create, methods=["POST"]),
        Route("/v1/conversations/{id}", conversations.get, methods=["GET"]),
        Route("/v1/conversations/{id}", conversations.update, methods=["POST"]),
        Route("/v1/conversations/{id}", conversations.delete, methods=["DELETE"]),
        Route("/v1/conversations/{id}/items", conversations.items, methods=["GET"]),
        Route("/v1/conversations/{id}/items", conversations.add, methods=["POST"]),
        Route("/v1/conversations/{id}/items/{item}", conversations.item, methods=["GET"]),
        Route("/v1/conversations/{id}/items/{item}", conversations.delete_item, methods=["DELETE"]),
    ]


def _again(endpoint: ASGIApp, answering: Answering, retries: Retries) -> ASGIApp:
    """The endpoint, for clients that may send a request twice (S15)."""
    return Idempotent(endpoint, retries=retries, timeout=answering.options.read_timeout)


def _information(info: Information) -> list[Route]:
    return [
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
