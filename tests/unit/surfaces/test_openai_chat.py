from __future__ import annotations

import pytest

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.request import (
    Conversation,
    Generate,
    Message,
    OutputLimits,
    Readout,
    Role,
    SamplingParams,
    TextPart,
    ToolChoice,
    ToolMode,
    ToolSpec,
)
from dragoman.surfaces.openai_chat import ChatCompletions

CHAT = ChatCompletions()
BASE = {"messages": [{"role": "user", "content": "hi"}]}


def test_the_smallest_body_is_openais_defaults():
    call = CHAT.parse(BASE)
    assert call.operation == Generate(
        prompt=Conversation(messages=(Message(role=Role.USER, parts=(TextPart(text="hi"),)),)),
        model=None,
        sampling=SamplingParams(temperature=1.0, top_p=1.0, top_k=0, min_p=0.0, seed=None),
        limits=OutputLimits(max_tokens=None, stop=(), ignore_eos=False),
        cache_slot=None,
    )
    assert (call.stream, call.include_usage, call.ignored, call.request_id) == (False, False, (), None)


@pytest.mark.seeds("S21", "S22", "S23")
def test_the_newer_budget_wins_and_the_older_is_listed():
    call = CHAT.parse(BASE | {"max_tokens": 5, "max_completion_tokens": 0})
    assert call.operation.limits.max_tokens == 0
    assert call.ignored == ("max_tokens",)


@pytest.mark.seeds("S22", "S25")
@pytest.mark.parametrize("value", [-1, 2.9, 2**40, True])
def test_a_bad_budget_is_named_as_the_client_spelled_it(value):
    with pytest.raises(InvalidRequest) as caught:
        CHAT.parse(BASE | {"max_completion_tokens": value, "max_tokens": 5})
    assert caught.value.param == "max_completion_tokens"


@pytest.mark.seeds("S21", "S22", "S23")
@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("value, budget", [(0, 0), (1, 1), (2**31 - 1, 2**31 - 1), (None, None)])
def test_a_budget_is_taken_at_its_word_and_none_is_the_rest_of_the_context(field, value, budget):
    """peers.md 13."""
    assert CHAT.parse(BASE | {field: value}).operation.limits.max_tokens == budget


@pytest.mark.seeds("S22")
def test_the_budget_that_loses_must_be_well_formed_all_the_same():
    with pytest.raises(InvalidRequest) as caught:
        CHAT.parse(BASE | {"max_tokens": -1, "max_completion_tokens": 5})
    assert caught.value.param == "max_tokens"


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_an_error_about_the_budget_names_the_clients_field(field):
    call = CHAT.parse(BASE | {field: 5})
    error = InvalidRequest("too much", code=Code.INVALID_VALUE, feature="output_budget")
    assert CHAT.error(error, call).body["error"]["param"] == field
    with pytest.raises(InvalidRequest, match=f"the 5 of {field}"):
        CHAT.parse(BASE | {field: 5, "min_tokens": 6})


@pytest.mark.parametrize(
    "feature, field",
    [
        ("prompt", "messages"),
        ("messages", "messages"),
        ("ids", "messages"),
        ("template_args", "chat_template_kwargs"),
        ("reasoning_effort", "reasoning_effort"),
        ("presence_penalty", "presence_penalty"),
        ("dry", "dry_multiplier"),
        ("token_ids", "return_token_ids"),
        ("logprobs", "logprobs"),
    ],
)
def test_an_error_names_the_field_of_this_client(feature, field):
    error = InvalidRequest("no", code=Code.INVALID_VALUE, feature=feature)
    assert CHAT.error(error, CHAT.parse(BASE)).body["error"]["param"] == field


@pytest.mark.seeds("S71")
@pytest.mark.parametrize(
    "body, alternatives",
    [
        ({}, None),
        ({"logprobs": None}, None),
        ({"logprobs": False}, None),
        ({"logprobs": True}, 0),  # peers.md 10
        ({"logprobs": True, "top_logprobs": None}, 0),
        ({"logprobs": True, "top_logprobs": 0}, 0),
        ({"logprobs": True, "top_logprobs": 32, "stream": True}, 32),
    ],
)
def test_log_probabilities_have_a_gate_and_a_number_of_alternatives(body, alternatives):
    assert CHAT.parse(BASE | body).operation.readout == Readout(logprobs=alternatives)


@pytest.mark.seeds("S71")
@pytest.mark.parametrize("value", [0, 1, 5, "true"])
def test_logprobs_is_a_gate_and_no_number(value):
    with pytest.raises(InvalidRequest) as caught:
        CHAT.parse(BASE | {"logprobs": value})
    assert (caught.value.param, caught.value.code) == ("logprobs", Code.INVALID_VALUE)


@pytest.mark.seeds("S72")
@pytest.mark.parametrize("value", [33, -1, True, "5", 1.0])
def test_top_logprobs_is_checked_even_where_it_has_no_effect(value):
    with pytest.raises(InvalidRequest) as caught:
        CHAT.parse(BASE | {"top_logprobs": value, "logprobs": False})
    assert caught.value.param == "top_logprobs"


@pytest.mark.seeds("S72")
@pytest.mark.parametrize("value", [0, 32])
def test_a_valid_top_logprobs_without_the_gate_is_a_no_op(value):
    call = CHAT.parse(BASE | {"top_logprobs": value, "logprobs": False})
    assert call.operation == CHAT.parse(BASE).operation
    assert call.ignored == ("top_logprobs",)


@pytest.mark.seeds("S45")
@pytest.mark.parametrize("value", [[], "text", [5], {}])
def test_malformed_modalities_are_refused(value):
    with pytest.raises(InvalidRequest) as caught:
        CHAT.parse(BASE | {"modalities": value})
    assert caught.value.param.partition(".")[0] == "modalities"
    assert caught.value.code is Code.INVALID_VALUE


TOOL = {"type": "function", "function": {"name": "f"}}


@pytest.mark.seeds("S119", "S122")
def test_tools_become_part_of_the_conversation_and_their_naming_part_of_the_call():
    choice = {"type": "function", "function": {"name": "f"}}
    call = CHAT.parse(BASE | {"tools": [TOOL], "tool_choice": choice, "parallel_tool_calls": False})
    assert call.operation.prompt.tools == (ToolSpec(name="f"),)
    assert call.operation.prompt.tool_choice == ToolChoice(mode=ToolMode.REQUIRED, names=("f",), parallel=False)
    assert (call.named_call, call.function_call, call.ignored) == (True, False, ())
    older = CHAT.parse(BASE | {"functions": [{"name": "f"}]})
    assert (older.named_call, older.function_call) == (False, True)
    assert older.operation.prompt.tools == (ToolSpec(name="f"),)


@pytest.mark.seeds("S123")
@pytest.mark.parametrize(
    "fields, strict, ignored",
    [
        ({}, False, ()),
        ({"tools": [TOOL]}, False, ()),
        ({"tools": [TOOL], "strict_tool_calls": False}, False, ()),
        ({"tools": [TOOL], "strict_tool_calls": True}, True, ()),
        ({"tools": [TOOL], "strict_tool_calls": True, "stream": True, "logprobs": True}, True, ()),
        ({"strict_tool_calls": True}, False, ("strict_tool_calls",)),
    ],
)
def test_calls_are_held_to_their_schemas_where_that_is_asked_for(fields, strict, ignored):
    call = CHAT.parse(BASE | fields)
    assert (call.operation.strict_tool_calls, call.ignored) == (strict, ignored)


@pytest.mark.parametrize(
    "fields, names",
    [
        ({"tools": [TOOL]}, {"tools": "tools", "tool_choice": "tool_choice"}),
        ({"functions": [{"name": "f"}]}, {"tools": "functions", "tool_choice": "function_call"}),
    ],
)
def test_what_a_model_cannot_do_with_tools_is_named_as_the_client_spelled_it(fields, names):
    call = CHAT.parse(BASE | fields)
    for feature, name in names.items():
        error = Unsupported("no", code=Code.UNSUPPORTED_FIELD, feature=feature)
        assert CHAT.error(error, call).body["error"]["param"] == name


@pytest.mark.seeds("S73")
def test_there_is_no_prompt_to_echo():
    with pytest.raises(Unsupported) as caught:
        CHAT.parse(BASE | {"echo": True})
    assert (caught.value.param, caught.value.code) == ("echo", Code.UNSUPPORTED_FIELD)
    with pytest.raises(InvalidRequest) as malformed:
        CHAT.parse(BASE | {"echo": "yes"})
    assert (malformed.value.param, malformed.value.code) == ("echo", Code.INVALID_VALUE)
    assert CHAT.parse(BASE | {"echo": None}) == CHAT.parse(BASE | {"echo": False}) == CHAT.parse(BASE)


@pytest.mark.seeds("S64")
def test_the_server_says_whether_a_last_assistant_message_is_continued():
    body = {"messages": [*BASE["messages"], {"role": "assistant", "content": "Well"}]}
    assert CHAT.parse(body).operation.prompt.continue_final is True
    assert ChatCompletions(continue_assistant=False).parse(body).operation.prompt.continue_final is False


@pytest.mark.seeds("S53")
@pytest.mark.parametrize(
    "options, usage, continuous, ignored",
    [
        ({}, False, False, ()),
        ({"include_usage": True}, True, False, ()),
        ({"include_usage": True, "continuous_usage_stats": True}, True, True, ()),
        ({"continuous_usage_stats": True}, False, False, ("stream_options.continuous_usage_stats",)),
        (
            {"include_usage": False, "continuous_usage_stats": False},
            False,
            False,
            ("stream_options.continuous_usage_stats",),
        ),
    ],
)
def test_a_stream_may_tell_its_usage_at_the_end_or_all_along(options, usage, continuous, ignored):
    call = CHAT.parse(BASE | {"stream": True, "stream_options": options})
    assert (call.include_usage, call.continuous_usage, call.ignored) == (usage, continuous, ignored)


@pytest.mark.parametrize("body", [{}, {"stream": False}, {"stream": None}])
def test_options_of_a_stream_without_one_are_listed(body):
    """peers.md 27: nothing but ``stream`` makes a stream. OpenAI's SDK tests send the options without it."""
    call = CHAT.parse(BASE | body | {"stream_options": {"include_usage": True}})
    assert (call.stream, call.ignored) == (False, ("stream_options",))


def test_what_real_clients_send_as_null_is_as_if_left_out():
    """peers.md 3; the body is LangChain's."""
    nulls = ("stop", "tools", "temperature", "response_format", "n", "seed", "logit_bias", "top_p", "reasoning_effort")
    assert CHAT.parse(BASE | dict.fromkeys(nulls)) == CHAT.parse(BASE)
