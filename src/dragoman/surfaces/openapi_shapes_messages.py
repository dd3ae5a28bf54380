"""What Messages answers, as JSON Schemas: the ``message``, the named events of its stream, a count, and errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dragoman.core.json import JsonObject
from dragoman.surfaces.openapi_words import (
    COUNT,
    NOTHING,
    TEXT,
    array,
    closed,
    const,
    nullable,
    ref,
    tagged_union,
    words,
)

_TEXT_BLOCK: Final = closed({"type": const("text"), "text": TEXT})
_THINKING_BLOCK: Final = closed(
    {
        "type": const("thinking"),
        "thinking": {**TEXT, "description": "Empty with `display: omitted`."},
        "signature": {**TEXT, "description": "To be sent back as it is; it means nothing to clients."},
    }
)
_TOOL_USE_BLOCK: Final = closed({"type": const("tool_use"), "id": TEXT, "name": TEXT, "input": {"type": "object"}})
_BLOCK: Final[JsonObject] = {"anyOf": [_TEXT_BLOCK, _THINKING_BLOCK, _TOOL_USE_BLOCK]}

_STOP_REASON: Final = words("end_turn", "max_tokens", "stop_sequence", "tool_use", "model_context_window_exceeded")
_ENDING: Final[Mapping[str, JsonObject]] = {
    "stop_reason": _STOP_REASON,
    "stop_sequence": {**nullable(TEXT), "description": "The client's stop sequence that ended the answer."},
    "stop_details": NOTHING,
}
_UNFINISHED: Final[Mapping[str, JsonObject]] = dict.fromkeys(_ENDING, NOTHING)

_COUNTS: Final[Mapping[str, JsonObject]] = {
    "input_tokens": {**COUNT, "description": "Of the prompt, what was not read from the cache."},
    "cache_creation_input_tokens": {"type": "integer", "const": 0},
    "cache_read_input_tokens": COUNT,
    "output_tokens": COUNT,
    "output_tokens_details": closed({"thinking_tokens": COUNT}),
}
_USAGE: Final = closed(
    {
        **_COUNTS,
        "cache_creation": closed({"ephemeral_5m_input_tokens": COUNT, "ephemeral_1h_input_tokens": COUNT}),
        "service_tier": const("standard"),
        "server_tool_use": NOTHING,
        "inference_geo": NOTHING,
        "speed": NOTHING,
    }
)


def _message(content: JsonObject, ending: Mapping[str, JsonObject]) -> JsonObject:
    return closed(
        {
            "id": TEXT,
            "type": const("message"),
            "role": const("assistant"),
            "model": TEXT,
            "content": content,
            **ending,
            "container": NOTHING,
            "diagnostics": NOTHING,
            "usage": ref("MessageUsage"),
        }
    )


_DELTA: Final[JsonObject] = {
    "anyOf": [
        closed({"type": const("text_delta"), "text": TEXT}),
        closed({"type": const("thinking_delta"), "thinking": TEXT}),
        closed({"type": const("signature_delta"), "signature": TEXT}),
        closed({"type": const("input_json_delta"), "partial_json": TEXT}),
    ]
}

MESSAGE_EVENTS: Final[Mapping[str, JsonObject]] = {
    "message_start": closed({"message": _message(array({}, maxItems=0), _UNFINISHED)}),
    "content_block_start": closed({"index": COUNT, "content_block": _BLOCK}),
    "content_block_delta": closed({"index": COUNT, "delta": _DELTA}),
    "content_block_stop": closed({"index": COUNT}),
    "message_delta": closed({"delta": closed(_ENDING), "usage": closed(_COUNTS)}),
    "message_stop": closed({}),
    "ping": closed({}),
}
"""By type, which is their name, too. A stream that breaks ends with ``error`` in the place of ``message_stop``."""

MESSAGES_SHAPES: Final[Mapping[str, JsonObject]] = {
    "MessagesError": closed(
        {
            "type": const("error"),
            "error": closed(
                {"type": TEXT, "message": {"type": "string", "minLength": 1}},
                {"details": {"type": "object", "description": "With an `error_code`, where the SDKs know what to do."}},
            ),
            "request_id": nullable(TEXT),
        }
    ),
    "Message": _message(array(_BLOCK), _ENDING),
    "MessageUsage": _USAGE,
    "MessageTokens": closed({"input_tokens": COUNT}, {"context_management": NOTHING}),
    **tagged_union("MessageEvent", MESSAGE_EVENTS),
}
"""By name."""
