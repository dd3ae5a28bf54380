"""OpenAI Completions, the older surface for raw prompts: the table of its fields, and what they become.

A prompt is the client's own template: special tokens are recognised in it unless ``parse_special`` is false.
"""

from __future__ import annotations

from typing import Final

from dragoman.core.errors import Code, ServiceError, Unsupported
from dragoman.core.json import Json, JsonObject
from dragoman.core.limits import MAX_TOP_LOGPROBS
from dragoman.core.request import FillIn, Generate, Prompt, PromptBatch
from dragoman.surfaces import openai_errors
from dragoman.surfaces.base import Call, ErrorReply, Stamp
from dragoman.surfaces.error_replies import NO_SPELLING
from dragoman.surfaces.fields import Form, Table, honoured, refused
from dragoman.surfaces.openai_choices import BEST_OF, N, choices
from dragoman.surfaces.openai_completions_projector import CompletionProjector
from dragoman.surfaces.openai_fields import CACHE_SLOT, MODEL, REQUEST_ID, SHARED, SHARED_SPELLING, STREAM, streaming
from dragoman.surfaces.openai_formats import output_format
from dragoman.surfaces.openai_limits import MAX_TOKENS_FIELD, limits
from dragoman.surfaces.openai_prompts import PROMPT_FIELDS, PROMPT_SPELLING, Prompts, check_batch_budget, prompts
from dragoman.surfaces.openai_readout import readout
from dragoman.surfaces.openai_sampling import sampling, sampling_spelling
from dragoman.surfaces.readers import BOOLEAN, Place, Reader, integer

DEFAULT_MAX_TOKENS: Final = 16
"""OpenAI's default for this surface."""

_LOGPROBS: Final = integer(0, MAX_TOP_LOGPROBS)


def _logprobs(value: Json, at: Place) -> int | None:
    # S69: 0 and false ask for none, while true says no number.
    return None if value is False else _LOGPROBS.read(value, at) or None


LOGPROBS: Final = honoured(
    "logprobs",
    Reader(_LOGPROBS.wants, _logprobs, {"anyOf": [_LOGPROBS.schema, {"const": False}]}),
    "Log-probability of each token, and so many of the likeliest at its place; 0 and false are none, as the default is (S69).",
)
ECHO: Final = honoured(
    "echo", BOOLEAN, "Default false; with true the prompt leads the text, and the `logprobs` (S47, S70)."
)

_RAW: Final = "a raw prompt has no tools: send the conversation to `/v1/chat/completions`"

FIELDS: Final = Table(
    *PROMPT_FIELDS,
    MAX_TOKENS_FIELD,
    LOGPROBS,
    ECHO,
    *SHARED,
    refused("tools", _RAW, []),
    refused("tool_choice", _RAW, "none", "auto"),
    refused("strict_tool_calls", _RAW, False),
)


class Completions:
    """``POST /v1/completions``."""

    name: Final = "completions"

    def parse(self, body: JsonObject, *, strict: bool = False) -> Call:
        """Read a body. Raises ``InvalidRequest`` naming the field; ``strict`` refuses unknown fields, too."""
        form = Form(body, FIELDS, Place(strict=strict))
        given = prompts(form)
        stream, options = streaming(form)
        if given.is_batch:
            _refuse_in_batch(form, stream=stream)
        n, best_of = choices(form, stream=stream)
        max_tokens = form.read(MAX_TOKENS_FIELD, DEFAULT_MAX_TOKENS)
        wanted = output_format(form)
        operation = Generate(
            sampling=sampling(form),
            limits=limits(form, max_tokens, MAX_TOKENS_FIELD.name),
            readout=readout(form, logprobs=form.read(LOGPROBS, None), echo=form.read(ECHO, False), stream=stream),
            output=wanted.output,
            model=form.read(MODEL, None),
            n=n,
            best_of=best_of,
            cache_slot=form.read(CACHE_SLOT, None),
            prompt=_prompt(given, max_tokens),  # last: the options of a batch come before its members (S101)
        )
        return Call(
            operation=operation,
            stream=stream,
            include_usage=options.include_usage,
            continuous_usage=options.continuous_usage,
            request_id=form.read(REQUEST_ID, None),
            spelling={
                **SHARED_SPELLING,
                **PROMPT_SPELLING,
                **sampling_spelling(form),
                **wanted.spelling,
                "output_budget": MAX_TOKENS_FIELD.name,
                "max_tokens": MAX_TOKENS_FIELD.name,
            },
            ignored=form.ignored,  # last: reading is what fills it
        )

    def projector(self, call: Call, stamp: Stamp) -> CompletionProjector:
        """A new projector for one answer."""
        return CompletionProjector(call, stamp)

    def error(self, error: ServiceError, call: Call | None = None, *, request_id: str = "") -> ErrorReply:  # noqa: ARG002 -- no place for it
        """OpenAI's envelope, status and headers."""
        return openai_errors.reply(error, call.spelling if call else NO_SPELLING)


def _prompt(given: Prompts, max_tokens: int) -> FillIn | PromptBatch | Prompt:
    prompt = given.neutral()
    if isinstance(prompt, PromptBatch):
        check_batch_budget(prompt, max_tokens, MAX_TOKENS_FIELD.name)
    return prompt


def _refuse_in_batch(form: Form, *, stream: bool) -> None:
    """A batch is answered as a whole, with one choice for each prompt (S95, S98, S102)."""
    for field, asked in (
        (STREAM, stream),
        (N, form.read(N, 1) != 1),
        (BEST_OF, form.read(BEST_OF, 0) > 1),
    ):
        if asked:
            raise Unsupported(
                f"this value of {field.name} is not supported with an array of prompts: send one prompt per request",
                code=Code.UNSUPPORTED_VALUE,
                param=field.name,
            )
