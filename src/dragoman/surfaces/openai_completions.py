"""OpenAI Completions, the older surface for raw prompts: the table of its fields, and what they become.

A prompt is the client's own template: special tokens are recognised in it unless ``parse_special`` is false.
"""

from __future__ import annotations

from typing import Final

from dragoman.core.errors import ServiceError
from dragoman.core.json import Json, JsonObject
from dragoman.core.limits import MAX_TOP_LOGPROBS
from dragoman.core.request import Generate, Prompt, TextPrompt, TokenPrompt
from dragoman.surfaces import openai_errors
from dragoman.surfaces.base import Call, ErrorReply, Stamp
from dragoman.surfaces.fields import Form, Table, honoured, refused
from dragoman.surfaces.openai_completions_projector import CompletionProjector
from dragoman.surfaces.openai_fields import (
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
from dragoman.surfaces.openai_stream import KEEPALIVE
from dragoman.surfaces.readers import BOOLEAN, PROMPT_TEXT, Place, Reader, integer, is_token_ids

DEFAULT_MAX_TOKENS: Final = 16
"""OpenAI's default for this surface."""


def _prompt(value: Json, at: Place) -> str | tuple[int, ...]:
    """One prompt; a batch of one is that one (S91). Faults of shape name the field itself (S92)."""
    if isinstance(value, str):
        return PROMPT_TEXT.read(value, at)
    if isinstance(value, list) and value:
        if is_token_ids(value):
            return tuple(value)
        if all(isinstance(member, str) for member in value) or all(member and is_token_ids(member) for member in value):
            if len(value) > 1:
                raise at.unsupported(f"{at.path} holds {len(value)} prompts: send one prompt per request")
            return _prompt(value[0], at)
    raise at.invalid(PROMPTS.wants, value)


def _logprobs(value: Json, at: Place) -> int:
    # S69: false asks for none, while true says no number.
    return 0 if value is False else _LOGPROBS.read(value, at)


_LOGPROBS: Final = integer(0, MAX_TOP_LOGPROBS)
PROMPTS: Final = Reader("a string, or a non-empty array of token ids, or an array of one such prompt", _prompt)

PROMPT: Final = honoured("prompt", PROMPTS, "Required (S90, S91).")
PARSE_SPECIAL: Final = honoured(
    "parse_special", BOOLEAN, "Default true: the text of a control token in `prompt` is that token."
)
ADD_SPECIAL_TOKENS: Final = honoured(
    "add_special_tokens", BOOLEAN, "Default true: the tokenizer adds what the model expects, such as BOS."
)

FIELDS: Final = Table(
    PROMPT,
    MAX_TOKENS_FIELD,
    PARSE_SPECIAL,
    ADD_SPECIAL_TOKENS,
    *SHARED,
    refused("logprobs", "log probabilities are not read out yet", 0, reader=Reader(_LOGPROBS.wants, _logprobs)),
    refused("echo", "the prompt is not sent back yet", False, reader=BOOLEAN),
    refused("suffix", "text is only continued, not filled in", ""),
)


class Completions:
    """``POST /v1/completions``."""

    name: Final = "completions"
    keepalive: Final = KEEPALIVE

    def parse(self, body: JsonObject, *, strict: bool = False) -> Call:
        """Read a body. Raises ``InvalidRequest`` naming the field; ``strict`` refuses unknown fields, too."""
        form = Form(body, FIELDS, Place(strict=strict))
        operation = Generate(
            prompt=_neutral_prompt(form),
            model=form.read(MODEL, None),
            sampling=sampling(form),
            limits=limits(form, form.read(MAX_TOKENS_FIELD, DEFAULT_MAX_TOKENS)),
            cache_slot=form.read(CACHE_SLOT, None),
        )
        return Call(
            operation=operation,
            stream=form.read(STREAM, False),
            include_usage=form.read(STREAM_OPTIONS, False),
            request_id=form.read(REQUEST_ID, None),
            spelling={"output_budget": MAX_TOKENS_FIELD.name},
            ignored=form.ignored,  # last: reading is what fills it
        )

    def projector(self, call: Call, stamp: Stamp) -> CompletionProjector:
        """A new projector for one answer."""
        return CompletionProjector(call, stamp)

    def error(self, error: ServiceError, call: Call | None = None) -> ErrorReply:
        """OpenAI's envelope, status and headers."""
        return openai_errors.reply(error, call)


def _neutral_prompt(form: Form) -> Prompt:
    prompt = form.require(PROMPT)
    parse_special = form.read(PARSE_SPECIAL, True)
    add_special = form.read(ADD_SPECIAL_TOKENS, True)
    if isinstance(prompt, str):
        return TextPrompt(text=prompt, parse_special=parse_special, add_special=add_special)
    return TokenPrompt(ids=prompt)
