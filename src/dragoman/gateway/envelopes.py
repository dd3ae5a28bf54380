"""The envelope of an error that no surface has shaped: Anthropic's for its clients, OpenAI's for everybody else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.types import Scope

from dragoman.core.errors import ServiceError
from dragoman.gateway.middleware.request_id import request_id_of
from dragoman.surfaces import anthropic_errors, openai_errors
from dragoman.surfaces.base import ErrorReply
from dragoman.surfaces.error_replies import NO_SPELLING

BASE: Final = "/v1"
"""What every versioned route begins with."""

_MESSAGES: Final = f"{BASE}/messages"


def shaped(error: ServiceError, scope: Scope, spelling: Mapping[str, str] = NO_SPELLING) -> ErrorReply:
    """The error as the client of this request reads it (S117, S156)."""
    if is_anthropic(scope):
        return anthropic_errors.reply(error, spelling, request_id=request_id_of(scope))
    return openai_errors.reply(error, spelling)


def is_anthropic(scope: Scope) -> bool:
    """Whether the path is one of Messages, or the client has said which version of Anthropic's API it speaks."""
    path = without_doubled_base(scope["path"])
    if path == _MESSAGES or path.startswith(f"{_MESSAGES}/"):
        return True
    return any(name == b"anthropic-version" for name, _ in scope["headers"])


def without_doubled_base(path: str) -> str:
    """The path that was meant where both the base URL and the client have put ``/v1`` before it."""
    while path.startswith(f"{BASE}{BASE}/"):
        path = path.removeprefix(BASE)
    return path
