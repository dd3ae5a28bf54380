"""Everything that can go wrong for a client, as one tree. No HTTP status: a surface maps kinds to its own.

ServiceError
├── InvalidRequest     the client's input is wrong; ``feature`` or ``param`` says where
│   └── Unsupported    well-formed, but this server, engine or model can not do it
├── Unauthorized       no key, or a wrong one
├── Forbidden          this host or origin may not call
├── NotFound           no such model, route or object
├── Conflict           it contradicts what was said before, or what goes on now
├── TooLarge           the body exceeds a limit
├── Overloaded         try again after ``retry_after`` seconds
├── Cancelled          the client went away, or asked to stop
├── EngineFailed       the engine died, refused to start, or broke the protocol
└── Internal           our own mistake
"""

from __future__ import annotations

from enum import StrEnum

from dragoman.core.json import JsonObject


class Code(StrEnum):
    """Machine-readable causes. Clients match on the spelling, so a test pins it."""

    INVALID_VALUE = "invalid_value"
    INVALID_JSON = "invalid_json"
    MISSING_FIELD = "missing_required_parameter"
    UNKNOWN_FIELD = "unknown_parameter"
    UNSUPPORTED_FIELD = "unsupported_parameter"
    UNSUPPORTED_VALUE = "unsupported_value"
    CONTEXT_LENGTH_EXCEEDED = "context_length_exceeded"
    BATCH_TOO_LONG = "prompt_batch_cap_exceeded"
    BATCH_PROMPT_TOKENS = "prompt_batch_token_budget_exceeded"
    BATCH_COMPLETION_TOKENS = "batch_completion_budget_exceeded"
    TEMPLATE_FAILED = "chat_template_error"
    INVALID_API_KEY = "invalid_api_key"
    FORBIDDEN_HOST = "forbidden"
    MODEL_NOT_FOUND = "model_not_found"
    RESPONSE_NOT_FOUND = "response_not_found"
    PREVIOUS_RESPONSE_NOT_FOUND = "previous_response_not_found"
    CONVERSATION_NOT_FOUND = "conversation_not_found"
    ITEM_NOT_FOUND = "item_not_found"
    CONNECTION_LIMIT_REACHED = "websocket_connection_limit_reached"
    THREAD_UNSUPPORTED = "thread_unsupported_request"
    IDEMPOTENCY_MISMATCH = "idempotency_key_reused"
    INVALID_IMAGE = "invalid_image"
    IMAGE_TOO_LARGE = "image_too_large"
    ROUTE_NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    BODY_TOO_LARGE = "request_too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    QUEUE_FULL = "queue_full"
    QUEUE_TIMEOUT = "queue_timeout"
    SHUTTING_DOWN = "shutting_down"
    CANCELLED = "cancelled"
    ENGINE_LOADING = "engine_loading"
    ENGINE_CRASHED = "engine_crashed"
    ENGINE_STOPPED = "engine_stopped"
    ENGINE_PROTOCOL = "engine_protocol_error"
    ENGINE_TIMEOUT = "engine_accept_timeout"
    ENGINE_ERROR = "engine_error"
    ENGINE_LOGPROB_TAIL = "engine_logprob_tail_malformed"
    ENGINE_ECHO_POSITION = "engine_echo_position_malformed"
    ENGINE_LOGPROB_CANDIDATE = "engine_duplicate_logprob_candidate"
    ENGINE_LOGPROB_RECORDS = "engine_logprob_records_incomplete"
    ENGINE_ORDER = "engine_order_violation"
    INVALID_TOOL_CALL = "invalid_model_tool_call"
    ENGINE_FRAME = "engine_frame_malformed"
    INTERNAL = "internal_error"


class ServiceError(Exception):
    """A named failure. ``message`` is for people; ``code`` for programs.

    ``feature`` names what failed in our own words (``output_budget``, ``prompt``), for errors raised below the
    surfaces, which map it to their own field; ``param`` is a field as the client spelled it. ``details`` are for programs that can
    do something about it, where a contract has a place for them.
    """

    def __init__(
        self,
        message: str,
        *,
        code: Code,
        feature: str | None = None,
        param: str | None = None,
        retry_after: int | None = None,
        details: JsonObject | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.feature = feature
        self.param = param
        self.retry_after = retry_after
        self.details = details


class InvalidRequest(ServiceError):
    """The client's input is wrong."""


class Unsupported(InvalidRequest):
    """Well-formed input that asks for what can not be done here."""


class Unauthorized(ServiceError):
    """No key, or a wrong one."""


class Forbidden(ServiceError):
    """This host or origin may not call."""


class NotFound(ServiceError):
    """No such model, route or object."""


class Conflict(ServiceError):
    """It contradicts what was said before, or what goes on now."""


class TooLarge(ServiceError):
    """The body exceeds a limit."""


class Overloaded(ServiceError):
    """No room now; the client should try again after ``retry_after`` seconds."""


class Cancelled(ServiceError):
    """The client went away, or asked to stop."""


class EngineFailed(ServiceError):
    """The engine died, refused to start, or broke the protocol."""


class Internal(ServiceError):
    """Our own mistake."""
