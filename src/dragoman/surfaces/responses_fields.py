"""The fields of the three bodies of the Responses surface: what is asked for, what it would cost, what shall be made short.

Sources: OpenAI's API description and its SDK's types, Open Responses, what Codex sends, and the extensions that Chat Completions has.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dragoman.core.errors import Code
from dragoman.core.json import Json
from dragoman.surfaces.fields import Disposition, Field, Table, honoured, ignored, record, refused
from dragoman.surfaces.openai_chat import STRICT_TOOL_CALLS
from dragoman.surfaces.openai_conversation import (
    CHAT_TEMPLATE_KWARGS,
    ENABLE_THINKING,
    PRESERVE_THINKING,
    THINKING_BUDGET_TOKENS,
    THINKING_TOKEN_BUDGET,
)
from dragoman.surfaces.openai_fields import CACHE_SLOT, MODEL
from dragoman.surfaces.openai_limits import BUDGET, LIMITS, LIMITS_SPELLING
from dragoman.surfaces.openai_sampling import SAMPLING
from dragoman.surfaces.readers import BOOLEAN, OBJECT, PROMPT_TEXT, TEXT, Place, Reader, integer, text, word
from dragoman.surfaces.responses_items import INPUTS
from dragoman.surfaces.responses_reasoning import INCLUDE, REASONING
from dragoman.surfaces.responses_text import TEXT_FIELD
from dragoman.surfaces.responses_tool_choice import TOOL_CHOICE
from dragoman.surfaces.responses_tools import TOOLS

_MAX_PAIRS: Final = 16
_KEY: Final = text(1, 64)
_VALUE: Final = text(0, 512)
"""Of metadata; the three numbers are OpenAI's."""

_MAX_TOP_LOGPROBS: Final = 20
"""OpenAI's."""


def _metadata(value: Json, at: Place) -> dict[str, str]:
    pairs = OBJECT.read(value, at)
    if len(pairs) > _MAX_PAIRS:
        raise at.wrong(f"{at.path} holds {len(pairs)} pairs; at most {_MAX_PAIRS} are taken")
    return {_KEY.read(key, at.child(key)): _VALUE.read(entry, at.child(key)) for key, entry in pairs.items()}


def _conversation(value: Json, at: Place) -> str:
    return TEXT.read(value, at) if isinstance(value, str) else _CONVERSATION.read(value, at)


_ID: Final = honoured("id", TEXT, "Of a conversation.", required=True)
_CONVERSATION: Final = record(Table(_ID), lambda form: form.require(_ID))

INPUT: Final = honoured(
    "input", INPUTS, "What the user says, or items; see below. May be left out where a turn before is gone on from."
)
INSTRUCTIONS: Final = honoured(
    "instructions",
    PROMPT_TEXT,
    "A system message before all others; it does not carry over to a response that goes on from this one.",
)
PREVIOUS: Final = honoured(
    "previous_response_id", TEXT, "The response that this one goes on from; its items come before the input (S144)."
)
CONVERSATION: Final = honoured(
    "conversation",
    Reader(
        "the id of a conversation, or an object with it",
        _conversation,
        {"anyOf": [{"type": "string"}, _CONVERSATION.schema]},
    ),
    "Its items come before the input, and input and answer are added to it; not beside `previous_response_id`.",
)
STORE: Final = honoured("store", BOOLEAN, "Default true: the response can be asked for later, and gone on from.")
BACKGROUND: Final = honoured("background", BOOLEAN, "Answer while nobody listens; needs `store`.")
STREAM: Final = honoured("stream", BOOLEAN, "Server-sent events in place of one object.")
GENERATE: Final = honoured(
    "generate", BOOLEAN, "Over a WebSocket: with false the prompt is read ahead, and not answered."
)
EVENT_TYPE: Final = honoured("type", word("response.create"), "Of a message over a WebSocket.")

MAX_OUTPUT_TOKENS: Final = honoured(
    "max_output_tokens", BUDGET, "A ceiling on generated tokens, reasoning included; 0 generates none (S22, S23)."
)
MAX_TOKENS: Final = honoured("max_tokens", BUDGET, "Another name for `max_output_tokens`, which wins.")
TOP_LOGPROBS: Final = honoured(
    "top_logprobs",
    integer(0, _MAX_TOP_LOGPROBS),
    "So many of the likeliest tokens at each place; default 0. It has no effect unless `include` asks for log-probabilities.",
)
PARALLEL_TOOL_CALLS: Final = honoured(
    "parallel_tool_calls", BOOLEAN, "Default true; with false there is at most one call (S127)."
)
MAX_TOOL_CALLS: Final = Field(
    name="max_tool_calls",
    disposition=Disposition.IGNORED,
    note="Repeated in the response. It bounds calls of OpenAI's own tools, which are not run here.",
    reader=integer(0, 2**31 - 1),
)
METADATA: Final = honoured(
    "metadata",
    Reader(
        "an object of strings",
        _metadata,
        {
            "type": "object",
            "maxProperties": _MAX_PAIRS,
            "propertyNames": {"minLength": 1, "maxLength": 64},
            "additionalProperties": _VALUE.schema,
        },
    ),
    "Repeated in the response: up to 16 strings of up to 512 characters, by keys of up to 64.",
)
SAFETY_IDENTIFIER: Final = honoured("safety_identifier", TEXT, "Repeated in the response.")
PROMPT_CACHE_KEY: Final = honoured(
    "prompt_cache_key", TEXT, "Repeated in the response. Prompts share their cached prefixes without it."
)
USER: Final = honoured("user", TEXT, "Repeated in the response (S46).")

_PLATFORM: Final = "Bookkeeping of OpenAI's platform (S46)."
_CACHE_HINT: Final = "Prompts share their cached prefixes without a hint."
_ONE_PLACE: Final = "send `text.format`"

_PROMPT: Final = (
    MODEL,
    INPUT,
    INSTRUCTIONS,
    PREVIOUS,
    CONVERSATION,
    TOOLS,
    TOOL_CHOICE,
    PARALLEL_TOOL_CALLS,
    REASONING,
)
_OURS: Final = (
    CHAT_TEMPLATE_KWARGS,
    ENABLE_THINKING,
    PRESERVE_THINKING,
    THINKING_TOKEN_BUDGET,
    THINKING_BUDGET_TOKENS,
)
TRUNCATION: Final = refused(
    "truncation",
    "a conversation is never cut: one that does not fit is an error; make it short with `/v1/responses/compact`",
    "disabled",
    reader=TEXT,
    code=Code.UNSUPPORTED_VALUE,
)

FIELDS: Final = Table(
    *_PROMPT,
    TEXT_FIELD,
    INCLUDE,
    TOP_LOGPROBS,
    MAX_OUTPUT_TOKENS,
    MAX_TOKENS,
    MAX_TOOL_CALLS,
    STREAM,
    STORE,
    BACKGROUND,
    METADATA,
    SAFETY_IDENTIFIER,
    PROMPT_CACHE_KEY,
    USER,
    GENERATE,
    EVENT_TYPE,
    *SAMPLING,
    *LIMITS,
    *_OURS,
    STRICT_TOOL_CALLS,
    CACHE_SLOT,
    TRUNCATION,
    ignored("stream_options", "No padding is sent, and usage always is.", OBJECT),
    ignored("service_tier", "There is one.", TEXT),
    ignored("moderation", _PLATFORM),
    ignored("access_programs", _PLATFORM),
    ignored("background_options", "Background answers begin as soon as there is room."),
    ignored("client_metadata", "Bookkeeping of Codex."),
    ignored("context_management", "Make a conversation short with `/v1/responses/compact`."),
    ignored("image", "A picture is seen as it is."),
    ignored("prompt_cache_options", _CACHE_HINT),
    ignored("prompt_cache_retention", _CACHE_HINT),
    refused("prompt", "templates are kept by the client: send `instructions` and `input`"),
    refused("messages", "send `input`"),
    refused("functions", "send `tools`"),
    refused("reasoning_effort", "send `reasoning.effort`"),
    refused("max_completion_tokens", "send `max_output_tokens`"),
    refused("response_format", _ONE_PLACE),
    refused("structured_outputs", _ONE_PLACE),
    refused("logprobs", "send `include` with `message.output_text.logprobs`", False),
    refused("n", "a response is one answer", 1),
)

COUNT_FIELDS: Final = Table(
    *_PROMPT,
    TEXT_FIELD,
    *_OURS,
    TRUNCATION,
    ignored("personality", "Tell the model in `instructions`."),
)

COMPACT_FIELDS: Final = Table(
    MODEL,
    INPUT,
    INSTRUCTIONS,
    PREVIOUS,
    ignored("image", "A picture is seen as it is."),
    ignored("prompt_cache_key", _CACHE_HINT, TEXT),
    ignored("prompt_cache_options", _CACHE_HINT),
    ignored("prompt_cache_retention", _CACHE_HINT),
    ignored("service_tier", "There is one.", TEXT),
)

SPELLING: Final[Mapping[str, str]] = MappingProxyType(
    {
        **LIMITS_SPELLING,
        "prompt": INPUT.name,
        "ids": INPUT.name,
        "messages": INPUT.name,
        "images": INPUT.name,
        "tools": TOOLS.name,
        "tool_choice": TOOL_CHOICE.name,
        "output": "text.format",
        "logprobs": INCLUDE.name,
        "template_args": CHAT_TEMPLATE_KWARGS.name,
        "reasoning_effort": "reasoning.effort",
        "thinking_budget": THINKING_TOKEN_BUDGET.name,
    }
)
"""The fields behind those features that have other names below the surfaces."""
