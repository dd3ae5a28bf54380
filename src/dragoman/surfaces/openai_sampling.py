"""How the next token is drawn: the fields of both OpenAI surfaces that become ``SamplingParams``.

OpenAI's own names come first. The others are vLLM's and SGLang's, and those of llama.cpp's server where it has samplers that they
lack; ranges follow S40, and where that is silent the server that the name comes from.
"""

from __future__ import annotations

import math
from typing import Final

from dragoman.core.json import Json
from dragoman.core.limits import (
    MAX_ALLOWED_TOKENS,
    MAX_BAD_WORDS,
    MAX_DRY_BREAKER_CHARS,
    MAX_DRY_BREAKERS,
    MAX_LOGIT_BIAS,
    MAX_SEED,
    MAX_STOP_CHARS,
    MAX_TOKEN_ID,
)
from dragoman.core.request import Dry, SamplingParams, Xtc
from dragoman.surfaces.fields import Form, Table, honoured
from dragoman.surfaces.readers import OBJECT, Place, Reader, array, integer, number, text, token_ids

_MAX_WINDOW: Final = 2**31 - 1
"""Beyond every context, and what a C int holds; the same goes for ``top_k`` and vocabularies."""

_MAX_REPETITION_PENALTY: Final = 10
"""Far beyond what leaves any text readable; a logit times this stays a float32."""

_BIAS_BOUND: Final = 100
"""Biases are clamped to this in both directions (S35)."""

_REPEAT_LAST_N: Final = 64
"""llama.cpp's default window for ``repeat_penalty``."""

_TOP_K: Final = integer(-1, _MAX_WINDOW)


def _top_k(value: Json, at: Place) -> int:
    return max(0, _TOP_K.read(value, at))


def _is_token_id(key: str) -> bool:
    # The one spelling of a number, so that two keys can not mean one token.
    return key.isascii() and key.isdecimal() and str(int(key[:11])) == key and int(key) <= MAX_TOKEN_ID


def _bias(value: Json, at: Place) -> float:
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and (isinstance(value, int) or math.isfinite(value))
    ):
        return float(min(max(value, -_BIAS_BOUND), _BIAS_BOUND))
    raise at.invalid("a finite number", value)


def _logit_bias(value: Json, at: Place) -> tuple[tuple[int, float], ...]:
    entries = OBJECT.read(value, at)
    if len(entries) > MAX_LOGIT_BIAS:
        raise at.wrong(f"{at.path} holds {len(entries)} biases; at most {MAX_LOGIT_BIAS} are taken")
    biases = []
    for key, entry in entries.items():
        bias = _bias(entry, at.child(key))
        if bias == 0:  # asks for nothing, whatever its key; OpenAI's SDK tests send {"foo": 0}
            continue
        if not _is_token_id(key):
            raise at.child(key).wrong(f"{at.child(key).path} is no token id: keys of {at.path} must be {_BIAS_KEYS}")
        biases.append((int(key), bias))
    return tuple(biases)


_BIAS_KEYS: Final = "token ids, as decimal numbers in strings"
LOGIT_BIASES: Final = Reader(
    "an object of numbers by token id",
    _logit_bias,
    {
        "type": "object",
        "propertyNames": {"pattern": "^(0|[1-9][0-9]{0,8})$"},
        "additionalProperties": {"type": "number"},
        "maxProperties": MAX_LOGIT_BIAS,
    },
)

TEMPERATURE: Final = honoured("temperature", number(0, 2), "Default 1; 0 takes the likeliest token (S26).")
TOP_P: Final = honoured("top_p", number(0, 1, above=True), "Default 1, which is off (S26).")
SEED: Final = honoured("seed", integer(-MAX_SEED - 1, MAX_SEED), "Equal seeds and requests give equal draws (S31).")
PRESENCE_PENALTY: Final = honoured(
    "presence_penalty", number(-2, 2), "Taken once from the logit of every token of the answer so far; default 0 (S33)."
)
FREQUENCY_PENALTY: Final = honoured(
    "frequency_penalty", number(-2, 2), "Taken for each time that the answer has the token so far; default 0 (S33)."
)
LOGIT_BIAS: Final = honoured(
    "logit_bias",
    LOGIT_BIASES,
    f"Added to the logits of these tokens, clamped to ±{_BIAS_BOUND} (S35). A bias of 0 asks for nothing.",
)
TOP_K: Final = honoured("top_k", Reader(_TOP_K.wants, _top_k, _TOP_K.schema), "Default 0; 0 and -1 are off.")
MIN_P: Final = honoured("min_p", number(0, 1), "Share of the likeliest token's probability; default 0, off (S32).")
REPETITION_PENALTY: Final = honoured(
    "repetition_penalty",
    number(0, _MAX_REPETITION_PENALTY, above=True),
    "Positive logits are divided by it, negative ones multiplied, for all tokens of prompt and answer; default 1 (S34).",
)
ALLOWED_TOKEN_IDS: Final = honoured(
    "allowed_token_ids", token_ids(at_least=1, at_most=MAX_ALLOWED_TOKENS), "No other token can come."
)
BAD_WORDS: Final = honoured(
    "bad_words",
    array(text(1, MAX_STOP_CHARS), at_most=MAX_BAD_WORDS, of="non-empty strings"),
    "Texts that can not come: the token that would complete one is ruled out.",
)
TYPICAL_P: Final = honoured("typical_p", number(0, 1, above=True), "Locally typical sampling; default 1, off.")
REPEAT_PENALTY: Final = honoured(
    "repeat_penalty",
    REPETITION_PENALTY.reader,
    f"llama.cpp's `repetition_penalty`: the same, over the last `repeat_last_n` tokens. {REPETITION_PENALTY.name} wins over it.",
)
REPEAT_LAST_N: Final = honoured(
    "repeat_last_n",
    integer(-1, _MAX_WINDOW),
    f"Tokens that the penalty of repetitions looks at: -1 for all, 0 for none. Default {_REPEAT_LAST_N} with "
    "`repeat_penalty`, all with `repetition_penalty`.",
)
XTC_PROBABILITY: Final = honoured(
    "xtc_probability", number(0, 1), "How often all top choices but the last are excluded; default 0, off."
)
XTC_THRESHOLD: Final = honoured(
    "xtc_threshold", number(0, 1), "Probability from which a token is a top choice; default 0.1, off above 0.5."
)
DRY_MULTIPLIER: Final = honoured(
    "dry_multiplier", number(0, 100), "Strength of the penalty for lengthening a repetition; default 0, off."
)
DRY_BASE: Final = honoured("dry_base", number(1, 10), "Growth of that penalty with each repeated token; default 1.75.")
DRY_ALLOWED_LENGTH: Final = honoured(
    "dry_allowed_length", integer(0, _MAX_WINDOW), "Repetitions up to this many tokens are free; default 2."
)
DRY_PENALTY_LAST_N: Final = honoured(
    "dry_penalty_last_n", integer(-1, _MAX_WINDOW), "Tokens searched for repetitions; default -1, all; 0 for none."
)
DRY_SEQUENCE_BREAKERS: Final = honoured(
    "dry_sequence_breakers",
    array(text(1, MAX_DRY_BREAKER_CHARS), at_least=1, at_most=MAX_DRY_BREAKERS, of="non-empty strings"),
    'Texts that end a repetition; default line feed, `:`, `"` and `*`.',
)

_DRY_DETAILS: Final = (DRY_BASE, DRY_ALLOWED_LENGTH, DRY_PENALTY_LAST_N, DRY_SEQUENCE_BREAKERS)

SAMPLING: Final = Table(
    TEMPERATURE,
    TOP_P,
    SEED,
    PRESENCE_PENALTY,
    FREQUENCY_PENALTY,
    LOGIT_BIAS,
    TOP_K,
    MIN_P,
    REPETITION_PENALTY,
    ALLOWED_TOKEN_IDS,
    BAD_WORDS,
    TYPICAL_P,
    REPEAT_PENALTY,
    REPEAT_LAST_N,
    XTC_PROBABILITY,
    XTC_THRESHOLD,
    DRY_MULTIPLIER,
    *_DRY_DETAILS,
)
"""The rows that ``sampling`` reads."""


def sampling(form: Form) -> SamplingParams:
    """How the client wants tokens drawn. Raises ``InvalidRequest`` naming the field."""
    penalty, window = _repetition(form)
    return SamplingParams(
        temperature=form.read(TEMPERATURE, 1.0),
        top_p=form.read(TOP_P, 1.0),
        top_k=form.read(TOP_K, 0),
        min_p=form.read(MIN_P, 0.0),
        typical_p=form.read(TYPICAL_P, 1.0),
        seed=form.read(SEED, None),
        repetition_penalty=penalty,
        repetition_window=window,
        presence_penalty=form.read(PRESENCE_PENALTY, 0.0),
        frequency_penalty=form.read(FREQUENCY_PENALTY, 0.0),
        logit_bias=form.read(LOGIT_BIAS, ()),
        allowed_token_ids=form.read(ALLOWED_TOKEN_IDS, ()),
        bad_words=form.read(BAD_WORDS, ()),
        xtc=_xtc(form),
        dry=_dry(form),
    )


def sampling_spelling(form: Form) -> dict[str, str]:
    """The fields of this body behind those features of ``SamplingParams`` that have other names."""
    own_name = form.has(REPETITION_PENALTY)
    return {
        "repetition_penalty": REPETITION_PENALTY.name if own_name else REPEAT_PENALTY.name,
        "repetition_window": REPEAT_LAST_N.name,
        "xtc": XTC_PROBABILITY.name,
        "dry": DRY_MULTIPLIER.name,
    }


def _repetition(form: Form) -> tuple[float, int]:
    """The penalty and its window. What has no effect is listed, after it was checked."""
    penalty = form.read(REPETITION_PENALTY, None)
    default_window = -1
    llama_penalty = form.read(REPEAT_PENALTY, None)
    window = form.read(REPEAT_LAST_N, None)
    if penalty is not None:
        form.ignore(REPEAT_PENALTY)
    elif llama_penalty is not None:
        penalty, default_window = llama_penalty, _REPEAT_LAST_N
    if penalty is None or penalty == 1:
        form.ignore(REPEAT_LAST_N)
        return 1.0, -1
    return penalty, default_window if window is None else window


def _xtc(form: Form) -> Xtc | None:
    probability = form.read(XTC_PROBABILITY, 0.0)
    threshold = form.read(XTC_THRESHOLD, 0.1)
    if probability == 0:
        form.ignore(XTC_THRESHOLD)
        return None
    return Xtc(probability=probability, threshold=threshold)


def _dry(form: Form) -> Dry | None:
    dry = Dry(
        multiplier=form.read(DRY_MULTIPLIER, 0.0),
        base=form.read(DRY_BASE, 1.75),
        allowed_length=form.read(DRY_ALLOWED_LENGTH, 2),
        window=form.read(DRY_PENALTY_LAST_N, -1),
        breakers=form.read(DRY_SEQUENCE_BREAKERS, ("\n", ":", '"', "*")),
    )
    if dry.multiplier == 0:
        for detail in _DRY_DETAILS:
            form.ignore(detail)
        return None
    return dry
