from __future__ import annotations

import msgspec
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import TypeAdapter

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.events import Accepted, Finished, FinishReason, TextDelta, Usage
from dragoman.core.request import Conversation, Generate, Message, OutputLimits, Role, SamplingParams, TextPart
from dragoman.surfaces.base import Stamp
from dragoman.surfaces.openai_chat import ChatCompletions

CHAT = ChatCompletions()
BASE = {"messages": [{"role": "user", "content": "hi"}]}
STAMP = Stamp(id="1", created=1_764_489_600, model="smollm2")
USAGE = Usage(prompt_tokens=5, completion_tokens=2, cached_tokens=3)
EVENTS = [
    Accepted(prompt_tokens=5, cached_tokens=3),
    TextDelta(text="Par"),
    TextDelta(text="is"),
    Finished(reason=FinishReason.STOP, usage=USAGE),
]


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


def stream(body, events=EVENTS):
    projector = CHAT.projector(CHAT.parse(BASE | body), STAMP)
    data = [event.data for item in events for event in projector.feed(item)]
    assert data.pop() == b"[DONE]"
    return [msgspec.json.decode(line) for line in data], projector.result()


@pytest.mark.parametrize("body", [{}, {"stream_options": {"include_usage": True}}], ids=["plain", "usage"])
def test_what_is_sent_is_what_the_official_types_say(body):
    chunks, whole = stream(body)
    for chunk in chunks:
        TypeAdapter(ChatCompletionChunk).validate_python(chunk, strict=True)
    TypeAdapter(ChatCompletion).validate_python(whole, strict=True)
    answer = TypeAdapter(ChatCompletion).validate_python(whole)
    assert [part.model_extra for part in (answer, answer.choices[0], answer.choices[0].message)] == [{}] * 3


def test_the_reason_is_null_until_the_end_and_the_role_is_said_once():
    chunks, _ = stream({})
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, None, None, "stop"]
    assert [chunk["choices"][0]["delta"].get("role", "absent") for chunk in chunks] == [
        "assistant",
        "absent",
        "absent",
        "absent",
    ]


@pytest.mark.seeds("S53")
def test_usage_is_null_in_every_chunk_but_the_last():
    chunks, whole = stream({"stream_options": {"include_usage": True}})
    assert [chunk["usage"] for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"] == whole["usage"]


def test_there_is_no_usage_key_in_a_stream_that_did_not_ask():
    chunks, _ = stream({})
    assert all("usage" not in chunk for chunk in chunks)


def test_a_result_before_the_end_is_our_own_mistake():
    projector = CHAT.projector(CHAT.parse(BASE), STAMP)
    projector.feed(EVENTS[0])
    with pytest.raises(RuntimeError):
        projector.result()


def test_names_that_look_like_the_templates_hole_are_kept():
    stamp = Stamp(id="1", created=1, model="a\0b", fingerprint="\0")
    projector = CHAT.projector(CHAT.parse(BASE), stamp)
    chunk = msgspec.json.decode(projector.feed(TextDelta(text="x"))[0].data)
    assert (chunk["model"], chunk["system_fingerprint"]) == ("a\0b", "\0")
    assert chunk["choices"][0]["delta"] == {"content": "x"}
