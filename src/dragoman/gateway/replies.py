"""JSON replies, and errors in OpenAI's envelope for everything that belongs to no surface."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from dragoman.core.errors import Code, Internal, NotFound, ServiceError
from dragoman.core.json import JsonObject
from dragoman.surfaces import openai_errors
from dragoman.surfaces.base import ErrorReply

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


def refusal(error: ServiceError, spelling: Mapping[str, str] = openai_errors.NO_SPELLING) -> Response:
    """An error in OpenAI's envelope (S156)."""
    return error_reply(openai_errors.reply(error, spelling))


async def on_service_error(_: Request, error: Exception) -> Response:
    """What an endpoint raised by name."""
    return refusal(error) if isinstance(error, ServiceError) else await on_bug(_, error)


async def on_http_exception(request: Request, error: Exception) -> Response:
    """The router found no route, or not for this method."""
    path = request.url.path
    if isinstance(error, HTTPException) and error.status_code == 405:
        shaped = openai_errors.reply(
            NotFound(f"{request.method} is not allowed on {path}", code=Code.METHOD_NOT_ALLOWED)
        )
        return json_reply(shaped.body, status=shaped.status, headers={**shaped.headers, **(error.headers or {})})
    return refusal(NotFound(f"there is no {path} here", code=Code.ROUTE_NOT_FOUND))


async def on_bug(_: Request, __: Exception) -> Response:
    """Our mistake; the server logs it, and the client learns no more than that."""
    return refusal(Internal("the server made a mistake", code=Code.INTERNAL))
