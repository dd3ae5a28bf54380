"""Walks the field tables of Responses: a row without a sample here fails, so no row can be added untested."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import chain

import pytest
from jsonschema import Draft202012Validator
from openai.types.responses import (
    function_tool_param,
    input_token_count_params,
    namespace_tool_param,
    response_compact_params,
    response_create_params,
)

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.request import Generate, OutputLimits, Readout, SamplingParams
from dragoman.surfaces import responses_content, responses_fields, responses_items, responses_tools
from dragoman.surfaces.fields import Disposition
from dragoman.surfaces.responses_fields import FIELDS
from support.responses import SURFACE, call_of, minting, request_of

FUNCTION = {"type": "function", "name": "f"}

# A field's value, and the fields without which it would have no effect.
HONOURED = {
    "model": "some-model",
    "input": [{"role": "user", "content": "another"}],
    "instructions": "Be brief.",
    "previous_response_id": "resp_1",
    "conversation": "conv_1",
    "tools": [FUNCTION],
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "reasoning": {"effort": "high"},
    "text": {"format": {"type": "json_object"}},
    "include": ["reasoning.encrypted_content"],
    "top_logprobs": 3,
    "max_output_tokens": 5,
    "max_tokens": 5,
    "stream": True,
    "store": False,
    "background": True,
    "metadata": {"a": "b"},
    "safety_identifier": "s",
    "prompt_cache_key": "k",
    "user": "u",
    "generate": False,
    "type": "response.create",
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
    "chat_template_kwargs": {"a": 1},
    "enable_thinking": False,
    "thinking_token_budget": 100,
    "thinking_budget_tokens": 100,
    "preserve_thinking": True,
    "strict_tool_calls": True,
    "cache_slot": 2,
}
WITH = {
    "top_logprobs": {"include": ["message.output_text.logprobs"]},
    "repeat_last_n": {"repeat_penalty": 1.1},
    "xtc_threshold": {"xtc_probability": 0.5},
    "dry_base": {"dry_multiplier": 0.8},
    "dry_allowed_length": {"dry_multiplier": 0.8},
    "dry_penalty_last_n": {"dry_multiplier": 0.8},
    "dry_sequence_breakers": {"dry_multiplier": 0.8},
    "tool_choice": {"tools": [FUNCTION]},
    "parallel_tool_calls": {"tools": [FUNCTION]},
    "strict_tool_calls": {"tools": [FUNCTION]},
}
MARK_ALONE = {"type"}
"""Says what the message is, and asks for nothing."""

IGNORED = {
    "max_tool_calls": 3,
    "stream_options": {"include_obfuscation": False},
    "service_tier": "flex",
    "moderation": {"model": "m"},
    "access_programs": {"cyber": "standard"},
    "background_options": {"completion_window": "8h"},
    "client_metadata": {"session_id": "s"},
    "context_management": [{"type": "compaction", "compact_threshold": 1000}],
    "image": {"context_compression": "auto"},
    "prompt_cache_options": {"ttl": "30m"},
    "prompt_cache_retention": "24h",
}
REPEATED = {"max_tool_calls"}

REFUSED = {
    "truncation": "auto",
    "prompt": {"id": "pmpt_1"},
    "messages": [{"role": "user", "content": "hi"}],
    "functions": [{"name": "f"}],
    "reasoning_effort": "low",
    "max_completion_tokens": 5,
    "response_format": {"type": "json_object"},
    "structured_outputs": {"regex": "a"},
    "logprobs": True,
    "n": 2,
}

OFFICIAL = [
    (FIELDS, response_create_params.ResponseCreateParamsNonStreaming),
    (responses_fields.COUNT_FIELDS, input_token_count_params.InputTokenCountParams),
    (responses_fields.COMPACT_FIELDS, response_compact_params.ResponseCompactParams),
    (responses_tools.FUNCTION_FIELDS, function_tool_param.FunctionToolParam),
    (responses_tools.FUNCTION_FIELDS, namespace_tool_param.ToolFunction),
    (responses_tools.NAMESPACE_FIELDS, namespace_tool_param.NamespaceToolParam),
]


def rows(disposition: Disposition):
    return [pytest.param(row, id=row.name) for row in FIELDS if row.disposition is disposition]


def asked(body):
    """All that a body comes to, beside its record of what had no effect and the names that errors use."""
    request = request_of(**body)
    call = replace(request.resolve(), spelling={})
    return call, request.store, request.background, request.generate, request.previous, request.conversation


@pytest.mark.parametrize("row", rows(Disposition.HONOURED))
def test_an_honoured_field_changes_what_is_asked(row):
    plain, with_it = WITH.get(row.name, {}), WITH.get(row.name, {}) | {row.name: HONOURED[row.name]}
    assert (asked(with_it) == asked(plain)) is (row.name in MARK_ALONE)
    assert call_of(**with_it).ignored == ()


@pytest.mark.seeds("S46")
@pytest.mark.parametrize("row", rows(Disposition.IGNORED))
def test_a_field_without_effect_is_listed_and_changes_nothing_else(row):
    with_it, plain = call_of(**{row.name: IGNORED[row.name]}), call_of()
    assert with_it.ignored == (row.name,)
    repeated = {row.name: IGNORED[row.name]} if row.name in REPEATED else {}
    assert with_it == replace(plain, ignored=(row.name,), echo={**plain.echo, **repeated})


@pytest.mark.parametrize("row", rows(Disposition.REFUSED))
def test_a_refused_field_is_refused_by_its_name(row):
    with pytest.raises(Unsupported) as caught:
        call_of(**{row.name: REFUSED[row.name]})
    assert (caught.value.param, caught.value.code) == (row.name, row.code)
    assert row.name in caught.value.message


@pytest.mark.parametrize("row", rows(Disposition.REFUSED))
def test_a_refused_field_may_carry_what_asks_for_nothing(row):
    for value in (*row.neutral, None):
        assert call_of(**{row.name: value}) == call_of()


def test_every_field_may_be_null_at_once():
    assert call_of(**({row.name: None for row in FIELDS} | {"input": "hi"})) == call_of()


@pytest.mark.parametrize("table, official", OFFICIAL, ids=lambda value: getattr(value, "__name__", "table"))
def test_every_official_field_has_a_row(table, official):
    bases = getattr(official, "__orig_bases__", ())
    known = set(chain.from_iterable(getattr(base, "__annotations__", {}) for base in (official, *bases)))
    assert len(known) > 3
    assert known - {row.name for row in table} == set()


def test_an_unknown_field_is_listed_or_refused_when_strict():
    assert call_of(foo=1).ignored == ("foo",)
    with pytest.raises(InvalidRequest) as caught:
        call_of(foo=1, strict=True)
    assert (caught.value.param, caught.value.code) == ("foo", Code.UNKNOWN_FIELD)


@pytest.mark.parametrize(
    "body, path",
    [
        ({"text": {"foo": 1}}, "text.foo"),
        ({"reasoning": {"foo": 1}}, "reasoning.foo"),
        ({"tools": [FUNCTION | {"foo": 1}]}, "tools.0.foo"),
        ({"input": [{"role": "user", "content": [{"type": "input_text", "text": "x", "foo": 1}]}]}, "input.0.content.0.foo"),
    ],
)  # fmt: skip
def test_strictness_reaches_inside(body, path):
    assert call_of(**body).ignored == (path.replace("0", "*"),)
    with pytest.raises(InvalidRequest) as caught:
        call_of(**body, strict=True)
    assert caught.value.param == path


@pytest.mark.parametrize(
    "field, value",
    [
        ("stream", "true"),
        ("store", 1),
        ("background", "yes"),
        ("instructions", ["x"]),
        ("instructions", "\0"),
        ("previous_response_id", 5),
        ("include", "reasoning.encrypted_content"),
        ("top_logprobs", True),
        ("temperature", 2.1),
        ("top_p", 0),
        ("model", 5),
        ("user", 5),
        ("safety_identifier", 5),
        ("prompt_cache_key", 5),
        ("max_tool_calls", -1),
        ("service_tier", 5),
        ("stream_options", True),
        ("parallel_tool_calls", "no"),
        ("reasoning", "high"),
        ("text", "x"),
        ("truncation", 5),
        ("generate", 0),
    ],
)
def test_a_malformed_value_is_refused_at_its_path(field, value):
    with pytest.raises(InvalidRequest) as caught:
        call_of(**{field: value})
    assert (caught.value.param, caught.value.code) == (field, Code.INVALID_VALUE)


def test_what_an_engine_may_name_is_a_field_of_this_client():
    features = {"prompt", "output_budget", "tools", "tool_choice", "messages", "template_args", "reasoning_effort"} | {
        field.name for part in (SamplingParams, OutputLimits) for field in fields(part)
    }
    features |= {"logprobs", "output", "cache_slot", "model"}
    assert {field.name for part in (Generate, Readout) for field in fields(part)} >= {
        "logprobs",
        "output",
        "cache_slot",
    }
    spelling = call_of().spelling
    spelled = {feature: spelling.get(feature, feature) for feature in features}
    assert {feature: name for feature, name in spelled.items() if FIELDS.get(name.split(".")[0]) is None} == {}


def test_what_the_samples_hold_is_what_the_schemas_say():
    for row in FIELDS:
        if row.disposition is Disposition.HONOURED:
            Draft202012Validator.check_schema(row.schema)
            validator = Draft202012Validator(row.schema)
            validator.validate(HONOURED[row.name])
            assert validator.is_valid(None)


@pytest.mark.parametrize(
    "value, accepted",
    [
        ("hi", True),
        ([{"role": "user", "content": "x"}], True),
        ([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}], True),
        ([{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "id": None}], True),
        ([{"type": "reasoning", "summary": [], "encrypted_content": None}], True),
        ([{"id": "msg_1"}], True),
        ([{"type": "web_search_call", "id": "ws_1", "status": "completed"}], True),
        ([{"type": "function_call", "name": "f", "arguments": "{}"}], False),
        ([{"role": "user"}], False),
        ([{"role": "user", "content": [{"type": "input_text"}]}], False),
        ([{"type": "moon"}], False),
        (5, False),
    ],
)
def test_the_schema_of_an_input_tells_what_is_taken(value, accepted):
    assert Draft202012Validator(responses_fields.INPUT.schema).is_valid(value) is accepted
    if accepted:
        SURFACE.parse({"input": value}, mint=minting())
    else:
        with pytest.raises(InvalidRequest):
            SURFACE.parse({"input": value}, mint=minting())


def test_no_table_is_without_a_note():
    tables = [value for module in (responses_content, responses_items, responses_tools, responses_fields) for name, value in vars(module).items() if name.endswith("FIELDS")]  # fmt: skip
    assert len(tables) > 10
    assert [row.name for table in tables for row in table if not row.note] == []
