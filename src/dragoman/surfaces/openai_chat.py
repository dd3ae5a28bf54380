"""OpenAI Chat Completions: the table of its fields, and what they become."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dragoman.core.errors import Code, ServiceError
from dragoman.core.json import Json, JsonObject
from dragoman.core.limits import MAX_TOP_LOGPROBS
from dragoman.core.request import Generate
from dragoman.surfaces import openai_errors
from dragoman.surfaces.base import Call, ErrorReply, Stamp
from dragoman.surfaces.error_replies import NO_SPELLING
from dragoman.surfaces.fields import Form, Table, honoured, ignored, refused
from dragoman.surfaces.openai_chat_choice import ReasoningField
from dragoman.surfaces.openai_chat_projector import ChatProjector
from dragoman.surfaces.openai_choices import choices
from dragoman.surfaces.openai_conversation import (
    CONTINUE_FINAL_MESSAGE,
    CONVERSATION,
    CONVERSATION_SPELLING,
    conversation,
)
from dragoman.surfaces.openai_fields import CACHE_SLOT, MODEL, REQUEST_ID, SHARED, SHARED_SPELLING, streaming
from dragoman.surfaces.openai_formats import output_format
from dragoman.surfaces.openai_limits import BUDGET, MAX_TOKENS_FIELD, limits
from dragoman.surfaces.openai_messages import MESSAGES
from dragoman.surfaces.openai_readout import readout
from dragoman.surfaces.openai_sampling import sampling, sampling_spelling
from dragoman.surfaces.openai_tool_choice import Tooling, tooling
from dragoman.surfaces.readers import BOOLEAN, TEXT, Place, Reader, array, integer

_MODALITIES: Final = array(TEXT, at_least=1, of="strings")


def _modalities(value: Json, at: Place) -> Json:
    return list(_MODALITIES.read(value, at))


MAX_COMPLETION_TOKENS: Final = honoured(
    "max_completion_tokens", BUDGET, "As `max_tokens`, and wins over it; absent means the rest of the context."
)
LOGPROBS: Final = honoured("logprobs", BOOLEAN, "Default false; with true the log-probability of each token (S71).")
TOP_LOGPROBS: Final = honoured(
    "top_logprobs",
    integer(0, MAX_TOP_LOGPROBS),
    "So many of the likeliest tokens at each place; default 0. Without `logprobs` it is checked and has no effect (S72).",
)
STRICT_TOOL_CALLS: Final = honoured(
    "strict_tool_calls",
    BOOLEAN,
    "Default false; with true a call that is cut, or not what its tool's schema allows, fails the answer with `invalid_model_tool_call` "
    "(S123).",
)

_OWN_WAY: Final = "pictures are read in the model's own way"
_BOOKKEEPING: Final = "Bookkeeping of OpenAI's platform (S46)."
_CACHE_HINT: Final = "Prompts share their cached prefixes without a hint."
_ALWAYS_APART: Final = "reasoning is sent as it comes, apart from the content"

FIELDS: Final = Table(
    MESSAGES,
    MAX_COMPLETION_TOKENS,
    MAX_TOKENS_FIELD,
    LOGPROBS,
    TOP_LOGPROBS,
    *CONVERSATION,
    STRICT_TOOL_CALLS,
    *SHARED,
    ignored("store", _BOOKKEEPING),
    ignored("metadata", _BOOKKEEPING),
    ignored("service_tier", _BOOKKEEPING),
    ignored("safety_identifier", _BOOKKEEPING),
    ignored("moderation", _BOOKKEEPING),
    ignored("prompt_cache_key", _CACHE_HINT),
    ignored("prompt_cache_options", _CACHE_HINT),
    ignored("prompt_cache_retention", _CACHE_HINT),
    ignored("prediction", "It could make an answer faster, not another one."),
    ignored("audio", "Of spoken answers, which `modalities` cannot ask for."),
    ignored("verbosity", "Tell the model in a message."),
    ignored("web_search_options", "The server searches nothing."),
    ignored("reasoning", "Send `reasoning_effort`."),
    ignored("thinking", "Send `enable_thinking`."),
    refused("echo", "there is no raw prompt to echo (S73)", False, reader=BOOLEAN),
    refused(
        "modalities",
        "only text",
        ["text"],
        reader=Reader(_MODALITIES.wants, _modalities, _MODALITIES.schema),
        code=Code.UNSUPPORTED_VALUE,
    ),
    refused("include_reasoning", _ALWAYS_APART, True),
    refused("separate_reasoning", _ALWAYS_APART, True),
    refused("stream_reasoning", _ALWAYS_APART, True),
    refused("reasoning_format", _ALWAYS_APART, "auto", code=Code.UNSUPPORTED_VALUE),
    refused("chat_template", "a template comes from the model, not from a request"),
    refused("add_special_tokens", "the chat template writes all that the model expects", False),
    refused("documents", "they belong into a message", []),
    refused("task", "tell the model in a message"),
    refused("previous_response_id", "send all messages: nothing is kept between requests"),
    refused("conversation", "send all messages: nothing is kept between requests"),
    refused("input_ids", "send token ids to `/v1/completions`"),
    refused("media_io_kwargs", _OWN_WAY, {}),
    refused("mm_processor_kwargs", _OWN_WAY, {}),
    refused("max_dynamic_patch", _OWN_WAY),
    refused("min_dynamic_patch", _OWN_WAY),
    refused("use_audio_in_video", "neither audio nor video is supported", False),
)

_SPELLING: Final[Mapping[str, str]] = MappingProxyType(
    {
        **SHARED_SPELLING,
        **CONVERSATION_SPELLING,
        "prompt": MESSAGES.name,
        "ids": MESSAGES.name,
        "continue_final": CONTINUE_FINAL_MESSAGE.name,
    }
)


class ChatCompletions:
    """``POST /v1/chat/completions``.

    ``continue_assistant``: a last message of the assistant is gone on with (S64). ``reasoning`` is what replies call it.
    """

    name: Final = "chat"

    def __init__(self, *, continue_assistant: bool = True, reasoning: ReasoningField = "reasoning_content") -> None:
        self._continue_assistant = continue_assistant
        self._reasoning: ReasoningField = reasoning

    def parse(self, body: JsonObject, *, strict: bool = False) -> Call:
        """Read a body. Raises ``InvalidRequest`` naming the field; ``strict`` refuses unknown fields, too."""
        form = Form(body, FIELDS, Place(strict=strict))
        tools = tooling(form)
        prompt = conversation(form, tools, continue_assistant=self._continue_assistant)
        budget_field, max_tokens = _budget(form)
        stream, options = streaming(form)
        n, best_of = choices(form, stream=stream)
        wanted = output_format(form)
        operation = Generate(
            prompt=prompt,
            model=form.read(MODEL, None),
            n=n,
            best_of=best_of,
            sampling=sampling(form),
            limits=limits(form, max_tokens, budget_field),
            readout=readout(form, logprobs=_logprobs(form), stream=stream),
            output=wanted.output,
            strict_tool_calls=_strict(form, tools),
            cache_slot=form.read(CACHE_SLOT, None),
        )
        return Call(
            operation=operation,
            stream=stream,
            include_usage=options.include_usage,
            continuous_usage=options.continuous_usage,
            request_id=form.read(REQUEST_ID, None),
            named_call=tools.named,
            function_call=tools.functions,
            spelling={
                **_SPELLING,
                **tools.spelling,
                **sampling_spelling(form),
                **wanted.spelling,
                "output_budget": budget_field,
                "max_tokens": budget_field,
            },
            ignored=form.ignored,  # last: reading is what fills it
        )

    def projector(self, call: Call, stamp: Stamp) -> ChatProjector:
        """A new projector for one answer."""
        return ChatProjector(call, stamp, reasoning=self._reasoning)

    def error(self, error: ServiceError, call: Call | None = None, *, request_id: str = "") -> ErrorReply:  # noqa: ARG002 -- no place for it
        """OpenAI's envelope, status and headers."""
        return openai_errors.reply(error, call.spelling if call else NO_SPELLING)


def _budget(form: Form) -> tuple[str, int | None]:
    """The field that holds, and its value; the newer one wins, and the other must be well-formed all the same."""
    older = form.read(MAX_TOKENS_FIELD, None)
    newer = form.read(MAX_COMPLETION_TOKENS, None)
    if newer is None:
        return MAX_TOKENS_FIELD.name, older
    form.ignore(MAX_TOKENS_FIELD)
    return MAX_COMPLETION_TOKENS.name, newer


def _strict(form: Form, tools: Tooling) -> bool:
    if not tools.tools:
        form.ignore(STRICT_TOOL_CALLS)
        return False
    return form.read(STRICT_TOOL_CALLS, False)


def _logprobs(form: Form) -> int | None:
    alternatives = form.read(TOP_LOGPROBS, 0)
    if form.read(LOGPROBS, False):
        return alternatives
    form.ignore(TOP_LOGPROBS)
    return None
