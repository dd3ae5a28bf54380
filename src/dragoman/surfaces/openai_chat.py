"""OpenAI Chat Completions: the table of its fields, and what they become."""

from __future__ import annotations

from typing import Final

from dragoman.core.errors import Code, ServiceError
from dragoman.core.json import Json, JsonObject
from dragoman.core.limits import MAX_TOP_LOGPROBS
from dragoman.core.request import Generate
from dragoman.surfaces import openai_errors
from dragoman.surfaces.base import Call, ErrorReply, Stamp
from dragoman.surfaces.fields import Form, Table, honoured, ignored, refused
from dragoman.surfaces.openai_chat_projector import ChatProjector
from dragoman.surfaces.openai_conversation import CONVERSATION, CONVERSATION_SPELLING, conversation
from dragoman.surfaces.openai_fields import (
    BUDGET,
    CACHE_SLOT,
    MAX_TOKENS_FIELD,
    MODEL,
    REQUEST_ID,
    SHARED,
    STREAM,
    STREAM_OPTIONS,
    limits,
    sampling,
)
from dragoman.surfaces.openai_messages import MESSAGES
from dragoman.surfaces.openai_stream import KEEPALIVE
from dragoman.surfaces.readers import BOOLEAN, TEXT, Place, Reader, array, integer

_MODALITIES: Final = array(TEXT, at_least=1, of="strings")


def _modalities(value: Json, at: Place) -> Json:
    return list(_MODALITIES.read(value, at))


MAX_COMPLETION_TOKENS: Final = honoured(
    "max_completion_tokens", BUDGET, "As `max_tokens`, and wins over it; absent means the rest of the context."
)

_NO_TOOLS: Final = "calls to tools are not made yet"
_NO_TEMPLATE_ARGS: Final = "the chat template cannot be steered yet"
_NO_REASONING: Final = "reasoning cannot be steered yet"
_BOOKKEEPING: Final = "Bookkeeping of OpenAI's platform (S46)."
_CACHE_HINT: Final = "Prompts share their cached prefixes without a hint."

FIELDS: Final = Table(
    MESSAGES,
    MAX_COMPLETION_TOKENS,
    MAX_TOKENS_FIELD,
    *CONVERSATION,
    *SHARED,
    ignored("store", _BOOKKEEPING),
    ignored("metadata", _BOOKKEEPING),
    ignored("service_tier", _BOOKKEEPING),
    ignored("safety_identifier", _BOOKKEEPING),
    ignored("moderation", _BOOKKEEPING),
    ignored("prompt_cache_key", _CACHE_HINT),
    ignored("prompt_cache_options", _CACHE_HINT),
    ignored("prompt_cache_retention", _CACHE_HINT),
    ignored("parallel_tool_calls", "No calls are made yet."),
    ignored("verbosity", "Tell the model in a message."),
    ignored("web_search_options", "The server searches nothing."),
    ignored(
        "top_logprobs",
        "Checked all the same; it needs `logprobs` (S72).",
        integer(0, MAX_TOP_LOGPROBS),
    ),
    refused("logprobs", "log probabilities are not read out yet", False, reader=BOOLEAN),
    refused("echo", "there is no raw prompt to echo (S73)", False, reader=BOOLEAN),
    refused(
        "modalities", "only text", ["text"], reader=Reader(_MODALITIES.wants, _modalities), code=Code.UNSUPPORTED_VALUE
    ),
    refused("audio", "only text is supported"),
    refused("prediction", "tokens are not predicted"),
    refused("tools", _NO_TOOLS, []),
    refused("tool_choice", _NO_TOOLS, "none", "auto", code=Code.UNSUPPORTED_VALUE),
    refused("functions", _NO_TOOLS, []),
    refused("function_call", _NO_TOOLS, "none", "auto", code=Code.UNSUPPORTED_VALUE),
    refused("include_reasoning", _NO_REASONING, True),
    refused("thinking_token_budget", _NO_REASONING),
    refused("chat_template", "a template comes from the model, not from a request"),
    refused("add_special_tokens", _NO_TEMPLATE_ARGS, False),
    refused("documents", _NO_TEMPLATE_ARGS, []),
)


class ChatCompletions:
    """``POST /v1/chat/completions``."""

    name: Final = "chat"
    keepalive: Final = KEEPALIVE

    def parse(self, body: JsonObject, *, strict: bool = False) -> Call:
        """Read a body. Raises ``InvalidRequest`` naming the field; ``strict`` refuses unknown fields, too."""
        form = Form(body, FIELDS, Place(strict=strict))
        budget_field, max_tokens = MAX_TOKENS_FIELD, form.read(MAX_TOKENS_FIELD, None)
        preferred = form.read(MAX_COMPLETION_TOKENS, None)
        if preferred is not None:
            budget_field, max_tokens = MAX_COMPLETION_TOKENS, preferred
            form.ignore(MAX_TOKENS_FIELD)
        operation = Generate(
            prompt=conversation(form),
            model=form.read(MODEL, None),
            sampling=sampling(form),
            limits=limits(form, max_tokens),
            cache_slot=form.read(CACHE_SLOT, None),
        )
        return Call(
            operation=operation,
            stream=form.read(STREAM, False),
            include_usage=form.read(STREAM_OPTIONS, False),
            request_id=form.read(REQUEST_ID, None),
            spelling={**CONVERSATION_SPELLING, "prompt": MESSAGES.name, "output_budget": budget_field.name},
            ignored=form.ignored,  # last: reading is what fills it
        )

    def projector(self, call: Call, stamp: Stamp) -> ChatProjector:
        """A new projector for one answer."""
        return ChatProjector(call, stamp)

    def error(self, error: ServiceError, call: Call | None = None) -> ErrorReply:
        """OpenAI's envelope, status and headers."""
        return openai_errors.reply(error, call)
