"""OpenAI's error envelope, and which status and type each kind of failure gets (S156).

The table is the one place where our kinds become HTTP; ``docs/api.md`` prints it.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from dragoman.surfaces.error_replies import NO_SPELLING, ByCode, ByKind, field_of, reply_headers, status_and_type

BY_KIND: Final[ByKind] = {
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
BY_CODE: Final[ByCode] = {
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


def envelope(error: ServiceError, spelling: Mapping[str, str] = NO_SPELLING) -> JsonObject:
    """``{"error": {message, type, param, code}}``."""
    return {"error": error_object(error, spelling)}


def error_object(error: ServiceError, spelling: Mapping[str, str] = NO_SPELLING) -> dict[str, Json]:
    """What is inside of the envelope; a feature is named as this client spells it."""
    return {
        "message": error.message,
        "type": status_and_type(error, BY_KIND, BY_CODE)[1],
        "param": field_of(error, spelling),
        "code": error.code.value,
    }


def reply(error: ServiceError, spelling: Mapping[str, str] = NO_SPELLING) -> ErrorReply:
    """The whole reply to a request that failed before its first byte."""
    status, _ = status_and_type(error, BY_KIND, BY_CODE)
    return ErrorReply(status=status, body=envelope(error, spelling), headers=reply_headers(error, status))
