"""What Responses answers, as JSON Schemas: the ``response`` and its items, and what stands around them (conversations, lists, counts)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dragoman.core.json import JsonObject
from dragoman.surfaces.openapi_shapes_openai import CHAT_LOGPROB_ROWS
from dragoman.surfaces.openapi_words import (
    BOOLEAN,
    COUNT,
    TEXT,
    UNIX_SECONDS,
    array,
    closed,
    const,
    extended,
    nullable,
    ref,
    tagged_union,
    words,
)

_ITEM_STATUS: Final = words("in_progress", "completed", "incomplete")
_OUTPUT_TEXT: Final = closed(
    {
        "type": const("output_text"),
        "text": TEXT,
        "annotations": array({}, maxItems=0),
        "logprobs": CHAT_LOGPROB_ROWS,
    }
)
_REASONING_TEXT: Final = closed({"type": const("reasoning_text"), "text": TEXT})
_SUMMARY_TEXT: Final = closed({"type": const("summary_text"), "text": TEXT})
_CALLED: Final[Mapping[str, JsonObject]] = {"id": TEXT, "call_id": TEXT, "name": TEXT, "status": _ITEM_STATUS}
_NAMESPACE: Final[Mapping[str, JsonObject]] = {
    "namespace": {**TEXT, "description": "The namespace that the tool stands in, if any."}
}

_OUTPUT_ITEMS: Final[Mapping[str, JsonObject]] = {
    "message": closed(
        {"id": TEXT, "role": const("assistant"), "status": _ITEM_STATUS, "content": array(_OUTPUT_TEXT, maxItems=1)}
    ),
    "reasoning": closed(
        {"id": TEXT, "status": _ITEM_STATUS, "summary": array(_SUMMARY_TEXT, maxItems=1)},
        {
            "content": array(_REASONING_TEXT, maxItems=1),
            "encrypted_content": {**TEXT, "description": "To be sent back as it is; it means nothing to clients."},
        },
    ),
    "function_call": closed({**_CALLED, "arguments": {**TEXT, "description": "JSON."}}, _NAMESPACE),
    "custom_tool_call": closed({**_CALLED, "input": TEXT}, _NAMESPACE),
}
_AS_ASKED: Final[JsonObject] = {"type": "object", "description": "As the request had it."}

_USAGE: Final = closed(
    {
        "input_tokens": COUNT,
        "input_tokens_details": closed({"cached_tokens": COUNT, "cache_write_tokens": COUNT}),
        "output_tokens": COUNT,
        "output_tokens_details": closed({"reasoning_tokens": COUNT}),
        "total_tokens": COUNT,
    }
)

_RESPONSE: Final = closed(
    {
        "id": TEXT,
        "object": const("response"),
        "created_at": UNIX_SECONDS,
        "completed_at": nullable(UNIX_SECONDS),
        "status": words("queued", "in_progress", "completed", "incomplete", "failed", "cancelled"),
        "error": nullable(closed({"code": TEXT, "message": TEXT})),
        "incomplete_details": nullable(closed({"reason": const("max_output_tokens")})),
        "model": TEXT,
        "output": array(ref("OutputItem")),
        "usage": nullable(ref("ResponseUsage")),
        "background": BOOLEAN,
        "instructions": nullable(TEXT),
        "max_output_tokens": nullable(COUNT),
        "max_tool_calls": nullable(COUNT),
        "metadata": {"type": "object", "additionalProperties": TEXT},
        "parallel_tool_calls": BOOLEAN,
        "previous_response_id": nullable(TEXT),
        "prompt_cache_key": nullable(TEXT),
        "reasoning": closed({"effort": nullable(TEXT), "summary": nullable(TEXT)}),
        "safety_identifier": nullable(TEXT),
        "service_tier": const("default"),
        "store": BOOLEAN,
        "temperature": {"type": "number"},
        "text": closed({"format": _AS_ASKED}, {"verbosity": TEXT}),
        "tool_choice": {"anyOf": [words("auto", "none", "required"), _AS_ASKED]},
        "tools": array(_AS_ASKED),
        "top_logprobs": COUNT,
        "top_p": {"type": "number"},
        "presence_penalty": {"type": "number"},
        "frequency_penalty": {"type": "number"},
        "truncation": const("disabled"),
    },
    {"conversation": closed({"id": TEXT}), "user": TEXT},
)

_CONVERSATION: Final = closed(
    {
        "id": TEXT,
        "object": const("conversation"),
        "created_at": UNIX_SECONDS,
        "metadata": {"type": "object", "additionalProperties": TEXT},
    }
)
_KEPT_ITEM: Final[JsonObject] = {
    "type": "object",
    "properties": {"id": TEXT, "type": TEXT},
    "required": ["id", "type"],
    "description": "An item as it was sent or answered, with all that it must have.",
}


def _deleted(kind: str) -> JsonObject:
    return closed({"id": TEXT, "object": const(kind), "deleted": {"const": True}})


# --- events ----------------------------------------------------------------------------------------------------------

_STATE: Final = closed({"response": ref("Response")})
_PART_PLACE: Final[Mapping[str, JsonObject]] = {"item_id": TEXT, "output_index": COUNT}
_CONTENT: Final[Mapping[str, JsonObject]] = {**_PART_PLACE, "content_index": COUNT}
_SUMMARY: Final[Mapping[str, JsonObject]] = {**_PART_PLACE, "summary_index": COUNT}
_ROWS: Final[Mapping[str, JsonObject]] = {"logprobs": CHAT_LOGPROB_ROWS}
_ITEM: Final = closed({"output_index": COUNT, "item": ref("OutputItem")})
_CONTENT_PART: Final = closed({**_CONTENT, "part": {"anyOf": [_OUTPUT_TEXT, _REASONING_TEXT]}})


RESPONSE_EVENTS: Final[Mapping[str, JsonObject]] = {
    kind: extended(shape, {"sequence_number": COUNT})
    for kind, shape in {
        **dict.fromkeys(
            (
                "response.created",
                "response.queued",
                "response.in_progress",
                "response.completed",
                "response.incomplete",
                "response.failed",
            ),
            _STATE,
        ),
        "response.output_item.added": _ITEM,
        "response.output_item.done": _ITEM,
        "response.content_part.added": _CONTENT_PART,
        "response.content_part.done": _CONTENT_PART,
        "response.output_text.delta": closed({**_CONTENT, "delta": TEXT, **_ROWS}),
        "response.output_text.done": closed({**_CONTENT, "text": TEXT, **_ROWS}),
        "response.reasoning_text.delta": closed({**_CONTENT, "delta": TEXT}),
        "response.reasoning_text.done": closed({**_CONTENT, "text": TEXT}),
        "response.reasoning_summary_part.added": closed({**_SUMMARY, "part": _SUMMARY_TEXT}),
        "response.reasoning_summary_part.done": closed(
            {**_SUMMARY, "part": _SUMMARY_TEXT}, {"status": const("incomplete")}
        ),
        "response.reasoning_summary_text.delta": closed({**_SUMMARY, "delta": TEXT}),
        "response.reasoning_summary_text.done": closed({**_SUMMARY, "text": TEXT}),
        "response.function_call_arguments.delta": closed({**_PART_PLACE, "delta": TEXT}),
        "response.function_call_arguments.done": closed({**_PART_PLACE, "name": TEXT, "arguments": TEXT}),
        "response.custom_tool_call_input.delta": closed({**_PART_PLACE, "delta": TEXT}),
        "response.custom_tool_call_input.done": closed({**_PART_PLACE, "input": TEXT}),
        "error": closed({"message": TEXT, "param": nullable(TEXT), "code": TEXT, "error": ref("ErrorObject")}),
    }.items()
}
"""By type, which is their name, too."""

RESPONSES_SHAPES: Final[Mapping[str, JsonObject]] = {
    "Response": _RESPONSE,
    "ResponseUsage": _USAGE,
    **tagged_union("OutputItem", _OUTPUT_ITEMS),
    **tagged_union("ResponseEvent", RESPONSE_EVENTS),
    "ResponseDeleted": _deleted("response"),
    "ResponseTokens": closed({"object": const("response.input_tokens"), "input_tokens": COUNT}),
    "Compaction": closed(
        {
            "id": TEXT,
            "object": const("response.compaction"),
            "created_at": UNIX_SECONDS,
            "output": array(_KEPT_ITEM, minItems=1),
            "usage": ref("ResponseUsage"),
        }
    ),
    "Item": _KEPT_ITEM,
    "ItemList": closed(
        {
            "object": const("list"),
            "data": array(ref("Item")),
            "first_id": nullable(TEXT),
            "last_id": nullable(TEXT),
            "has_more": BOOLEAN,
        }
    ),
    "Conversation": _CONVERSATION,
    "ConversationDeleted": _deleted("conversation.deleted"),
}
"""By name."""
