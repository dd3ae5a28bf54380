"""When an answer ends: the fields of both OpenAI surfaces that become ``OutputLimits``.

How many tokens are left out of ``max_tokens``, and what it is called, differs between the surfaces, so they read the budget
themselves and hand it in.
"""

from __future__ import annotations

from typing import Final

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.json import Json
from dragoman.core.limits import MAX_STOP_CHARS, MAX_STOP_TOKEN_IDS, MAX_STOPS, MAX_TOKENS
from dragoman.core.request import OutputLimits
from dragoman.surfaces.fields import Form, Table, honoured
from dragoman.surfaces.readers import BOOLEAN, Place, Reader, array, integer, text, token_ids

_STOP: Final = text(1, MAX_STOP_CHARS)
_STOP_LIST: Final = array(_STOP, at_least=1, at_most=MAX_STOPS, of="non-empty strings")


def _stops(value: Json, at: Place) -> tuple[str, ...]:
    if isinstance(value, str):
        return (_STOP.read(value, at),)
    if isinstance(value, list) and 1 <= len(value) <= MAX_STOPS:
        return _STOP_LIST.read(value, at)
    raise at.invalid(STOPS.wants, value)


STOPS: Final = Reader(
    f"a non-empty string, or an array of 1 to {MAX_STOPS} of them",
    _stops,
    {"anyOf": [_STOP.schema, _STOP_LIST.schema]},
)
BUDGET: Final = integer(0, MAX_TOKENS)

MAX_TOKENS_FIELD: Final = honoured("max_tokens", BUDGET, "A ceiling on generated tokens; 0 generates none (S21, S22).")
STOP: Final = honoured(
    "stop", STOPS, "Ends the answer, and is not part of it (S27). What the model's family stops at stays."
)
MIN_TOKENS: Final = honoured(
    "min_tokens", BUDGET, "Nothing but the budget ends the answer before it has this many tokens; default 0 (S36)."
)
STOP_TOKEN_IDS: Final = honoured(
    "stop_token_ids", token_ids(at_most=MAX_STOP_TOKEN_IDS), "Each ends the answer like the model's own end (S37)."
)
IGNORE_EOS: Final = honoured("ignore_eos", BOOLEAN, "Generate past the model's own end; for benchmarks.")
INCLUDE_STOP: Final = honoured(
    "include_stop_str_in_output", BOOLEAN, "Default false; with true the stop that ended the answer stays in it (S38)."
)
IGNORE_LEADING_STOP: Final = honoured(
    "x_colibri_ignore_leading_stop",
    BOOLEAN,
    "Default false; with true a stop that comes before anything but white space is thrown away (S29).",
)

LIMITS: Final = Table(STOP, MIN_TOKENS, STOP_TOKEN_IDS, IGNORE_EOS, INCLUDE_STOP, IGNORE_LEADING_STOP)
"""The rows that ``limits`` reads."""

LIMITS_SPELLING: Final = {"include_stop": INCLUDE_STOP.name, "ignore_leading_stop": IGNORE_LEADING_STOP.name}
"""The fields behind those features of ``OutputLimits`` that have other names."""


def limits(form: Form, max_tokens: int | None, budget_field: str) -> OutputLimits:
    """When the client wants the answer to end.

    Raises ``InvalidRequest`` naming the field; ``budget_field`` is what this client calls ``max_tokens``.
    """
    min_tokens = form.read(MIN_TOKENS, 0)
    if max_tokens is not None and min_tokens > max_tokens:
        raise InvalidRequest(
            f"{MIN_TOKENS.name} is {min_tokens}, which is more than the {max_tokens} of {budget_field}",
            code=Code.INVALID_VALUE,
            param=MIN_TOKENS.name,
        )
    return OutputLimits(
        max_tokens=max_tokens,
        min_tokens=min_tokens,
        stop=form.read(STOP, ()),
        stop_token_ids=form.read(STOP_TOKEN_IDS, ()),
        ignore_eos=form.read(IGNORE_EOS, False),
        include_stop=form.read(INCLUDE_STOP, False),
        ignore_leading_stop=form.read(IGNORE_LEADING_STOP, False),
    )
