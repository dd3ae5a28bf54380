"""The fields that Chat Completions and Completions share, and what they become in the neutral model.

Sources: OpenAI's API description for the official names; vLLM's and llama.cpp's servers for the extensions that
their clients send. What a later feature will honour is refused here until it does.
"""

from __future__ import annotations

import re
from typing import Final

from dragoman.core.errors import Code
from dragoman.core.json import Json
from dragoman.core.limits import MAX_SEED, MAX_STOP_CHARS, MAX_STOPS, MAX_TOKENS
from dragoman.core.request import OutputLimits, SamplingParams
from dragoman.surfaces.fields import Form, Table, honoured, ignored, refused
from dragoman.surfaces.readers import BOOLEAN, TEXT, Place, Reader, integer, number

_MAX_TOP_K: Final = 2**31 - 1
"""Beyond every vocabulary, and what a C int holds."""

_MAX_SLOT: Final = 2**31 - 1
"""A slot number as such; the service knows how many there are."""

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
"""Safe in a header, a log line and a URL path."""


def _stop(value: Json, at: Place) -> str:
    text = TEXT.read(value, at)
    if not 1 <= len(text) <= MAX_STOP_CHARS:
        raise at.wrong(f"{at.path} must have 1 to {MAX_STOP_CHARS} characters; got {len(text)}")
    return text


def _stops(value: Json, at: Place) -> tuple[str, ...]:
    if isinstance(value, str):
        return (_stop(value, at),)
    if isinstance(value, list) and 1 <= len(value) <= MAX_STOPS:
        return tuple(_stop(item, at.child(index)) for index, item in enumerate(value))
    raise at.invalid(STOPS.wants, value)


def _top_k(value: Json, at: Place) -> int:
    return max(0, _TOP_K.read(value, at))


def _request_id(value: Json, at: Place) -> str:
    text = TEXT.read(value, at)
    if _REQUEST_ID.fullmatch(text) is None:
        raise at.wrong(f"{at.path} must be {REQUEST_IDS.wants}")
    return text


def _stream_options(value: Json, at: Place) -> bool:
    return Form(value, STREAM_OPTIONS_FIELDS, at).read(INCLUDE_USAGE, False)


def _response_format(value: Json, at: Place) -> Json:
    if isinstance(value, dict):
        kind = value.get("type") or "text"
        if kind == "text":
            return {"type": "text"}
        if kind in ("json_object", "json_schema", "grammar", "structural_tag"):
            raise at.unsupported(f'{at.path} "{kind}" is not supported: output cannot be constrained yet')
    raise at.invalid('an object such as {"type": "text"}', value)


STOPS: Final = Reader(f"a non-empty string, or an array of 1 to {MAX_STOPS} of them", _stops)
REQUEST_IDS: Final = Reader("1 to 128 letters, digits, and any of _ . -", _request_id)
BUDGET: Final = integer(0, MAX_TOKENS)
_TOP_K: Final = integer(-1, _MAX_TOP_K)

MODEL: Final = honoured("model", TEXT, "An id from `/v1/models`; absent means the served model.")
STREAM: Final = honoured("stream", BOOLEAN, "Server-sent events in place of one object.")
STREAM_OPTIONS: Final = honoured("stream_options", Reader("an object", _stream_options), "See below.")
INCLUDE_USAGE: Final = honoured(
    "include_usage", BOOLEAN, "A last chunk with `usage`; it is `null` in the others (S53)."
)
STREAM_OPTIONS_FIELDS: Final = Table(
    INCLUDE_USAGE,
    ignored("include_obfuscation", "No padding is sent."),
    ignored("continuous_usage_stats", "Usage is reported once, at the end."),
)

TEMPERATURE: Final = honoured("temperature", number(0, 2), "Default 1; 0 takes the likeliest token.")
TOP_P: Final = honoured("top_p", number(0, 1, above=True), "Default 1, which is off.")
TOP_K: Final = honoured("top_k", Reader(_TOP_K.wants, _top_k), "Default 0; 0 and -1 are off.")
MIN_P: Final = honoured("min_p", number(0, 1), "Share of the likeliest token's probability; default 0, off (S32).")
SEED: Final = honoured("seed", integer(-MAX_SEED - 1, MAX_SEED), "Equal seeds and requests give equal draws.")

MAX_TOKENS_FIELD: Final = honoured("max_tokens", BUDGET, "A ceiling on generated tokens; 0 generates none (S21, S22).")
STOP: Final = honoured("stop", STOPS, "Ends the answer; never part of it (S27).")
IGNORE_EOS: Final = honoured("ignore_eos", BOOLEAN, "Generate past the model's own end; for benchmarks.")
CACHE_SLOT: Final = honoured("cache_slot", integer(0, _MAX_SLOT), "Wait for this slot, not for any (S133).")
REQUEST_ID: Final = honoured("request_id", REQUEST_IDS, "Becomes the reply's id, after its prefix (S50).")

_ONLY_DEFAULT: Final = "send its default, or leave it out"
_NO_GRAMMAR: Final = "output cannot be constrained yet"
_NO_PROCESSORS: Final = "probabilities are not edited yet; send the neutral value, or leave it out"

SHARED: Final = Table(
    MODEL,
    STREAM,
    STREAM_OPTIONS,
    TEMPERATURE,
    TOP_P,
    TOP_K,
    MIN_P,
    SEED,
    STOP,
    IGNORE_EOS,
    CACHE_SLOT,
    REQUEST_ID,
    ignored("user", "Nothing is kept per user."),
    refused("n", "one choice per request; send 1", 1, reader=integer(1, 128), code=Code.UNSUPPORTED_VALUE),
    refused("best_of", "one choice per request; send 1", 1),
    refused("presence_penalty", _NO_PROCESSORS, 0),
    refused("frequency_penalty", _NO_PROCESSORS, 0),
    refused("repetition_penalty", _NO_PROCESSORS, 1),
    refused("repeat_penalty", _NO_PROCESSORS, 1),
    refused("length_penalty", _NO_PROCESSORS, 1),
    refused("logit_bias", _NO_PROCESSORS, {}),
    refused("bad_words", _NO_PROCESSORS, []),
    refused("allowed_token_ids", _NO_PROCESSORS),
    refused("logits_processors", _NO_PROCESSORS, []),
    refused("n_predict", "send max_tokens"),
    refused("n_probs", "log probabilities are not read out yet", 0),
    refused("id_slot", "send cache_slot", -1),
    refused("cache_prompt", "prompts always share their cached prefixes", True),
    refused("lora", "no adapters are loaded", []),
    refused("min_tokens", _NO_PROCESSORS, 0),
    refused("typical_p", _NO_PROCESSORS, 1),
    refused("mirostat", _NO_PROCESSORS, 0),
    refused("dynatemp_range", _NO_PROCESSORS, 0),
    refused("xtc_probability", _NO_PROCESSORS, 0),
    refused("dry_multiplier", _NO_PROCESSORS, 0),
    refused("samplers", "the order of samplers is fixed (S41)"),
    refused("use_beam_search", "tokens are sampled", False),
    refused("stop_token_ids", "only strings can stop an answer yet", []),
    refused("include_stop_str_in_output", _ONLY_DEFAULT, False),
    refused("skip_special_tokens", _ONLY_DEFAULT, True),
    refused("spaces_between_special_tokens", _ONLY_DEFAULT, True),
    refused("truncate_prompt_tokens", "a prompt is never cut; one that does not fit is an error"),
    refused("prompt_logprobs", "log probabilities are not read out yet"),
    refused("return_tokens_as_token_ids", _ONLY_DEFAULT, False),
    refused("return_token_ids", _ONLY_DEFAULT, False),
    refused(
        "response_format",
        "only text",
        {"type": "text"},
        reader=Reader("an object", _response_format),
        code=Code.UNSUPPORTED_VALUE,
    ),
    refused("grammar", _NO_GRAMMAR, ""),
    refused("json_schema", _NO_GRAMMAR),
    refused("structured_outputs", _NO_GRAMMAR),
    refused("guided_json", _NO_GRAMMAR),
    refused("guided_regex", _NO_GRAMMAR),
    refused("guided_choice", _NO_GRAMMAR),
    refused("guided_grammar", _NO_GRAMMAR),
    refused("priority", "requests are served in the order of their arrival", 0),
    refused("cache_salt", "cached prefixes are separated by API key"),
    refused("group_score", "answers are not scored as a group (S105)", False, code=Code.UNSUPPORTED_VALUE),
    refused("x_colibri_ignore_leading_stop", _ONLY_DEFAULT, False, reader=BOOLEAN),
)


def sampling(form: Form) -> SamplingParams:
    """How the client wants tokens drawn."""
    return SamplingParams(
        temperature=form.read(TEMPERATURE, 1.0),
        top_p=form.read(TOP_P, 1.0),
        top_k=form.read(TOP_K, 0),
        min_p=form.read(MIN_P, 0.0),
        seed=form.read(SEED, None),
    )


def limits(form: Form, max_tokens: int | None) -> OutputLimits:
    """When the client wants the answer to end."""
    return OutputLimits(max_tokens=max_tokens, stop=form.read(STOP, ()), ignore_eos=form.read(IGNORE_EOS, False))
