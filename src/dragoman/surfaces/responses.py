"""OpenAI Responses: from a body to what is asked for, and how it is told.

The table of the fields is in ``responses_fields``; a body becomes a ``Request``, and that a call once its history is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dragoman.core.errors import Code, InvalidRequest, ServiceError
from dragoman.core.json import Json, JsonObject
from dragoman.core.request import Conversation, Generate, Readout, Thinking
from dragoman.surfaces import openai_errors
from dragoman.surfaces.base import Call, ErrorReply
from dragoman.surfaces.fields import Form, Table
from dragoman.surfaces.openai_chat import STRICT_TOOL_CALLS
from dragoman.surfaces.openai_conversation import (
    CHAT_TEMPLATE_KWARGS,
    ENABLE_THINKING,
    PRESERVE_THINKING,
    thinking_budget,
)
from dragoman.surfaces.openai_fields import CACHE_SLOT, MODEL
from dragoman.surfaces.openai_limits import limits
from dragoman.surfaces.openai_sampling import sampling, sampling_spelling
from dragoman.surfaces.readers import Place
from dragoman.surfaces.responses_call import ResponsesCall
from dragoman.surfaces.responses_fields import (
    BACKGROUND,
    COMPACT_FIELDS,
    CONVERSATION,
    COUNT_FIELDS,
    EVENT_TYPE,
    FIELDS,
    GENERATE,
    INPUT,
    INSTRUCTIONS,
    MAX_OUTPUT_TOKENS,
    MAX_TOKENS,
    MAX_TOOL_CALLS,
    METADATA,
    PARALLEL_TOOL_CALLS,
    PREVIOUS,
    PROMPT_CACHE_KEY,
    SAFETY_IDENTIFIER,
    SPELLING,
    STORE,
    STREAM,
    TOP_LOGPROBS,
    USER,
)
from dragoman.surfaces.responses_items import read_input
from dragoman.surfaces.responses_reasoning import INCLUDE, REASONING, Included, ReasoningWish
from dragoman.surfaces.responses_request import Asked, Request
from dragoman.surfaces.responses_text import TEXT_FIELD, TextWish
from dragoman.surfaces.responses_tool_choice import TOOL_CHOICE, Wish
from dragoman.surfaces.responses_tools import TOOLS, echoed

_NO_PROMPT: Final = Conversation(messages=())
"""Until it is known what came before."""


class Responses:
    """``POST /v1/responses``, the same over a WebSocket, and the two bodies beside it.

    ``mint`` makes what follows the prefix of an id, different each time.
    """

    name: Final = "responses"

    def parse(self, body: JsonObject, *, strict: bool = False, mint: Callable[[], str]) -> Request:
        """Read a body. Raises ``InvalidRequest`` naming the field; ``strict`` refuses unknown fields, too."""
        at = Place(strict=strict)
        form = Form(body, FIELDS, at)
        request = _request(form, at, mint)
        form.read(EVENT_TYPE, None)
        if not (form.has(INPUT) or request.previous or request.conversation):
            raise form.place(INPUT).missing()
        if request.background and not request.store:
            place = form.place(BACKGROUND)
            raise place.wrong(f"{place.path} needs {STORE.name}: nobody could ask for the answer later")
        return request

    def parse_count(self, body: JsonObject, *, strict: bool = False, mint: Callable[[], str]) -> Request:
        """Read a body of ``/v1/responses/input_tokens``, which may be empty. Raises ``InvalidRequest`` naming the field."""
        return _prompt_alone(body, COUNT_FIELDS, strict=strict, mint=mint)

    def parse_compact(self, body: JsonObject, *, strict: bool = False, mint: Callable[[], str]) -> Request:
        """Read a body of ``/v1/responses/compact``, which needs a model and may be empty else. Raises as ``parse`` does."""
        if body.get(MODEL.name) is None:
            raise Place().child(MODEL.name).missing()
        return _prompt_alone(body, COMPACT_FIELDS, strict=strict, mint=mint)

    def error(self, error: ServiceError, call: Call | None = None, *, request_id: str = "") -> ErrorReply:  # noqa: ARG002 -- no place for it
        """OpenAI's envelope, status and headers."""
        return openai_errors.reply(error, call.spelling if call else SPELLING)


def _prompt_alone(body: JsonObject, table: Table, *, strict: bool, mint: Callable[[], str]) -> Request:
    at = Place(strict=strict)
    form = Form(body, table, at)
    form.read(TEXT_FIELD, None)
    asked = _asked(form, at, mint, form.read(REASONING, ReasoningWish()), may_be_empty=True)
    call = ResponsesCall(operation=Generate(prompt=_NO_PROMPT, model=form.read(MODEL, None)), spelling=SPELLING)
    previous, conversation = _before(form)
    return Request(call=call, asked=asked, mint=mint, previous=previous, conversation=conversation)


def _request(form: Form, at: Place, mint: Callable[[], str]) -> Request:
    previous, conversation = _before(form)
    reasoning = form.read(REASONING, ReasoningWish())
    asked = _asked(form, at, mint, reasoning)
    return Request(
        call=_call(form, reasoning, _echo(form, asked, reasoning, previous, conversation)),
        asked=asked,
        mint=mint,
        store=form.read(STORE, True),
        background=form.read(BACKGROUND, False),
        generate=form.read(GENERATE, True),
        previous=previous,
        conversation=conversation,
    )


def _before(form: Form) -> tuple[str | None, str | None]:
    """The response that is gone on from, or the conversation that is added to."""
    previous, conversation = form.read(PREVIOUS, None), form.read(CONVERSATION, None)
    if previous is not None and conversation is not None:
        raise InvalidRequest(
            f"{PREVIOUS.name} and {CONVERSATION.name} both say what came before; send one of them",
            code=Code.INVALID_VALUE,
            param=PREVIOUS.name,
        )
    return previous, conversation


def _asked(
    form: Form, at: Place, mint: Callable[[], str], reasoning: ReasoningWish, *, may_be_empty: bool = False
) -> Asked:
    value = form.read(INPUT, None)
    return Asked(
        items=() if value is None else read_input(value, form.place(INPUT), mint),
        instructions=form.read(INSTRUCTIONS, None),
        definitions=form.read(TOOLS, ()),
        wish=form.read(TOOL_CHOICE, Wish()),
        parallel=form.read(PARALLEL_TOOL_CALLS, True),
        of_calls=tuple(field.name for field in (PARALLEL_TOOL_CALLS, STRICT_TOOL_CALLS) if form.has(field)),
        thinking=Thinking(
            enabled=form.read(ENABLE_THINKING, None),
            effort=reasoning.effort,
            preserve=form.read(PRESERVE_THINKING, None),
            budget=thinking_budget(form),
        ),
        template_args=form.read(CHAT_TEMPLATE_KWARGS, {}),
        may_be_empty=may_be_empty,
        at=at,
    )


def _call(form: Form, reasoning: ReasoningWish, echo: JsonObject) -> ResponsesCall:
    budget_field, max_tokens = _budget(form)
    included = form.read(INCLUDE, Included())
    wanted = form.read(TEXT_FIELD, TextWish()).format.output
    alternatives = form.read(TOP_LOGPROBS, 0)
    if not included.logprobs:
        form.ignore(TOP_LOGPROBS)
    operation = Generate(
        prompt=_NO_PROMPT,
        model=form.read(MODEL, None),
        sampling=sampling(form),
        limits=limits(form, max_tokens, budget_field),
        readout=Readout(logprobs=alternatives if included.logprobs else None),
        output=wanted,
        strict_tool_calls=form.read(STRICT_TOOL_CALLS, False),
        cache_slot=form.read(CACHE_SLOT, None),
    )
    return ResponsesCall(
        operation=operation,
        stream=form.read(STREAM, False),
        echo=echo,
        summaries=reasoning.summary is not None,
        encrypted=included.encrypted,
        logprobs=included.logprobs,
        spelling={
            **SPELLING,
            **sampling_spelling(form),
            "grammar": TOOLS.name if wanted is None else SPELLING["output"],
            "output_budget": budget_field,
            "max_tokens": budget_field,
        },
    )


def _budget(form: Form) -> tuple[str, int | None]:
    """The field that holds, and its value; the other must be well-formed all the same."""
    own, other = form.read(MAX_OUTPUT_TOKENS, None), form.read(MAX_TOKENS, None)
    if own is None and other is not None:
        return MAX_TOKENS.name, other
    form.ignore(MAX_TOKENS)
    return MAX_OUTPUT_TOKENS.name, own


def _echo(
    form: Form, asked: Asked, reasoning: ReasoningWish, previous: str | None, conversation: str | None
) -> JsonObject:
    """What the response object repeats: what was said, or what holds where nothing was (wire.md 3)."""
    drawn = sampling(form)
    repeated: dict[str, Json] = {
        "background": form.read(BACKGROUND, False),
        "instructions": asked.instructions,
        "max_output_tokens": _budget(form)[1],
        "max_tool_calls": form.read(MAX_TOOL_CALLS, None),
        "metadata": form.read(METADATA, {}),
        "parallel_tool_calls": asked.parallel,
        "previous_response_id": previous,
        "prompt_cache_key": form.read(PROMPT_CACHE_KEY, None),
        "reasoning": reasoning.echo,
        "safety_identifier": form.read(SAFETY_IDENTIFIER, None),
        "service_tier": "default",
        "store": form.read(STORE, True),
        "temperature": drawn.temperature,
        "text": form.read(TEXT_FIELD, TextWish()).echo,
        "tool_choice": asked.wish.echo,
        "tools": echoed(asked.definitions),
        "top_logprobs": form.read(TOP_LOGPROBS, 0),
        "top_p": drawn.top_p,
        "presence_penalty": drawn.presence_penalty,
        "frequency_penalty": drawn.frequency_penalty,
        "truncation": "disabled",
    }
    if conversation is not None:
        repeated["conversation"] = {"id": conversation}
    if form.has(USER):
        repeated["user"] = form.require(USER)
    return repeated
