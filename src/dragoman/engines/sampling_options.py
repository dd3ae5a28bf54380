"""``SamplingParams`` as keys of a SUBMIT's extension, there and back. Pure.

The keys are the fields of ``SamplingParams``, and only what is not the default is written. ``logit_bias`` is a list of ``[id, bias]``;
``xtc`` and ``dry`` are objects with the fields of their types. Temperature and top_p are words of the header. What a gateway may write
an engine still checks: it is another process, perhaps of another age.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from dragoman.core.json import Json, JsonObject
from dragoman.core.limits import MAX_BAD_WORDS, MAX_DRY_BREAKERS, MAX_SEED, MAX_TOKENS
from dragoman.core.request import Dry, SamplingParams, Xtc
from dragoman.engines.option_values import BadOption, integer, nested, number, strings, token_id, token_ids

MAX_BIAS: Final = 100.0
"""Logit units either way; the surfaces clamp to it (S35)."""

LARGEST: Final = 10_000.0
"""A penalty or factor above this is a mistake; ten thousand times it is still far from what float32 can hold."""

PLAIN: Final = SamplingParams()


def write_sampling(sampling: SamplingParams) -> dict[str, Json]:
    """What differs from the defaults. A window over nothing is not sent."""
    penalised = sampling.repetition_penalty != PLAIN.repetition_penalty
    options: dict[str, Json] = {
        "top_k": sampling.top_k or None,
        "min_p": sampling.min_p or None,
        "typical_p": None if sampling.typical_p == PLAIN.typical_p else sampling.typical_p,
        "seed": sampling.seed,
        "repetition_penalty": sampling.repetition_penalty if penalised else None,
        "repetition_window": sampling.repetition_window if penalised and sampling.repetition_window >= 0 else None,
        "presence_penalty": sampling.presence_penalty or None,
        "frequency_penalty": sampling.frequency_penalty or None,
        "logit_bias": [[token, bias] for token, bias in sampling.logit_bias] or None,
        "allowed_token_ids": list(sampling.allowed_token_ids) or None,
        "bad_words": list(sampling.bad_words) or None,
        "xtc": asdict(sampling.xtc) if sampling.xtc else None,
        "dry": {**asdict(sampling.dry), "breakers": list(sampling.dry.breakers)} if sampling.dry else None,
    }
    return {key: value for key, value in options.items() if value is not None}


def read_sampling(options: JsonObject, *, temperature: float, top_p: float, vocabulary_size: int) -> SamplingParams:
    """What was written, with two words of the header. Raises ``BadOption`` naming the key."""
    return SamplingParams(
        temperature=temperature,
        top_p=top_p,
        top_k=integer(options, "top_k", 0, minimum=0, maximum=MAX_TOKENS),
        min_p=number(options, "min_p", 0.0, minimum=0, maximum=1),
        typical_p=_positive(options, "typical_p", maximum=1),
        seed=None
        if options.get("seed") is None
        else integer(options, "seed", 0, minimum=-MAX_SEED - 1, maximum=MAX_SEED),
        repetition_penalty=_positive(options, "repetition_penalty", maximum=LARGEST),
        repetition_window=integer(options, "repetition_window", -1, minimum=-1, maximum=MAX_TOKENS),
        presence_penalty=number(options, "presence_penalty", 0.0, minimum=-LARGEST, maximum=LARGEST),
        frequency_penalty=number(options, "frequency_penalty", 0.0, minimum=-LARGEST, maximum=LARGEST),
        logit_bias=_bias(options, vocabulary_size),
        allowed_token_ids=token_ids(options, "allowed_token_ids", vocabulary_size),
        bad_words=strings(options, "bad_words", most=MAX_BAD_WORDS),
        xtc=_xtc(options),
        dry=_dry(options),
    )


def _positive(options: JsonObject, key: str, *, maximum: float) -> float:
    """A number that 1 leaves without effect, and that can not be 0."""
    value = number(options, key, 1.0, minimum=0, maximum=maximum)
    if value == 0:
        raise BadOption(key)
    return value


def _bias(options: JsonObject, size: int) -> tuple[tuple[int, float], ...]:
    key = "logit_bias"
    pairs = options.get(key, [])
    if not isinstance(pairs, list):
        raise BadOption(key)
    found: dict[int, float] = {}
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise BadOption(key)
        token = token_id(key, pair[0], size)
        if token in found:
            raise BadOption(key, f"has the token id {token} twice")
        found[token] = number({key: pair[1]}, key, 0.0, minimum=-MAX_BIAS, maximum=MAX_BIAS)
    return tuple(found.items())


def _xtc(options: JsonObject) -> Xtc | None:
    fields = nested(options, "xtc")
    if fields is None:
        return None
    default = Xtc(probability=0.0)
    return Xtc(
        probability=number(fields, "xtc.probability", 0.0, minimum=0, maximum=1),
        threshold=number(fields, "xtc.threshold", default.threshold, minimum=0, maximum=1),
    )


def _dry(options: JsonObject) -> Dry | None:
    fields = nested(options, "dry")
    if fields is None:
        return None
    default = Dry(multiplier=0.0)
    return Dry(
        multiplier=number(fields, "dry.multiplier", 0.0, minimum=0, maximum=LARGEST),
        base=number(fields, "dry.base", default.base, minimum=0, maximum=LARGEST),
        allowed_length=integer(fields, "dry.allowed_length", default.allowed_length, minimum=0, maximum=MAX_TOKENS),
        window=integer(fields, "dry.window", default.window, minimum=-1, maximum=MAX_TOKENS),
        breakers=strings(fields, "dry.breakers", default.breakers, most=MAX_DRY_BREAKERS),
    )
