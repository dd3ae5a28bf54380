"""Walks the field tables: a row without a sample here fails, so no row can be added untested."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import chain

import pytest
from jsonschema import Draft202012Validator
from openai.types import completion_create_params as official_completions
from openai.types.chat import completion_create_params as official_chat

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.request import Generate, OutputLimits, Readout, SamplingParams
from dragoman.surfaces import openai_chat, openai_completions
from dragoman.surfaces.fields import Disposition
from dragoman.surfaces.openai_chat import ChatCompletions
from dragoman.surfaces.openai_completions import Completions

CHAT, COMPLETIONS = ChatCompletions(), Completions()
TABLES = {CHAT: openai_chat.FIELDS, COMPLETIONS: openai_completions.FIELDS}
BASE = {CHAT: {"messages": [{"role": "user", "content": "hi"}]}, COMPLETIONS: {"prompt": "hi"}}

TOOL = {"type": "function", "function": {"name": "f"}}

# A field's value, and the fields without which it would have no effect.
HONOURED = {
    "messages": [{"role": "user", "content": "another"}],
    "prompt": "another",
    "model": "some-model",
    "max_tokens": 5,
    "max_completion_tokens": 5,
    "n": 2,
    "best_of": 2,
    "temperature": 0.5,
    "top_p": 0.5,
    "seed": 7,
    "presence_penalty": 0.5,
    "frequency_penalty": -0.5,
    "logit_bias": {"5": -100},
    "top_k": 40,
    "min_p": 0.05,
    "repetition_penalty": 1.1,
    "allowed_token_ids": [1],
    "bad_words": ["x"],
    "typical_p": 0.5,
    "repeat_penalty": 1.1,
    "repeat_last_n": 32,
    "xtc_probability": 0.5,
    "xtc_threshold": 0.2,
    "dry_multiplier": 0.8,
    "dry_base": 2,
    "dry_allowed_length": 3,
    "dry_penalty_last_n": 64,
    "dry_sequence_breakers": ["."],
    "stop": "\n",
    "min_tokens": 3,
    "stop_token_ids": [2],
    "ignore_eos": True,
    "include_stop_str_in_output": True,
    "x_colibri_ignore_leading_stop": True,
    "response_format": {"type": "json_object"},
    "structured_outputs": {"regex": "a"},
    "guided_json": {"type": "array"},
    "guided_regex": "a",
    "guided_choice": ["a"],
    "guided_grammar": "start: /a+/",
    "json_schema": {},
    "grammar": 'root ::= "a"',
    "regex": "a+",
    "ebnf": 'root ::= "a"',
    "prompt_logprobs": 1,
    "return_token_ids": True,
    "skip_special_tokens": False,
    "echo": True,
    "suffix": "after",
    "top_logprobs": 3,
    "stream": True,
    "stream_options": {"include_usage": True},
    "cache_slot": 2,
    "request_id": "mine",
    "parse_special": False,
    "add_special_tokens": False,
    "add_generation_prompt": False,
    "continue_final_message": False,
    "chat_template_kwargs": {"a": 1},
    "enable_thinking": False,
    "thinking_token_budget": 100,
    "thinking_budget_tokens": 100,
    "reasoning_effort": "high",
    "preserve_thinking": True,
    "tools": [TOOL],
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "functions": [{"name": "f"}],
    "function_call": {"name": "f"},
    "strict_tool_calls": True,
}
HONOURED_AS = {CHAT: HONOURED | {"logprobs": True}, COMPLETIONS: HONOURED | {"logprobs": 5}}
TURN = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Well"}]
WITH = {
    "stream_options": {"stream": True},
    "top_logprobs": {"logprobs": True},
    "repeat_last_n": {"repeat_penalty": 1.1},
    "xtc_threshold": {"xtc_probability": 0.5},
    "dry_base": {"dry_multiplier": 0.8},
    "dry_allowed_length": {"dry_multiplier": 0.8},
    "dry_penalty_last_n": {"dry_multiplier": 0.8},
    "dry_sequence_breakers": {"dry_multiplier": 0.8},
    "continue_final_message": {"messages": TURN},
    "tool_choice": {"tools": [TOOL]},
    "parallel_tool_calls": {"tools": [TOOL]},
    "function_call": {"functions": [{"name": "f"}]},
    "strict_tool_calls": {"tools": [TOOL]},
}
IGNORED = {
    "user": "u",
    "store": True,
    "metadata": {"a": "b"},
    "service_tier": "auto",
    "safety_identifier": "s",
    "moderation": {"model": "m"},
    "prompt_cache_key": "k",
    "prompt_cache_options": {"ttl": "1h"},
    "prompt_cache_retention": "24h",
    "verbosity": "low",
    "web_search_options": {},
    "prediction": {"type": "content", "content": "x"},
    "audio": {"voice": "alloy", "format": "wav"},
}
IGNORED_EXTENSIONS = {
    "guided_decoding_backend": "xgrammar",
    "guided_whitespace_pattern": " ?",
    "grammar_lazy": True,
    "reasoning": {"effort": "high"},
    "thinking": {"type": "enabled"},
    "session_id": "s",
    "n_cache_reuse": 256,
    "extra_key": "k",
    "custom_labels": {"a": "b"},
    "n_keep": -1,
    "n_discard": 10,
    "truncation_side": "left",
    "stream_interval": 4,
    "sse_ping_interval": 30,
    "timings_per_token": True,
    "return_progress": True,
    "return_token_offsets": True,
    "return_mm_kwargs": False,
    "return_cached_tokens_details": True,
    "routed_experts_prompt_start": 5,
    "routed_experts_start_len": 5,
    "mirostat_tau": 5.0,
    "mirostat_eta": 0.1,
    "dynatemp_exponent": 1.0,
}
REFUSED = {
    "n_cmpl": 2,
    "use_beam_search": True,
    "length_penalty": 2,
    "logprob_token_ids": [1],
    "return_tokens_as_token_ids": True,
    "spaces_between_special_tokens": False,
    "n_probs": 3,
    "post_sampling_probs": True,
    "return_tokens": True,
    "return_prompt_token_ids": True,
    "return_prompt_text": True,
    "return_hidden_states": "last",
    "return_routed_experts": True,
    "return_meta_info": True,
    "response_fields": ["content"],
    "max_new_tokens": 5,
    "max_output_tokens": 5,
    "n_predict": 5,
    "t_max_predict_ms": 100,
    "stop_regex": "a+",
    "no_stop_trim": True,
    "repetition_detection": {"max_pattern_size": 3},
    "id_slot": 1,
    "rid": "mine",
    "cache_prompt": False,
    "cache_salt": "s",
    "session_params": {"id": "s"},
    "lora": [{"id": 0, "scale": 1}],
    "lora_path": "adapter",
    "ngram_corpus_id": "c",
    "mirostat": 2,
    "dynatemp_range": 0.5,
    "top_n_sigma": 1.0,
    "adaptive_target": 0.5,
    "min_keep": 2,
    "n_indent": 4,
    "watermarking": True,
    "samplers": ["top_k"],
    "logits_processors": ["x"],
    "custom_logit_processor": "x",
    "custom_params": {"a": 1},
    "vllm_xargs": {"a": 1},
    "truncate_prompt_tokens": 10,
    "kv_transfer_params": {"do_remote_decode": True},
    "ec_transfer_params": {"a": 1},
    "bootstrap_host": "10.0.0.1",
    "bootstrap_port": 8998,
    "bootstrap_room": 5,
    "routed_dp_rank": 1,
    "disagg_prefill_dp_rank": 1,
    "data_parallel_rank": 1,
    "images_config": {},
    "grammar_triggers": [{"type": 0, "value": "x"}],
    "priority": 1,
    "group_score": True,
    "prompt_embeds": "AAAA",
    "modalities": ["audio"],
    "tools": [TOOL],
    "tool_choice": "required",
    "strict_tool_calls": True,
    "include_reasoning": False,
    "separate_reasoning": False,
    "stream_reasoning": False,
    "reasoning_format": "none",
    "chat_template": "{{ ().__class__ }}",
    "documents": [{"text": "d"}],
    "task": "query",
    "input_ids": [1],
    "previous_response_id": "resp_1",
    "conversation": "conv_1",
    "media_io_kwargs": {"video": {}},
    "mm_processor_kwargs": {"a": 1},
    "max_dynamic_patch": 2,
    "min_dynamic_patch": 1,
    "use_audio_in_video": True,
}
REFUSED_AS = {CHAT: REFUSED | {"add_special_tokens": True, "echo": True}, COMPLETIONS: REFUSED}


def rows(disposition: Disposition):
    return [
        pytest.param(surface, row, id=f"{surface.name}-{row.name}")
        for surface, table in TABLES.items()
        for row in table
        if row.disposition is disposition
    ]


@pytest.mark.parametrize("surface, row", rows(Disposition.HONOURED))
def test_an_honoured_field_changes_the_call(surface, row):
    plain = surface.parse(BASE[surface] | WITH.get(row.name, {}))
    asked = surface.parse(BASE[surface] | WITH.get(row.name, {}) | {row.name: HONOURED_AS[surface][row.name]})
    assert replace(asked, spelling=plain.spelling) != plain
    assert asked.ignored == ()


@pytest.mark.seeds("S46")
@pytest.mark.parametrize("surface, row", rows(Disposition.IGNORED))
def test_a_field_without_effect_is_listed_and_changes_nothing_else(surface, row):
    plain = surface.parse(BASE[surface])
    asked = surface.parse(BASE[surface] | {row.name: (IGNORED | IGNORED_EXTENSIONS)[row.name]})
    assert asked == replace(plain, ignored=(row.name,))


@pytest.mark.parametrize("surface, row", rows(Disposition.REFUSED))
def test_a_refused_field_is_refused_by_its_name(surface, row):
    with pytest.raises(Unsupported) as caught:
        surface.parse(BASE[surface] | {row.name: REFUSED_AS[surface][row.name]})
    assert caught.value.param == row.name
    assert caught.value.code is row.code
    assert row.name in caught.value.message
    reply = surface.error(caught.value)
    assert (reply.status, reply.body["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize("surface, row", rows(Disposition.REFUSED))
def test_a_refused_field_may_carry_what_asks_for_nothing(surface, row):
    plain = surface.parse(BASE[surface])
    for value in (*row.neutral, None):
        assert surface.parse(BASE[surface] | {row.name: value}) == plain


@pytest.mark.parametrize("surface", TABLES, ids=lambda surface: surface.name)
def test_every_field_may_be_null_at_once(surface):
    nulls = {row.name: None for row in TABLES[surface]}
    assert surface.parse(nulls | BASE[surface]) == surface.parse(BASE[surface])


@pytest.mark.parametrize(
    "surface, official",
    [
        (CHAT, official_chat.CompletionCreateParamsNonStreaming),
        (COMPLETIONS, official_completions.CompletionCreateParamsNonStreaming),
    ],
    ids=["chat", "completions"],
)
def test_every_official_field_has_a_row(surface, official):
    known = {row.name for row in TABLES[surface]}
    asked = set(chain.from_iterable(base.__annotations__ for base in (official, *official.__orig_bases__)))
    assert {"model", "temperature", "stream"} <= asked
    assert asked - known == set()


@pytest.mark.seeds("S46")
def test_all_bookkeeping_at_once_is_listed_once_each():
    body = BASE[CHAT] | IGNORED | {"stream": True, "stream_options": {"include_obfuscation": False}}
    call = CHAT.parse(body)
    assert set(call.ignored) == {*IGNORED, "stream_options.include_obfuscation"}
    assert call.operation == CHAT.parse(BASE[CHAT]).operation


@pytest.mark.parametrize("surface", TABLES, ids=lambda surface: surface.name)
def test_an_unknown_field_is_listed_or_refused_when_strict(surface):
    assert surface.parse(BASE[surface] | {"foo": 1}).ignored == ("foo",)
    with pytest.raises(InvalidRequest) as caught:
        surface.parse(BASE[surface] | {"foo": 1}, strict=True)
    assert (caught.value.param, caught.value.code) == ("foo", Code.UNKNOWN_FIELD)


@pytest.mark.parametrize("surface", TABLES, ids=lambda surface: surface.name)
def test_strictness_reaches_inside(surface):
    body = BASE[surface] | {"stream": True, "stream_options": {"foo": 1}}
    assert surface.parse(body).ignored == ("stream_options.foo",)
    with pytest.raises(InvalidRequest) as caught:
        surface.parse(body, strict=True)
    assert caught.value.param == "stream_options.foo"


@pytest.mark.parametrize(
    "field, value, param",
    [
        ("stream", "true", "stream"),
        ("stream", 1, "stream"),
        ("stream_options", True, "stream_options"),
        ("stream_options", {"include_usage": "yes"}, "stream_options.include_usage"),
        ("max_tokens", -1, "max_tokens"),
        ("max_tokens", 2.9, "max_tokens"),
        ("max_tokens", True, "max_tokens"),
        ("max_tokens", 2**31, "max_tokens"),
        ("max_tokens", 2**40, "max_tokens"),
        ("max_tokens", "16", "max_tokens"),
        ("cache_slot", -1, "cache_slot"),
        ("cache_slot", "0", "cache_slot"),
        ("echo", "yes", "echo"),
        ("response_format", "json_object", "response_format"),
        ("response_format", {"type": "xml"}, "response_format.type"),
        ("request_id", "", "request_id"),
        ("request_id", "a b", "request_id"),
        ("request_id", "a\n", "request_id"),
        ("request_id", "x" * 129, "request_id"),
        ("model", 5, "model"),
        ("model", "\udfff", "model"),
    ],
)
@pytest.mark.seeds("S22", "S70", "S73")
@pytest.mark.parametrize("surface", TABLES, ids=lambda surface: surface.name)
def test_a_malformed_value_is_refused_at_its_path(surface, field, value, param):
    with pytest.raises(InvalidRequest) as caught:
        surface.parse(BASE[surface] | {field: value})
    assert (caught.value.param, caught.value.code) == (param, Code.INVALID_VALUE)


@pytest.mark.parametrize("surface", TABLES, ids=lambda surface: surface.name)
def test_what_an_engine_may_name_is_a_field_of_this_client(surface):
    """Features are named as the neutral model names them; an error must name a field that has a row."""
    model = (Generate, SamplingParams, OutputLimits, Readout)
    inner = {
        "sampling",
        "limits",
        "readout",
        "keep_prefix",
    }  # groups and wishes, which nothing can be wrong with as such
    features = {"prompt", "output_budget", "ids", "tools", "tool_choice"} | {
        field.name for part in model for field in fields(part)
    } - inner
    call = surface.parse(BASE[surface])
    spelled = {feature: call.spelling.get(feature, feature) for feature in features}
    assert {feature: name for feature, name in spelled.items() if TABLES[surface].get(name) is None} == {}


@pytest.mark.parametrize("surface", TABLES, ids=lambda surface: surface.name)
def test_what_the_samples_hold_is_what_the_schemas_say(surface):
    for row in TABLES[surface]:
        if row.disposition is Disposition.HONOURED:
            Draft202012Validator.check_schema(row.schema)
            validator = Draft202012Validator(row.schema)
            validator.validate(HONOURED_AS[surface][row.name])
            assert row.required or validator.is_valid(None)


@pytest.mark.seeds("S58")
@pytest.mark.parametrize("value", [{"type": "text"}, {}, {"foo": 1}, {"type": None}])
@pytest.mark.parametrize("surface", TABLES, ids=lambda surface: surface.name)
def test_a_response_format_that_asks_for_text_is_let_through(surface, value):
    asked, plain = surface.parse(BASE[surface] | {"response_format": value}), surface.parse(BASE[surface])
    assert replace(asked, ignored=()) == plain


@pytest.mark.seeds("S105")
@pytest.mark.parametrize("surface", TABLES, ids=lambda surface: surface.name)
def test_group_score_is_refused_before_the_prompt_is_looked_at(surface):
    with pytest.raises(Unsupported) as caught:
        surface.parse({"group_score": 1, "prompt": [], "messages": []})
    assert (caught.value.param, caught.value.code) == ("group_score", Code.UNSUPPORTED_VALUE)


@pytest.mark.parametrize("surface", TABLES, ids=lambda surface: surface.name)
def test_a_body_must_be_an_object(surface):
    with pytest.raises(InvalidRequest) as caught:
        surface.parse([])
    assert caught.value.param is None
