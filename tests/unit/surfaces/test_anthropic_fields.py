"""Walks the table of Messages: a row without a sample here fails, so no row can be added untested."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from anthropic.types import message_count_tokens_params, message_create_params
from anthropic.types.beta import message_count_tokens_params as beta_count_tokens_params
from anthropic.types.beta import message_create_params as beta_create_params
from jsonschema import Draft202012Validator

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.request import Conversation, OutputLimits, SamplingParams
from dragoman.surfaces.anthropic_fields import FIELDS
from dragoman.surfaces.anthropic_messages import Messages
from dragoman.surfaces.fields import Disposition

MESSAGES = Messages()
BASE = {"max_tokens": 16, "messages": [{"role": "user", "content": "hi"}]}
TOOL = {"name": "f", "input_schema": {"type": "object"}}

HONOURED = {
    "messages": [{"role": "user", "content": "another"}],
    "system": "Be brief.",
    "model": "some-model",
    "tools": [TOOL],
    "tool_choice": {"type": "any"},
    "thinking": {"type": "disabled"},
    "output_config": {"effort": "low"},
    "output_format": {"type": "json_schema", "schema": {"type": "object"}},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    "cache_control": {"type": "ephemeral"},
    "chat_template_kwargs": {"a": 1},
    "max_tokens": 5,
    "stream": True,
    "stop_sequences": ["END"],
    "temperature": 0.5,
    "top_p": 0.5,
    "top_k": 40,
    "seed": 7,
    "presence_penalty": 0.5,
    "frequency_penalty": -0.5,
    "logit_bias": {"5": -100},
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
    "min_tokens": 3,
    "stop_token_ids": [2],
    "ignore_eos": True,
    "cache_slot": 2,
}
DRY = {"dry_multiplier": 0.8}
WITH = {
    "tool_choice": {"tools": [TOOL]},
    "repeat_last_n": {"repeat_penalty": 1.1},
    "xtc_threshold": {"xtc_probability": 0.5},
    **dict.fromkeys(("dry_base", "dry_allowed_length", "dry_penalty_last_n", "dry_sequence_breakers"), DRY),
}
IGNORED = {
    "metadata": {"user_id": "u"},
    "billing_policy": {"type": "billing_policy", "bill_to": "self"},
    "fallback_credit_token": "t",
    "user_profile_id": "p",
    "workspace_id": "w",
    "service_tier": "standard_only",
    "speed": "fast",
    "inference_geo": "eu",
    "diagnostics": {"previous_message_id": None},
    "fallbacks": [{"model": "another"}],
    "betas": ["interleaved-thinking-2025-05-14"],
    "anthropic_beta": ["interleaved-thinking-2025-05-14"],
    "anthropic_version": "vertex-2023-10-16",
}
REFUSED = {
    "thread": {"type": "create"},
    "compaction": {"type": "summarize"},
    "container": "container_1",
    "mcp_servers": [{"type": "url", "name": "s", "url": "https://example.org"}],
    "stop": ["END"],
    "max_tokens_to_sample": 5,
    "prompt": "hi",
}


def rows(disposition: Disposition):
    return [pytest.param(row, id=row.name) for row in FIELDS if row.disposition is disposition]


@pytest.mark.parametrize("row", rows(Disposition.HONOURED))
def test_an_honoured_field_changes_the_call(row):
    beside = BASE | WITH.get(row.name, {})
    plain, asked = MESSAGES.parse(beside), MESSAGES.parse(beside | {row.name: HONOURED[row.name]})
    assert replace(asked, spelling=plain.spelling) != plain
    assert asked.ignored == ()


@pytest.mark.parametrize("row", rows(Disposition.IGNORED))
def test_a_field_without_effect_is_listed_and_changes_nothing_else(row):
    assert MESSAGES.parse(BASE | {row.name: IGNORED[row.name]}) == replace(MESSAGES.parse(BASE), ignored=(row.name,))


@pytest.mark.parametrize("row", rows(Disposition.REFUSED))
def test_a_refused_field_is_refused_by_its_name(row):
    with pytest.raises(Unsupported) as caught:
        MESSAGES.parse(BASE | {row.name: REFUSED[row.name]})
    assert (caught.value.param, caught.value.code) == (row.name, row.code)
    assert row.name in caught.value.message
    reply = MESSAGES.error(caught.value)
    assert (reply.status, reply.body["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize("row", rows(Disposition.REFUSED))
def test_a_refused_field_may_carry_what_asks_for_nothing(row):
    for value in (*row.neutral, None):
        assert MESSAGES.parse(BASE | {row.name: value}) == MESSAGES.parse(BASE)


def test_a_count_takes_a_wish_for_compaction_and_is_of_the_conversation_as_sent():
    """Anthropic's SDK says of ``compaction`` that counting accepts and ignores it."""
    plain, _ = MESSAGES.parse_count(BASE)
    count, ignored = MESSAGES.parse_count(BASE | {"compaction": REFUSED["compaction"]})
    assert (count, set(ignored)) == (plain, {"max_tokens", "compaction"})


def test_every_field_may_be_null_at_once():
    assert MESSAGES.parse({row.name: None for row in FIELDS} | BASE) == MESSAGES.parse(BASE)


@pytest.mark.parametrize(
    "official",
    [
        message_create_params.MessageCreateParamsNonStreaming,
        beta_create_params.MessageCreateParamsNonStreaming,
        message_count_tokens_params.MessageCountTokensParams,
        beta_count_tokens_params.MessageCountTokensParams,
    ],
    ids=["messages", "beta", "count_tokens", "beta_count_tokens"],
)
def test_every_official_field_has_a_row(official):
    asked = official.__required_keys__ | official.__optional_keys__
    assert {"model", "messages"} <= asked
    assert asked - {row.name for row in FIELDS} == set()


@pytest.mark.parametrize("name", ["temperature", "top_p", "top_k"])
def test_the_fields_that_anthropics_newer_version_dropped_are_honoured(name):
    asked = MESSAGES.parse(BASE | {name: HONOURED[name]}).operation.sampling
    assert asked == replace(SamplingParams(), **{name: HONOURED[name]})


def test_an_unknown_field_is_listed_or_refused_when_strict():
    body = BASE | {"foo": 1}
    assert MESSAGES.parse(body).ignored == ("foo",)
    with pytest.raises(InvalidRequest) as caught:
        MESSAGES.parse(body, strict=True)
    assert (caught.value.param, caught.value.code) == ("foo", Code.UNKNOWN_FIELD)


@pytest.mark.parametrize(
    "path, body",
    [
        ("messages.0.foo", {"messages": [{"role": "user", "content": "a", "foo": 1}]}),
        (
            "messages.0.content.0.foo",
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "foo": 1}]}]},
        ),
        ("system.0.foo", {"system": [{"type": "text", "text": "a", "foo": 1}]}),
        ("tools.0.foo", {"tools": [TOOL | {"foo": 1}]}),
        ("tool_choice.foo", {"tools": [TOOL], "tool_choice": {"type": "auto", "foo": 1}}),
        ("thinking.foo", {"thinking": {"type": "adaptive", "foo": 1}}),
        ("output_config.foo", {"output_config": {"foo": 1}}),
        ("cache_control.foo", {"cache_control": {"type": "ephemeral", "foo": 1}}),
    ],
)
def test_strictness_reaches_inside(path, body):
    assert MESSAGES.parse(BASE | body).ignored == (path.replace("0", "*"),)
    with pytest.raises(InvalidRequest) as caught:
        MESSAGES.parse(BASE | body, strict=True)
    assert (caught.value.param, caught.value.code) == (path, Code.UNKNOWN_FIELD)


def test_what_an_engine_may_name_is_a_field_of_this_client():
    features = {
        "prompt",
        "ids",
        "output",
        "output_budget",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "cache_slot",
    } | {field.name for part in (SamplingParams, OutputLimits) for field in fields(part)}
    unreachable = {"include_stop", "ignore_leading_stop"}
    spelling = MESSAGES.parse(BASE).spelling
    spelled = {feature: spelling.get(feature, feature).partition(".")[0] for feature in features - unreachable}
    assert {feature: name for feature, name in spelled.items() if FIELDS.get(name) is None} == {}


@pytest.mark.parametrize(
    "feature, field",
    [
        ("output_budget", "max_tokens"),
        ("stop", "stop_sequences"),
        ("prompt", "messages"),
        ("output", "output_config.format"),
        ("reasoning_effort", "output_config.effort"),
        ("enable_thinking", "thinking"),
        ("preserve_thinking", "context_management"),
        ("parallel_tool_calls", "tool_choice"),
        ("grammar", "tools"),
    ],
)
def test_features_are_named_as_anthropic_names_them(feature, field):
    assert MESSAGES.parse(BASE).spelling[feature] == field


def test_an_error_of_a_format_names_the_field_that_asked_for_it():
    format_ = {"type": "json_schema", "schema": {"type": "object"}}
    assert MESSAGES.parse(BASE | {"output_format": format_}).spelling["output"] == "output_format"
    assert MESSAGES.parse(BASE | {"output_config": {"format": format_}}).spelling["grammar"] == "output_config.format"


def test_what_the_samples_hold_is_what_the_schemas_say():
    for row in FIELDS:
        if row.disposition is Disposition.HONOURED:
            Draft202012Validator.check_schema(row.schema)
            validator = Draft202012Validator(row.schema)
            validator.validate(HONOURED[row.name])
            assert row.required or validator.is_valid(None)


@pytest.mark.seeds("S24")
def test_without_a_budget_the_rest_of_the_context_is_there():
    body = {"messages": BASE["messages"]}
    assert MESSAGES.parse(body).operation.limits.max_tokens is None
    assert MESSAGES.parse(body | {"max_tokens": 0}).operation.limits.max_tokens == 0


@pytest.mark.parametrize("value", [-1, 2.5, "16", True, 2**31])
def test_a_budget_that_is_none_is_refused(value):
    with pytest.raises(InvalidRequest) as caught:
        MESSAGES.parse(BASE | {"max_tokens": value})
    assert caught.value.param == "max_tokens"


@pytest.mark.seeds("S27", "S115")
class TestStopSequences:
    def test_each_is_a_stop(self):
        ends = MESSAGES.parse(BASE | {"stop_sequences": ["END", "\n\nHuman:"]}).operation.limits
        assert ends == OutputLimits(max_tokens=16, stop=("END", "\n\nHuman:"))

    def test_none_ask_for_nothing(self):
        assert MESSAGES.parse(BASE | {"stop_sequences": []}) == MESSAGES.parse(BASE)

    @pytest.mark.parametrize("blank", ["", " ", "\n\n"])
    def test_one_of_white_space_alone_is_refused_as_anthropic_refuses_it(self, blank):
        with pytest.raises(InvalidRequest) as caught:
            MESSAGES.parse(BASE | {"stop_sequences": ["END", blank]})
        assert caught.value.param == "stop_sequences.1"

    def test_more_than_64_are_refused(self):
        assert len(MESSAGES.parse(BASE | {"stop_sequences": ["x"] * 64}).operation.limits.stop) == 64
        with pytest.raises(InvalidRequest) as caught:
            MESSAGES.parse(BASE | {"stop_sequences": ["x"] * 65})
        assert caught.value.param == "stop_sequences"

    def test_a_string_is_no_list(self):
        with pytest.raises(InvalidRequest) as caught:
            MESSAGES.parse(BASE | {"stop_sequences": "END"})
        assert caught.value.param == "stop_sequences"


@pytest.mark.seeds("S115")
def test_top_k_is_honoured():
    assert MESSAGES.parse(BASE | {"top_k": 40}).operation.sampling.top_k == 40


@pytest.mark.parametrize("thread", [{"type": "create"}, {"type": "continue", "previous_message_id": "msg_1"}])
def test_a_thread_is_refused_with_the_details_that_the_sdks_know(thread):
    """Their tool runners then send the whole conversation (wire.md, finding 2)."""
    with pytest.raises(Unsupported) as caught:
        MESSAGES.parse(BASE | {"thread": thread})
    assert caught.value.details == {"error_code": "thread_unsupported_request", "unsupported": ["thread"]}
    reply = MESSAGES.error(caught.value)
    assert reply.status == 400
    assert reply.body["error"]["details"] == caught.value.details


@pytest.mark.parametrize(
    "where",
    [
        {"cache_control": {"type": "ephemeral"}},
        {"system": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]},
        {"tools": [TOOL | {"cache_control": {"type": "ephemeral"}}]},
        {
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "", "cache_control": {"type": "ephemeral"}}]}
            ]
        },
        {
            "messages": [
                {"role": "user", "content": "a"},
                {
                    "role": "assistant",
                    "content": [
                        {
                            "type": "tool_use",
                            "id": "t",
                            "name": "f",
                            "input": {},
                            "cache_control": {"type": "ephemeral"},
                        }
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "t",
                            "content": [{"type": "text", "text": "r", "cache_control": {"type": "ephemeral"}}],
                        }
                    ],
                },
            ]
        },
    ],
    ids=["body", "system", "tool", "empty_text", "in_a_result"],
)
def test_a_breakpoint_keeps_the_prompt_wherever_it_stands(where):
    call = MESSAGES.parse(BASE | where)
    assert (call.operation.keep_prefix, call.ignored) == (True, ())
    assert MESSAGES.parse(BASE).operation.keep_prefix is False


def test_how_long_a_breakpoint_shall_last_is_listed():
    call = MESSAGES.parse(BASE | {"cache_control": {"type": "ephemeral", "ttl": "1h"}})
    assert (call.operation.keep_prefix, call.ignored) == (True, ("cache_control.ttl",))


@pytest.mark.parametrize(
    "where, path",
    [
        ({"cache_control": {"type": "forever"}}, "cache_control.type"),
        ({"cache_control": {}}, "cache_control.type"),
        ({"system": [{"type": "text", "text": "a", "cache_control": True}]}, "system.0.cache_control"),
    ],
)
def test_a_breakpoint_that_is_none_is_refused(where, path):
    with pytest.raises(InvalidRequest) as caught:
        MESSAGES.parse(BASE | where)
    assert caught.value.param == path


class TestCounting:
    def test_it_counts_the_prompt_that_would_be_answered(self):
        body = {
            "model": "m",
            "system": "Be brief.",
            "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
            "tools": [TOOL],
            "tool_choice": {"type": "tool", "name": "f"},
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "output_config": {"effort": "high"},
        }
        operation, ignored = MESSAGES.parse_count(body)
        assert operation.source == MESSAGES.parse(body | {"max_tokens": 5}).operation.prompt
        assert (operation.model, ignored) == ("m", ())

    def test_no_tools_and_no_system_are_enough(self):
        operation, ignored = MESSAGES.parse_count({"model": "m", "messages": BASE["messages"], "tools": []})
        assert isinstance(operation.source, Conversation)
        assert (operation.source.tools, ignored) == ((), ())

    def test_what_does_not_change_a_prompt_is_checked_and_listed(self):
        assert MESSAGES.parse_count(BASE | {"temperature": 0.5})[1] == ("max_tokens", "temperature")
        with pytest.raises(InvalidRequest) as caught:
            MESSAGES.parse_count(BASE | {"temperature": "warm"})
        assert caught.value.param == "temperature"

    def test_an_unknown_field_is_refused_when_strict(self):
        with pytest.raises(InvalidRequest) as caught:
            MESSAGES.parse_count({"messages": BASE["messages"], "foo": 1}, strict=True)
        assert caught.value.param == "foo"


def test_a_body_must_be_an_object_with_messages():
    for body, param in (([], None), ({}, "messages"), ({"messages": []}, "messages"), ({"messages": "hi"}, "messages")):
        with pytest.raises(InvalidRequest) as caught:
            MESSAGES.parse(body)
        assert caught.value.param == param
