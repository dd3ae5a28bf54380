"""JSON Schemas of every reply, as data: what the projectors and the small routes send, and nothing else.

Objects are closed: a key that is not written here, or a required one that is absent, is a mistake of the server. The tests hold
real answers against these shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dragoman.core.json import JsonObject

TEXT: Final[JsonObject] = {"type": "string"}
BOOLEAN: Final[JsonObject] = {"type": "boolean"}
COUNT: Final[JsonObject] = {"type": "integer", "minimum": 0}
TOKEN_ID: Final[JsonObject] = {"type": "integer", "minimum": 0}
UNIX_SECONDS: Final[JsonObject] = {"type": "integer", "minimum": 0, "description": "Unix time in seconds."}


def ref(name: str) -> JsonObject:
    """A reference to one of ``SHAPES``."""
    return {"$ref": f"#/components/schemas/{name}"}


def const(value: str) -> JsonObject:
    """One string and no other."""
    return {"type": "string", "const": value}


def closed(required: Mapping[str, JsonObject], optional: Mapping[str, JsonObject] | None = None) -> JsonObject:
    """An object with these keys and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def array(items: JsonObject, **bounds: int) -> JsonObject:
    """An array of equal things."""
    return {"type": "array", "items": items, **bounds}


def nullable(schema: JsonObject) -> JsonObject:
    """The same, or null."""
    kind = schema.get("type")
    if isinstance(kind, str) and "const" not in schema and "enum" not in schema:
        return {**schema, "type": [kind, "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def _words(*words: str) -> JsonObject:
    return {"type": "string", "enum": list(words)}


LOGPROB: Final[JsonObject] = {
    "type": ["number", "null"],
    "maximum": 0,
    "description": "Natural logarithm of the probability; null where it is not finite, or where nothing precedes (S78, S81).",
}
BYTES: Final = array({"type": "integer", "minimum": 0, "maximum": 255})
FINISH: Final = _words("stop", "length")
CHAT_FINISH: Final = _words("stop", "length", "tool_calls", "function_call")
STOP_REASON: Final[JsonObject] = {
    "type": ["string", "integer", "null"],
    "description": "The client's stop string, or the id of the stop token, that ended the answer.",
}
PROMPT_LOGPROBS: Final = array(
    nullable(
        {
            "type": "object",
            "additionalProperties": closed(
                {
                    "logprob": LOGPROB,
                    "rank": {"type": ["integer", "null"], "minimum": 1},
                    "decoded_token": nullable(TEXT),
                }
            ),
        }
    )
)

USAGE: Final = closed(
    {
        "prompt_tokens": COUNT,
        "completion_tokens": COUNT,
        "total_tokens": COUNT,
        "prompt_tokens_details": closed({"cached_tokens": COUNT}),
        "completion_tokens_details": closed({"reasoning_tokens": COUNT}),
    }
)

CHAT_TOKEN: Final = {"token": TEXT, "logprob": LOGPROB, "bytes": BYTES}
CHAT_LOGPROBS: Final = closed(
    {
        "content": array(closed({**CHAT_TOKEN, "top_logprobs": array(closed(CHAT_TOKEN))})),
        "refusal": {"type": "null"},
    }
)
COMPLETION_LOGPROBS: Final = closed(
    {
        "tokens": array(TEXT),
        "token_logprobs": array(LOGPROB),
        "top_logprobs": array(nullable({"type": "object", "additionalProperties": LOGPROB})),
        "text_offset": array(COUNT),
    }
)

_HEAD: Final[Mapping[str, JsonObject]] = {
    "id": TEXT,
    "created": UNIX_SECONDS,
    "model": TEXT,
    "system_fingerprint": {
        **nullable(TEXT),
        "description": "What the numbers depend on: weights, build, settings (S51).",
    },
}
_OF_A_PROMPT: Final = {"prompt_logprobs": PROMPT_LOGPROBS, "prompt_token_ids": array(TOKEN_ID)}
_IDS: Final = {"token_ids": array(TOKEN_ID)}
_STOPPED: Final = {"stop_reason": STOP_REASON}
_REASONING: Final = {"reasoning_content": TEXT, "reasoning": TEXT}
"""One of them, or both, as the server was told with ``--reasoning-field``."""

_CALLED: Final = closed(
    {"name": TEXT, "arguments": {**TEXT, "description": "JSON; a beginning of it where the budget cut the call."}}
)
_FUNCTION_CALL: Final = {"function_call": _CALLED}
TOOL_CALL: Final = closed({"id": TEXT, "type": const("function"), "function": _CALLED})
TOOL_CALL_BEGUN: Final = closed({"index": COUNT, "id": TEXT, "type": const("function"), "function": _CALLED})
TOOL_CALL_GROWN: Final = closed({"index": COUNT, "function": closed({"arguments": TEXT})})

CHAT_MESSAGE: Final = closed(
    {
        "role": const("assistant"),
        "content": {**nullable(TEXT), "description": "Null where the model called tools and said nothing."},
        "refusal": {"type": "null"},
        "annotations": array({}, maxItems=0),
    },
    {**_REASONING, "tool_calls": array(TOOL_CALL, minItems=1), **_FUNCTION_CALL},
)
CHAT_DELTA: Final = closed(
    {},
    {
        "role": const("assistant"),
        "content": TEXT,
        "refusal": {"type": "null"},
        **_REASONING,
        "tool_calls": array({"anyOf": [TOOL_CALL_BEGUN, TOOL_CALL_GROWN]}, minItems=1, maxItems=1),
        "function_call": {"anyOf": [_CALLED, closed({"arguments": TEXT})]},
    },
)
_CHAT: Final = {"index": COUNT, "logprobs": nullable(ref("ChatLogprobs"))}
_COMPLETION: Final = {"index": COUNT, "text": TEXT, "logprobs": nullable(ref("CompletionLogprobs"))}
_CHUNK_USAGE: Final = {"usage": nullable(ref("Usage"))}

MODEL: Final = closed(
    {
        "id": TEXT,
        "object": const("model"),
        "created": UNIX_SECONDS,
        "owned_by": TEXT,
        "type": const("model"),
        "display_name": TEXT,
        "created_at": {"type": "string", "format": "date-time"},
        "lifecycle": const("active"),
        "max_input_tokens": COUNT,
        "root": TEXT,
        "max_model_len": COUNT,
        "context_length": COUNT,
        "input_modalities": array(_words("text"), minItems=1),
    }
)

SHAPES: Final[Mapping[str, JsonObject]] = {
    "Error": closed(
        {
            "error": closed(
                {
                    "message": {"type": "string", "minLength": 1},
                    "type": TEXT,
                    "param": {**nullable(TEXT), "description": "The field at fault, as the client spelled it."},
                    "code": {"type": "string", "description": "For programs; it does not change."},
                }
            )
        }
    ),
    "Usage": USAGE,
    "ChatLogprobs": CHAT_LOGPROBS,
    "CompletionLogprobs": COMPLETION_LOGPROBS,
    "ChatCompletion": closed(
        {
            "object": const("chat.completion"),
            **_HEAD,
            "choices": array(
                closed({**_CHAT, "message": CHAT_MESSAGE, "finish_reason": CHAT_FINISH, **_STOPPED}, _IDS), minItems=1
            ),
            "usage": ref("Usage"),
        },
        _OF_A_PROMPT,
    ),
    "ChatCompletionChunk": closed(
        {
            "object": const("chat.completion.chunk"),
            **_HEAD,
            "choices": array(
                closed({**_CHAT, "delta": CHAT_DELTA, "finish_reason": nullable(CHAT_FINISH)}, {**_STOPPED, **_IDS})
            ),
        },
        {**_CHUNK_USAGE, **_OF_A_PROMPT},
    ),
    "Completion": closed(
        {
            "object": const("text_completion"),
            **_HEAD,
            "choices": array(
                closed({**_COMPLETION, "finish_reason": FINISH, **_STOPPED}, {**_IDS, **_OF_A_PROMPT}), minItems=1
            ),
            "usage": ref("Usage"),
        }
    ),
    "CompletionChunk": closed(
        {
            "object": const("text_completion"),
            **_HEAD,
            "choices": array(
                closed({**_COMPLETION, "finish_reason": nullable(FINISH)}, {**_STOPPED, **_IDS, **_OF_A_PROMPT})
            ),
        },
        _CHUNK_USAGE,
    ),
    "Model": MODEL,
    "ModelList": closed(
        {
            "object": const("list"),
            "data": array(ref("Model")),
            "first_id": nullable(TEXT),
            "last_id": nullable(TEXT),
            "has_more": BOOLEAN,
            "models": array(
                closed({"name": TEXT, "description": TEXT, "release_date": {"type": "string", "format": "date"}})
            ),
        }
    ),
    "Tokens": closed({"count": COUNT, "max_model_len": COUNT, "tokens": array(TOKEN_ID)}, {"token_strs": array(TEXT)}),
    "Text": closed({"prompt": TEXT}),
    "Health": closed(
        {"status": TEXT},
        {
            "cause": nullable(TEXT),
            "version": TEXT,
            "model": TEXT,
            "active": COUNT,
            "queued": COUNT,
            "completed": COUNT,
            "rejected": COUNT,
            "failed": COUNT,
        },
    ),
    "Version": closed({"version": TEXT}, {"name": TEXT}),
}
"""The components of the document, by name."""
