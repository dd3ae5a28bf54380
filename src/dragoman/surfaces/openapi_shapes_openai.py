"""What Chat Completions and Completions answer, as JSON Schemas: the objects, and the chunks of their streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dragoman.core.json import JsonObject
from dragoman.surfaces.openapi_words import (
    COUNT,
    NOTHING,
    TEXT,
    TOKEN_ID,
    UNIX_SECONDS,
    array,
    closed,
    const,
    nullable,
    ref,
    words,
)

LOGPROB: Final[JsonObject] = {
    "type": ["number", "null"],
    "maximum": 0,
    "description": "Natural logarithm of the probability; null where it is not finite, or where nothing precedes (S78, S81).",
}
BYTES: Final = array({"type": "integer", "minimum": 0, "maximum": 255})
FINISH: Final = words("stop", "length")
CHAT_FINISH: Final = words("stop", "length", "tool_calls", "function_call")
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
CHAT_LOGPROB_ROWS: Final = array(closed({**CHAT_TOKEN, "top_logprobs": array(closed(CHAT_TOKEN))}))
CHAT_LOGPROBS: Final = closed(
    {
        "content": CHAT_LOGPROB_ROWS,
        "refusal": NOTHING,
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
        "refusal": NOTHING,
        "annotations": array({}, maxItems=0),
    },
    {**_REASONING, "tool_calls": array(TOOL_CALL, minItems=1), **_FUNCTION_CALL},
)
CHAT_DELTA: Final = closed(
    {},
    {
        "role": const("assistant"),
        "content": TEXT,
        "refusal": NOTHING,
        **_REASONING,
        "tool_calls": array({"anyOf": [TOOL_CALL_BEGUN, TOOL_CALL_GROWN]}, minItems=1, maxItems=1),
        "function_call": {"anyOf": [_CALLED, closed({"arguments": TEXT})]},
    },
)
_CHAT: Final = {"index": COUNT, "logprobs": nullable(ref("ChatLogprobs"))}
_COMPLETION: Final = {"index": COUNT, "text": TEXT, "logprobs": nullable(ref("CompletionLogprobs"))}
_CHUNK_USAGE: Final = {"usage": nullable(ref("Usage"))}

OPENAI_SHAPES: Final[Mapping[str, JsonObject]] = {
    "Error": closed({"error": ref("ErrorObject")}),
    "ErrorObject": closed(
        {
            "message": {"type": "string", "minLength": 1},
            "type": TEXT,
            "param": {**nullable(TEXT), "description": "The field at fault, as the client spelled it."},
            "code": {"type": "string", "description": "For programs; it does not change."},
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
}
"""By name."""
