"""Anthropic's error envelope, and which status and type each kind of failure gets (S117).

Statuses are those of the other surfaces, but for the one that Anthropic has a word for. An SDK retries 408, 409, 429 and everything
from 500 on, whatever the type is.
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
    TooLarge: (413, "request_too_large"),
    Overloaded: (429, "rate_limit_error"),
    # The client has left, so nobody reads it; the number is nginx's, for access logs.
    Cancelled: (499, "invalid_request_error"),
    EngineFailed: (500, "api_error"),
    Internal: (500, "api_error"),
}
BY_CODE: Final[ByCode] = {
    Code.METHOD_NOT_ALLOWED: (405, "invalid_request_error"),
    Code.UNSUPPORTED_MEDIA_TYPE: (415, "invalid_request_error"),
    # Anthropic sends 529 with this type. A 503 says the same to every proxy on the way, and to the SDKs.
    Code.SHUTTING_DOWN: (503, "overloaded_error"),
    Code.ENGINE_LOADING: (503, "overloaded_error"),
    Code.ENGINE_CRASHED: (503, "overloaded_error"),
    Code.ENGINE_STOPPED: (503, "overloaded_error"),
    Code.ENGINE_TIMEOUT: (504, "timeout_error"),
    Code.ENGINE_PROTOCOL: (502, "api_error"),
    Code.INVALID_TOOL_CALL: (502, "api_error"),
}


def envelope(error: ServiceError, spelling: Mapping[str, str] = NO_SPELLING, *, request_id: str = "") -> JsonObject:
    """``{type: "error", error: {type, message}, request_id}``; a feature is named as this client spells it.

    ``details`` are added where they have an ``error_code``, by which the SDKs tell them apart.
    """
    shaped: dict[str, Json] = {
        "type": status_and_type(error, BY_KIND, BY_CODE)[1],
        "message": _message(error, spelling),
    }
    if error.details is not None and "error_code" in error.details:
        shaped["details"] = error.details
    return {"type": "error", "error": shaped, "request_id": request_id or None}


def reply(error: ServiceError, spelling: Mapping[str, str] = NO_SPELLING, *, request_id: str = "") -> ErrorReply:
    """The whole reply to a request that failed before its first byte."""
    status, _ = status_and_type(error, BY_KIND, BY_CODE)
    return ErrorReply(
        status=status, body=envelope(error, spelling, request_id=request_id), headers=reply_headers(error, status)
    )


def _message(error: ServiceError, spelling: Mapping[str, str]) -> str:
    """The envelope has no place for a field, so the message begins with it, as Anthropic's do."""
    if error.code is Code.CONTEXT_LENGTH_EXCEEDED:
        return _too_long(error)
    name = field_of(error, spelling)
    return error.message if name is None or name in error.message else f"{name}: {error.message}"


def _too_long(error: ServiceError) -> str:
    """In the words by which agents know that they must shorten the conversation, and by how much."""
    match error.details:
        case {"prompt_tokens": int(prompt), "context_length": int(limit), "requested_tokens": int(requested)} if (
            prompt < limit
        ):
            return f"input length and `max_tokens` exceed context limit: {prompt} + {requested} > {limit}"
        case {"prompt_tokens": int(prompt), "context_length": int(limit)}:
            # A prompt that fills the context leaves no room for an answer, and so is one token too long.
            return f"prompt is too long: {prompt} tokens > {min(limit, prompt - 1)} maximum"
        case _:
            return f"prompt is too long: {error.message}"
