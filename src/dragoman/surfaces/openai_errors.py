"""OpenAI's error envelope, and which status and type each kind of failure gets (S156).

The table is the one place where our kinds become HTTP; ``docs/api.md`` prints it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dragoman.core.errors import (
    Cancelled,
    Code,
    Conflict,
    EngineFailed,
    Forbidden,
    Internal,
    InvalidRequest,
    NotFound,
    Overloaded,
    ServiceError,
    TooLarge,
    Unauthorized,
)
from dragoman.core.json import Json, JsonObject
from dragoman.surfaces.base import ErrorReply

BY_KIND: Final[Mapping[type[ServiceError], tuple[int, str]]] = {
    InvalidRequest: (400, "invalid_request_error"),
    Unauthorized: (401, "authentication_error"),
    Forbidden: (403, "permission_error"),
    NotFound: (404, "not_found_error"),
    Conflict: (409, "invalid_request_error"),
    TooLarge: (413, "invalid_request_error"),
    Overloaded: (429, "rate_limit_error"),
    # The client has left, so nobody reads it; the number is nginx's, for access logs.
    Cancelled: (499, "invalid_request_error"),
    EngineFailed: (500, "server_error"),
    Internal: (500, "server_error"),
}
"""Status and type of a kind; a kind that is not listed takes those of its parent."""

BY_CODE: Final[Mapping[Code, tuple[int, str]]] = {
    Code.METHOD_NOT_ALLOWED: (405, "invalid_request_error"),
    Code.UNSUPPORTED_MEDIA_TYPE: (415, "invalid_request_error"),
    # These pass by themselves, and the official SDKs retry every 5xx.
    Code.SHUTTING_DOWN: (503, "server_error"),
    Code.ENGINE_LOADING: (503, "server_error"),
    Code.ENGINE_CRASHED: (503, "server_error"),
    Code.ENGINE_STOPPED: (503, "server_error"),
    Code.ENGINE_TIMEOUT: (503, "server_error"),
    # We are the gateway of an upstream that answered nonsense.
    Code.ENGINE_PROTOCOL: (502, "server_error"),
    Code.INVALID_TOOL_CALL: (502, "server_error"),
}
"""Exceptions to ``BY_KIND``."""

_PASSING: Final = (429, 503, 504)
"""Statuses that pass by themselves, and so say when to come back."""

NO_SPELLING: Final[Mapping[str, str]] = MappingProxyType({})
"""Features are named as we name them."""

_FINAL: Final = frozenset({401, 409})
"""Statuses that clients try again unless they are told: the official SDKs a conflict, Claude Code a wrong key, for minutes."""

_DEFAULT_RETRY_AFTER: Final = 1
"""Seconds, where the error does not say (S12)."""


def envelope(error: ServiceError, spelling: Mapping[str, str] = NO_SPELLING) -> JsonObject:
    """``{"error": {message, type, param, code}}``."""
    return {"error": error_object(error, spelling)}


def error_object(error: ServiceError, spelling: Mapping[str, str] = NO_SPELLING) -> dict[str, Json]:
    """What is inside of the envelope; a feature is named as this client spells it."""
    param = error.param
    if param is None and error.feature is not None:
        param = spelling.get(error.feature, error.feature)
    return {
        "message": error.message,
        "type": _status_and_type(error)[1],
        "param": param,
        "code": error.code.value,
    }


def reply(error: ServiceError, spelling: Mapping[str, str] = NO_SPELLING) -> ErrorReply:
    """The whole reply to a request that failed before its first byte."""
    status, _ = _status_and_type(error)
    return ErrorReply(status=status, body=envelope(error, spelling), headers=reply_headers(error, status))


def reply_headers(error: ServiceError, status: int) -> dict[str, str]:
    """When to come back, for what passes by itself (S128), what never will, and how a key is sent; the same on every surface."""
    headers: dict[str, str] = {}
    final = status in _FINAL or error.code is Code.ENGINE_STOPPED  # it died too often to be started once more
    if status in _PASSING and not final:
        seconds = _DEFAULT_RETRY_AFTER if error.retry_after is None else error.retry_after
        headers["retry-after"] = str(seconds)
    if status == 401:
        headers["www-authenticate"] = "Bearer"  # RFC 9110, 15.5.2
    if final:
        headers["x-should-retry"] = "false"
    return headers


def _status_and_type(error: ServiceError) -> tuple[int, str]:
    if error.code in BY_CODE:
        return BY_CODE[error.code]
    return next((BY_KIND[kind] for kind in type(error).__mro__ if kind in BY_KIND), BY_KIND[Internal])
