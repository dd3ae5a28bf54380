from __future__ import annotations

import pytest

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.request import Conversation, Generate, Message, OutputLimits, Role, SamplingParams, TextPart
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


@pytest.mark.seeds("S22")
@pytest.mark.parametrize("value", [-1, 2.9, 2**40, True])
def test_a_bad_budget_is_named_as_the_client_spelled_it(value):
    with pytest.raises(InvalidRequest) as caught:
        CHAT.parse(BASE | {"max_completion_tokens": value, "max_tokens": 5})
    assert caught.value.param == "max_completion_tokens"


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_an_error_about_the_budget_names_the_clients_field(field):
    call = CHAT.parse(BASE | {field: 5})
    error = InvalidRequest("too much", code=Code.INVALID_VALUE, feature="output_budget")
    assert CHAT.error(error, call).body["error"]["param"] == field


def test_an_error_about_the_prompt_names_messages():
    error = InvalidRequest("5000 > 4096", code=Code.CONTEXT_LENGTH_EXCEEDED, feature="prompt")
    assert CHAT.error(error, CHAT.parse(BASE)).body["error"]["param"] == "messages"


@pytest.mark.seeds("S71", "S74")
def test_log_probabilities_are_refused_by_name_and_never_dropped():
    with pytest.raises(Unsupported) as caught:
        CHAT.parse(BASE | {"logprobs": True})
    assert (caught.value.param, caught.value.code) == ("logprobs", Code.UNSUPPORTED_FIELD)


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
    assert CHAT.parse(BASE | {"top_logprobs": value}).operation == CHAT.parse(BASE).operation


@pytest.mark.seeds("S45")
@pytest.mark.parametrize("value", [[], "text", [5], {}])
def test_malformed_modalities_are_refused(value):
    with pytest.raises(InvalidRequest) as caught:
        CHAT.parse(BASE | {"modalities": value})
    assert caught.value.param.partition(".")[0] == "modalities"
    assert caught.value.code is Code.INVALID_VALUE


def test_tools_are_refused_by_name_and_an_empty_list_is_none():
    with pytest.raises(Unsupported) as caught:
        CHAT.parse(BASE | {"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "none"})
    assert caught.value.param == "tools"
    assert CHAT.parse(BASE | {"tools": [], "tool_choice": "auto"}) == CHAT.parse(BASE)
