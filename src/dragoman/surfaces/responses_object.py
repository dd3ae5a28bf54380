"""The ``response`` object: what it was asked, how far it is, and why it ended.

The fields are those that OpenAI's types or Open Responses require, all of them in every state (wire.md 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from dragoman.core.errors import Code, InvalidRequest, Overloaded, ServiceError
from dragoman.core.events import FinishReason, Usage
from dragoman.core.json import Json, JsonObject
from dragoman.surfaces.base import Stamp

ResponseStatus: TypeAlias = Literal["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]


class ResponseObject:
    """One response. ``echo`` are the fields that repeat its request."""

    def __init__(self, stamp: Stamp, echo: JsonObject, *, queued: bool) -> None:
        self.id = f"resp_{stamp.id}"
        self.status: ResponseStatus = "queued" if queued else "in_progress"
        self._stamp = stamp
        self._echo = echo
        self._completed_at: int | None = None
        self._error: ServiceError | None = None
        self._reason: FinishReason | None = None
        self._usage: Usage | None = None

    def stop(self, reason: FinishReason) -> None:
        """No more output will come."""
        self._reason = reason

    def finish(self, usage: Usage, now: float) -> None:
        """The answer is over at this Unix time, in seconds: completed, or incomplete where the budget ended it."""
        self._usage = usage
        if self._reason is FinishReason.LENGTH:
            self.status = "incomplete"
        else:
            self.status = "completed"
            self._completed_at = int(now)

    def fail(self, error: ServiceError) -> None:
        """The answer broke."""
        self.status = "failed"
        self._error = error

    def cancel(self) -> None:
        """Somebody asked to stop."""
        self.status = "cancelled"

    def told(self, output: Sequence[JsonObject]) -> JsonObject:
        """The object now, with these items. ``completed_at`` is null unless it is completed, as OpenAI has it."""
        cut = self.status == "incomplete"
        return {
            "id": self.id,
            "object": "response",
            "created_at": self._stamp.created,
            **self._echo,
            "status": self.status,
            "completed_at": self._completed_at,
            "error": None if self._error is None else failure(self._error),
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "model": self._stamp.model,
            "output": output,
            "usage": None if self._usage is None else usage_object(self._usage),
        }


def usage_object(usage: Usage) -> JsonObject:
    """``usage`` with its details, which are present even at zero (S52, wire.md 0.9). Nothing is charged for what a cache is written."""
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }


def failure(error: ServiceError) -> JsonObject:
    """``error`` of a failed response: in OpenAI's closed list of codes, and the one beside it that clients act on."""
    return {"code": _code(error), "message": error.message}


def failed(body: JsonObject, message: str) -> JsonObject:
    """A response object on which nobody works any more, through no fault of the client: what it has is what there will be."""
    output = body["output"]
    items = [_left(item) for item in output] if isinstance(output, Sequence) else output
    return {**body, "status": "failed", "error": {"code": "server_error", "message": message}, "output": items}


def _left(item: Json) -> Json:
    return (
        {**item, "status": "incomplete"} if isinstance(item, Mapping) and item.get("status") == "in_progress" else item
    )


def _code(error: ServiceError) -> str:
    match error:
        case ServiceError(code=Code.CONTEXT_LENGTH_EXCEEDED | Code.INVALID_IMAGE | Code.IMAGE_TOO_LARGE):
            return error.code.value
        case InvalidRequest():
            return "invalid_prompt"
        case Overloaded():
            return "rate_limit_exceeded"
        case _:
            return "server_error"
