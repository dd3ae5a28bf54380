"""What Chat Completions and Completions have in common beside what is generated: model, stream, ids, and what is refused.

The fields that say how, how long, how often and with what report to generate have modules of their own; ``SHARED`` joins them.
Sources: OpenAI's API description for the official names, and for the extensions that clients send the servers of vLLM, SGLang,
llama.cpp, FreeToken and colibri.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from dragoman.core.errors import Code
from dragoman.surfaces.fields import Form, Table, honoured, ignored, record, refused
from dragoman.surfaces.openai_choices import CHOICES
from dragoman.surfaces.openai_formats import FORMATS
from dragoman.surfaces.openai_limits import LIMITS, LIMITS_SPELLING
from dragoman.surfaces.openai_readout import READOUT, READOUT_SPELLING
from dragoman.surfaces.openai_sampling import SAMPLING
from dragoman.surfaces.readers import BOOLEAN, TEXT, identifier, integer

_MAX_SLOT: Final = 2**31 - 1
"""A slot number as such; the service knows how many there are."""

_MAX_REQUEST_ID_CHARS: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """What a stream carries beside the answer."""

    include_usage: bool = False
    continuous_usage: bool = False


def _stream_options(form: Form) -> StreamOptions:
    usage = form.read(INCLUDE_USAGE, False)
    continuous = form.read(CONTINUOUS_USAGE, False)
    if not usage:
        form.ignore(CONTINUOUS_USAGE)
    return StreamOptions(include_usage=usage, continuous_usage=usage and continuous)


INCLUDE_USAGE: Final = honoured(
    "include_usage", BOOLEAN, "A last chunk with `usage`; it is `null` in the others (S53)."
)
CONTINUOUS_USAGE: Final = honoured(
    "continuous_usage_stats", BOOLEAN, "With `include_usage`: every chunk has the usage so far, as vLLM sends it."
)
STREAM_OPTIONS_FIELDS: Final = Table(
    INCLUDE_USAGE,
    CONTINUOUS_USAGE,
    ignored("include_obfuscation", "No padding is sent."),
)

MODEL: Final = honoured("model", TEXT, "An id from `/v1/models`; absent means the served model.")
STREAM: Final = honoured("stream", BOOLEAN, "Server-sent events in place of one object.")
STREAM_OPTIONS: Final = honoured(
    "stream_options", record(STREAM_OPTIONS_FIELDS, _stream_options), "See below; without `stream` it has no effect."
)
CACHE_SLOT: Final = honoured("cache_slot", integer(0, _MAX_SLOT), "Wait for this slot, not for any (S133).")
REQUEST_ID: Final = honoured(
    "request_id", identifier(_MAX_REQUEST_ID_CHARS), "Becomes the reply's id, after its prefix (S50)."
)

_NO_SAMPLER: Final = "there is no such sampler here; send its neutral value, or leave it out"
_SPREAD: Final = "requests are not spread over several machines"
_NO_HINT: Final = "Prompts share their cached prefixes without a hint."

SHARED: Final = Table(
    MODEL,
    STREAM,
    STREAM_OPTIONS,
    *CHOICES,
    *SAMPLING,
    *LIMITS,
    *FORMATS,
    *READOUT,
    CACHE_SLOT,
    REQUEST_ID,
    ignored("user", "Nothing is kept per user (S46)."),
    ignored("session_id", _NO_HINT),
    ignored("n_cache_reuse", _NO_HINT),
    ignored("extra_key", "Requests are not classified."),
    ignored("custom_labels", "Metrics have no labels of clients."),
    ignored("n_keep", "A context is never shifted: an answer ends where it is full."),
    ignored("n_discard", "A context is never shifted: an answer ends where it is full."),
    ignored("truncation_side", "Nothing is cut, at neither side."),
    ignored("stream_interval", "Each token is sent as soon as it may be shown."),
    ignored("sse_ping_interval", "Comments keep a silent stream alive."),
    ignored("timings_per_token", "Times are in `/metrics`."),
    ignored("return_progress", "Comments keep a silent stream alive."),
    ignored("return_token_offsets", "Of vLLM's render endpoints."),
    ignored("return_mm_kwargs", "Of vLLM's render endpoints."),
    ignored("return_cached_tokens_details", "There is one cache; `usage` says what came from it."),
    ignored("routed_experts_prompt_start", "No experts are reported."),
    ignored("routed_experts_start_len", "No experts are reported."),
    ignored("mirostat_tau", "Of `mirostat`, which cannot be turned on."),
    ignored("mirostat_eta", "Of `mirostat`, which cannot be turned on."),
    ignored("dynatemp_exponent", "Of `dynatemp_range`, which cannot be set."),
    refused("max_new_tokens", "send `max_tokens`"),
    refused("max_output_tokens", "send `max_tokens`"),
    refused("n_predict", "send `max_tokens`"),
    refused("t_max_predict_ms", "budgets are tokens: send `max_tokens`", 0, -1),
    refused("stop_regex", "send `stop`: expressions are not matched"),
    refused("no_stop_trim", "send `include_stop_str_in_output`", False),
    refused("repetition_detection", "answers end at their stops and budget alone"),
    refused("id_slot", "send `cache_slot`", -1),
    refused("rid", "send `request_id`"),
    refused("cache_prompt", "prompts always share their cached prefixes", True),
    refused("cache_salt", "cached prefixes are separated by API key"),
    refused("session_params", "prompts share their cached prefixes by themselves", {}),
    refused("lora", "no adapters are loaded", []),
    refused("lora_path", "no adapters are loaded"),
    refused("ngram_corpus_id", "tokens are not predicted from a corpus"),
    refused("mirostat", _NO_SAMPLER, 0),
    refused("dynatemp_range", _NO_SAMPLER, 0),
    refused("top_n_sigma", _NO_SAMPLER, -1, 0),
    refused("adaptive_target", _NO_SAMPLER, -1),
    refused("min_keep", _NO_SAMPLER, 0),
    refused("n_indent", _NO_SAMPLER, 0),
    refused("watermarking", _NO_SAMPLER, False),
    refused("samplers", "the order of samplers is fixed (S41)"),
    refused("logits_processors", "code is not taken from requests", []),
    refused("custom_logit_processor", "code is not taken from requests"),
    refused("custom_params", "code is not taken from requests", {}),
    refused("vllm_xargs", "there are no extensions that read it", {}),
    refused("truncate_prompt_tokens", "a prompt is never cut; one that does not fit is an error"),
    refused("kv_transfer_params", _SPREAD, {}),
    refused("ec_transfer_params", _SPREAD, {}),
    refused("bootstrap_host", _SPREAD),
    refused("bootstrap_port", _SPREAD),
    refused("bootstrap_room", _SPREAD),
    refused("routed_dp_rank", _SPREAD),
    refused("disagg_prefill_dp_rank", _SPREAD),
    refused("data_parallel_rank", _SPREAD),
    refused("images_config", "pictures are read in the model's own way"),
    refused("priority", "requests are served in the order of their arrival", 0),
    refused("group_score", "answers are not scored as a group (S105)", False, code=Code.UNSUPPORTED_VALUE),
)
"""All that both surfaces have, in the order of the documentation."""

SHARED_SPELLING: Final[Mapping[str, str]] = MappingProxyType({**LIMITS_SPELLING, **READOUT_SPELLING})
"""Features that errors may name, where both surfaces spell them otherwise."""


def streaming(form: Form) -> tuple[bool, StreamOptions]:
    """Whether to stream, and how. Options without a stream are listed as ignored; OpenAI's SDK sends them."""
    stream = form.read(STREAM, False)
    options = form.read(STREAM_OPTIONS, StreamOptions())
    if not stream:
        form.ignore(STREAM_OPTIONS)
    return stream, options
