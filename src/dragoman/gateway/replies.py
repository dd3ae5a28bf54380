"""JSON replies, and errors for everything that belongs to no surface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from dragoman.core.errors import Code, Internal, NotFound, ServiceError
from dragoman.core.json import JsonObject
from dragoman.gateway.envelopes import BASE, shaped, without_doubled_base
from dragoman.surfaces.base import ErrorReply
from dragoman.surfaces.error_replies import NO_SPELLING

DENIAL: Final = "websocket.http.response"
"""The extension of a server that can answer a WebSocket's request over HTTP."""

POLICY_VIOLATION: Final = 1008
"""RFC 6455, 7.4.1."""

_encode = msgspec.json.Encoder().encode


def json_reply(body: JsonObject, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON object as a response."""
    return Response(_encode(body), status_code=status, headers=headers, media_type="application/json")


def error_reply(reply: ErrorReply) -> Response:
    """An error that a surface has shaped."""
    headers = dict(reply.headers)
    if reply.status == 413:
        headers["connection"] = "close"  # or the rest of the body would have to be read before the next request
    return json_reply(reply.body, status=reply.status, headers=headers)


def mistake() -> Internal:
    """What a client is told of a bug of ours."""
    return Internal("the server made a mistake", code=Code.INTERNAL)


def refusal(error: ServiceError, scope: Scope, spelling: Mapping[str, str] = NO_SPELLING) -> Response:
    """An error in the envelope that the client of this request reads."""
    return error_reply(shaped(error, scope, spelling))


async def deny(error: ServiceError, scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a request, or a WebSocket before it is accepted: over HTTP if the server can (ASGI's denial response), else by a close."""
    if scope["type"] == "websocket" and DENIAL not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": error.code.value})
        return
    await refusal(error, scope)(scope, receive, send)


async def on_service_error(request: Request, error: Exception) -> Response:
    """What an endpoint raised by name."""
    return refusal(error, request.scope) if isinstance(error, ServiceError) else await on_bug(request, error)


async def on_http_exception(request: Request, error: Exception) -> Response:
    """The router found no route, or not for this method."""
    path = request.url.path
    if isinstance(error, HTTPException) and error.status_code == 405:
        not_allowed = NotFound(f"{request.method} is not allowed on {path}", code=Code.METHOD_NOT_ALLOWED)
        reply = refusal(not_allowed, request.scope)
        reply.headers.update(error.headers or {})
        return reply
    message = f"there is no {path} here"
    meant = without_doubled_base(path)
    if meant != path:  # by far the most frequent mistake in a configuration (peers' bug list, 102)
        message += f", but perhaps {meant}: the client adds {BASE} by itself, so the base URL must end before it"
    return refusal(NotFound(message, code=Code.ROUTE_NOT_FOUND), request.scope)


async def on_bug(request: Request, _: Exception) -> Response:
    """Our mistake; the server logs it, and the client learns no more than that."""
    return refusal(mistake(), request.scope)
