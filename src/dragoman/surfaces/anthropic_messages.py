"""Anthropic's Messages: what a body becomes, for an answer and for a count (S114)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from dragoman.core.errors import ServiceError
from dragoman.core.json import JsonObject
from dragoman.core.request import Generate, OutputLimits, Tokenize
from dragoman.core.results import Tokenized
from dragoman.surfaces import anthropic_errors
from dragoman.surfaces.anthropic_cache import has_breakpoint
from dragoman.surfaces.anthropic_call import MessagesCall
from dragoman.surfaces.anthropic_conversation import conversation
from dragoman.surfaces.anthropic_fields import COUNT_FIELDS, FIELDS, GENERATION, MAX_TOKENS, SPELLING, STOP_SEQUENCES
from dragoman.surfaces.anthropic_projector import AnthropicProjector
from dragoman.surfaces.anthropic_thinking import display, output_format, output_spelling
from dragoman.surfaces.base import Call, ErrorReply, Stamp
from dragoman.surfaces.fields import Form
from dragoman.surfaces.openai_fields import CACHE_SLOT, MODEL, STREAM
from dragoman.surfaces.openai_limits import limits
from dragoman.surfaces.openai_sampling import sampling, sampling_spelling
from dragoman.surfaces.readers import Place


class Messages:
    """``POST /v1/messages`` and ``POST /v1/messages/count_tokens``.

    Claude Code begins its system prompt with a line ``x-anthropic-billing-header: ...`` that is another one for each request, and ends it
    with counts in ``<total_tokens>``. They are left out of system texts, so that prompts share their beginnings; ``keep_billing_header``
    leaves both in.
    """

    name: Final = "messages"

    def __init__(self, keep_billing_header: bool = False) -> None:
        self._keep_volatile = keep_billing_header

    def parse(self, body: JsonObject, *, strict: bool = False) -> MessagesCall:
        """Read a body. Raises ``InvalidRequest`` naming the field; ``strict`` refuses unknown fields, too."""
        form = Form(body, FIELDS, Place(strict=strict))
        prompt, named = conversation(form, keep_volatile=self._keep_volatile)
        operation = Generate(
            prompt=prompt,
            model=form.read(MODEL, None),
            sampling=sampling(form),
            limits=_limits(form),
            output=output_format(form),
            cache_slot=form.read(CACHE_SLOT, None),
            keep_prefix=has_breakpoint(body),
        )
        wanted = output_spelling(form)
        return MessagesCall(
            operation=operation,
            stream=form.read(STREAM, False),
            named_call=named,
            thinking_display=display(form),
            spelling={
                **SPELLING,
                **sampling_spelling(form),
                "output": wanted,
                "grammar": wanted if operation.output is not None else SPELLING["tools"],
            },
            ignored=form.ignored,  # last: reading is what fills it
        )

    def parse_count(self, body: JsonObject, *, strict: bool = False) -> tuple[Tokenize, tuple[str, ...]]:
        """The count of the prompt that ``parse`` would have answered, and the fields that have no effect on it.

        Raises ``InvalidRequest`` naming the field.
        """
        form = Form(body, COUNT_FIELDS, Place(strict=strict))
        prompt, _ = conversation(form, keep_volatile=self._keep_volatile)
        output_format(form)
        for row in GENERATION:
            form.read(row, None)
            form.ignore(row)
        return Tokenize(source=prompt, model=form.read(MODEL, None)), form.ignored

    def projector(self, call: Call, stamp: Stamp) -> AnthropicProjector:
        """A new projector for one answer."""
        assert isinstance(call, MessagesCall)
        return AnthropicProjector(call, stamp)

    def error(self, error: ServiceError, call: Call | None = None, *, request_id: str = "") -> ErrorReply:
        """Anthropic's envelope, status and headers."""
        return anthropic_errors.reply(error, call.spelling if call else SPELLING, request_id=request_id)


def counted(result: Tokenized) -> JsonObject:
    """The reply of /v1/messages/count_tokens."""
    return {"input_tokens": len(result.ids)}


def _limits(form: Form) -> OutputLimits:
    ends = limits(form, form.read(MAX_TOKENS, None), MAX_TOKENS.name)
    return replace(ends, stop=form.read(STOP_SEQUENCES, ()))
