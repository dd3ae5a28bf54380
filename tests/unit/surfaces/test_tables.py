"""Walks the field tables: a row without a sample here fails, so no row can be added untested."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import pytest
from openai.types import completion_create_params as official_completions
from openai.types.chat import completion_create_params as official_chat

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.surfaces import openai_chat, openai_completions
from dragoman.surfaces.fields import Disposition
from dragoman.surfaces.openai_chat import ChatCompletions
from dragoman.surfaces.openai_completions import Completions

CHAT, COMPLETIONS = ChatCompletions(), Completions()
TABLES = {CHAT: openai_chat.FIELDS, COMPLETIONS: openai_completions.FIELDS}
BASE = {CHAT: {"messages": [{"role": "user", "content": "hi"}]}, COMPLETIONS: {"prompt": "hi"}}

HONOURED = {
    "messages": [{"role": "user", "content": "another"}],
    "prompt": "another",
    "model": "some-model",
    "max_tokens": 5,
    "max_completion_tokens": 5,
    "temperature": 0.5,
    "top_p": 0.5,
    "top_k": 40,
    "min_p": 0.05,
    "seed": 7,
    "stop": "\n",
    "stream": True,
    "stream_options": {"include_usage": True},
    "ignore_eos": True,
    "cache_slot": 2,
    "request_id": "mine",
    "parse_special": False,
    "add_special_tokens": False,
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
    "parallel_tool_calls": True,
    "verbosity": "low",
    "web_search_options": {},
    "top_logprobs": 3,
}
TOOL = {"type": "function", "function": {"name": "f"}}
REFUSED = {
    "n": 2,
    "best_of": 2,
    "presence_penalty": 0.5,
    "frequency_penalty": -0.5,
    "repetition_penalty": 1.1,
    "repeat_penalty": 1.1,
    "length_penalty": 2,
    "logit_bias": {"AI": -100},
    "bad_words": ["x"],
    "allowed_token_ids": [1],
    "logits_processors": ["x"],
    "min_tokens": 3,
    "typical_p": 0.5,
    "mirostat": 2,
    "dynatemp_range": 0.5,
    "xtc_probability": 0.5,
    "dry_multiplier": 0.8,
    "n_predict": 5,
    "n_probs": 3,
    "id_slot": 1,
    "cache_prompt": False,
    "lora": [{"id": 0, "scale": 1}],
    "samplers": ["top_k"],
    "use_beam_search": True,
    "stop_token_ids": [2],
    "include_stop_str_in_output": True,
    "skip_special_tokens": False,
    "spaces_between_special_tokens": False,
    "truncate_prompt_tokens": 10,
    "prompt_logprobs": 1,
    "return_tokens_as_token_ids": True,
    "return_token_ids": True,
    "response_format": {"type": "json_object"},
    "grammar": "root ::= (",
    "json_schema": {},
    "structured_outputs": {"regex": "a"},
    "guided_json": {},
    "guided_regex": "a",
    "guided_choice": ["a"],
    "guided_grammar": "root ::= a",
    "priority": 1,
    "cache_salt": "s",
    "group_score": True,
    "x_colibri_ignore_leading_stop": True,
    "echo": True,
    "suffix": "after",
    "modalities": ["audio"],
    "audio": {"voice": "alloy", "format": "wav"},
    "prediction": {"type": "content", "content": "x"},
    "tools": [TOOL],
    "tool_choice": "required",
    "functions": [{"name": "f"}],
    "function_call": {"name": "f"},
    "reasoning_effort": "high",
    "include_reasoning": False,
    "enable_thinking": True,
    "preserve_thinking": True,
    "thinking_token_budget": 100,
    "chat_template": "{{ ().__class__ }}",
    "chat_template_kwargs": {"a": 1},
    "add_generation_prompt": False,
    "continue_final_message": True,
    "documents": [{"text": "d"}],
}
REFUSED_AS = {
    CHAT: REFUSED | {"logprobs": True, "add_special_tokens": True},
    COMPLETIONS: REFUSED | {"logprobs": 5},
}


def rows(disposition: Disposition):
    return [
        pytest.param(surface, row, id=f"{surface.name}-{row.name}")
        for surface, table in TABLES.items()
        for row in table
        if row.disposition is disposition
    ]


@pytest.mark.parametrize("surface, row", rows(Disposition.HONOURED))
def test_an_honoured_field_changes_the_call(surface, row):
    plain = surface.parse(BASE[surface])
    asked = surface.parse(BASE[surface] | {row.name: HONOURED[row.name]})
    assert replace(asked, spelling=plain.spelling) != plain
    assert asked.ignored == ()


@pytest.mark.seeds("S46")
@pytest.mark.parametrize("surface, row", rows(Disposition.IGNORED))
def test_a_field_without_effect_is_listed_and_changes_nothing_else(surface, row):
    plain = surface.parse(BASE[surface])
    asked = surface.parse(BASE[surface] | {row.name: IGNORED[row.name]})
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
    body = BASE[CHAT] | IGNORED | {"stream_options": {"include_obfuscation": False, "continuous_usage_stats": True}}
    call = CHAT.parse(body)
    assert set(call.ignored) == {
        *IGNORED,
        "stream_options.include_obfuscation",
        "stream_options.continuous_usage_stats",
    }
    assert call.operation == CHAT.parse(BASE[CHAT]).operation


@pytest.mark.parametrize("surface", TABLES, ids=lambda surface: surface.name)
def test_an_unknown_field_is_listed_or_refused_when_strict(surface):
    assert surface.parse(BASE[surface] | {"foo": 1}).ignored == ("foo",)
    with pytest.raises(InvalidRequest) as caught:
        surface.parse(BASE[surface] | {"foo": 1}, strict=True)
    assert (caught.value.param, caught.value.code) == ("foo", Code.UNKNOWN_FIELD)


@pytest.mark.parametrize("surface", TABLES, ids=lambda surface: surface.name)
def test_strictness_reaches_inside(surface):
    body = BASE[surface] | {"stream_options": {"foo": 1}}
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
        ("temperature", -0.01, "temperature"),
        ("temperature", 2.01, "temperature"),
        ("temperature", "1", "temperature"),
        ("temperature", False, "temperature"),
        ("top_p", 0, "top_p"),
        ("top_p", 1.01, "top_p"),
        ("top_k", -2, "top_k"),
        ("top_k", 1.0, "top_k"),
        ("min_p", -0.1, "min_p"),
        ("min_p", 1.1, "min_p"),
        ("seed", 2**63, "seed"),
        ("seed", -(2**63) - 1, "seed"),
        ("seed", 1.5, "seed"),
        ("max_tokens", -1, "max_tokens"),
        ("max_tokens", 2.9, "max_tokens"),
        ("max_tokens", True, "max_tokens"),
        ("max_tokens", 2**31, "max_tokens"),
        ("max_tokens", 2**40, "max_tokens"),
        ("max_tokens", "16", "max_tokens"),
        ("stop", "", "stop"),
        ("stop", [], "stop"),
        ("stop", ["a", ""], "stop.1"),
        ("stop", ["a", "b", "c", "d", "e"], "stop"),
        ("stop", ["a", 5], "stop.1"),
        ("stop", [None], "stop.0"),
        ("stop", 5, "stop"),
        ("stop", "x" * 1025, "stop"),
        ("stop", "\ud800", "stop"),
        ("cache_slot", -1, "cache_slot"),
        ("cache_slot", "0", "cache_slot"),
        ("ignore_eos", 1, "ignore_eos"),
        ("n", 0, "n"),
        ("n", 1.5, "n"),
        ("n", True, "n"),
        ("echo", "yes", "echo"),
        ("response_format", "json_object", "response_format"),
        ("response_format", {"type": "xml"}, "response_format"),
        ("request_id", "", "request_id"),
        ("request_id", "a b", "request_id"),
        ("request_id", "a\n", "request_id"),
        ("request_id", "x" * 129, "request_id"),
        ("model", 5, "model"),
        ("model", "\udfff", "model"),
    ],
)
@pytest.mark.seeds("S22", "S26", "S27", "S70", "S73")
@pytest.mark.parametrize("surface", TABLES, ids=lambda surface: surface.name)
def test_a_malformed_value_is_refused_at_its_path(surface, field, value, param):
    with pytest.raises(InvalidRequest) as caught:
        surface.parse(BASE[surface] | {field: value})
    assert (caught.value.param, caught.value.code) == (param, Code.INVALID_VALUE)


@pytest.mark.seeds("S26", "S30", "S32")
@pytest.mark.parametrize("surface", TABLES, ids=lambda surface: surface.name)
@pytest.mark.parametrize(
    "field, value, kept",
    [
        ("temperature", 0, 0.0),
        ("temperature", 2, 2.0),
        ("top_p", 1, 1.0),
        ("top_p", 1e-9, 1e-9),
        ("top_k", -1, 0),
        ("top_k", 0, 0),
        ("top_k", 1, 1),
        ("min_p", 0, 0.0),
        ("min_p", 1, 1.0),
        ("seed", 2**63 - 1, 2**63 - 1),
        ("seed", -(2**63), -(2**63)),
        ("seed", 0, 0),
    ],
)
def test_the_edges_of_sampling_are_within(surface, field, value, kept):
    sampling = surface.parse(BASE[surface] | {field: value}).operation.sampling
    assert getattr(sampling, field) == kept


@pytest.mark.seeds("S27")
@pytest.mark.parametrize("surface", TABLES, ids=lambda surface: surface.name)
@pytest.mark.parametrize("value, stops", [("\n", ("\n",)), (["a"], ("a",)), (list("abcd"), ("a", "b", "c", "d"))])
def test_stop_is_one_string_or_up_to_four(surface, value, stops):
    assert surface.parse(BASE[surface] | {"stop": value}).operation.limits.stop == stops


@pytest.mark.seeds("S58")
@pytest.mark.parametrize("surface", TABLES, ids=lambda surface: surface.name)
@pytest.mark.parametrize("mode", ["json_object", "json_schema"])
def test_a_mode_that_would_need_a_grammar_is_named(surface, mode):
    with pytest.raises(Unsupported, match=mode) as caught:
        surface.parse(BASE[surface] | {"response_format": {"type": mode}})
    assert caught.value.param == "response_format"


@pytest.mark.seeds("S58")
@pytest.mark.parametrize("value", [{"type": "text"}, {}, {"foo": 1}, {"type": None}])
@pytest.mark.parametrize("surface", TABLES, ids=lambda surface: surface.name)
def test_a_response_format_that_asks_for_text_is_let_through(surface, value):
    assert surface.parse(BASE[surface] | {"response_format": value}) == surface.parse(BASE[surface])


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
