from __future__ import annotations

from typing import get_args

import pytest
from openai.types.responses import Response, ResponseIncludable

from dragoman.core.errors import Code, EngineFailed, InvalidRequest, Unsupported
from dragoman.core.request import (
    Conversation,
    GrammarFormat,
    JsonFormat,
    Message,
    OutputLimits,
    Readout,
    RegexFormat,
    Role,
    SamplingParams,
    TextPart,
    Thinking,
)
from support.responses import SURFACE, call_of, minting, refusal, request_of

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


def ignored(**body) -> tuple[str, ...]:
    return call_of(**body).ignored


def test_a_text_is_what_the_user_says():
    call = call_of(input="hello")
    said = Message(role=Role.USER, parts=(TextPart(text="hello"),))
    assert call.operation.prompt == Conversation(messages=(said,))
    assert call.ignored == ()


def test_instructions_come_first_and_are_a_system_message():
    call = call_of(input="hello", instructions="Be brief.")
    assert [(message.role, message.text) for message in call.operation.prompt.messages] == [
        (Role.SYSTEM, "Be brief."),
        (Role.USER, "hello"),
    ]
    # They are no item, so nobody who goes on from this response is given them (OpenAI's ``ResponseCreateParams``).
    assert [item["role"] for item in call.input] == ["user"]


@pytest.mark.seeds("S22", "S23")
@pytest.mark.parametrize("field", ["max_output_tokens", "max_tokens"])
@pytest.mark.parametrize("budget", [0, 1, 4096])
def test_a_budget_has_two_names(field, budget):
    call = call_of(**{field: budget})
    assert call.operation.limits == OutputLimits(max_tokens=budget)
    assert call.echo["max_output_tokens"] == budget
    assert call.spelling["output_budget"] == field
    assert call.ignored == ()


def test_the_newer_name_of_the_budget_wins():
    call = call_of(max_output_tokens=5, max_tokens=7)
    assert (call.operation.limits.max_tokens, call.ignored) == (5, ("max_tokens",))


def test_without_a_budget_the_context_is_the_bound():
    assert call_of().operation.limits == OutputLimits(max_tokens=None)


@pytest.mark.seeds("S22")
@pytest.mark.parametrize("field", ["max_output_tokens", "max_tokens"])
@pytest.mark.parametrize("value", [-1, 2.9, 2**40, True, "16"])
def test_a_budget_that_is_none_is_refused_by_the_clients_own_name(field, value):
    assert refusal(**{field: value}).param == field


def test_sampling_is_what_chat_takes():
    call = call_of(temperature=0.5, top_p=0.9, presence_penalty=1, frequency_penalty=-1, seed=7, top_k=5, min_p=0.1)
    assert call.operation.sampling == SamplingParams(
        temperature=0.5, top_p=0.9, presence_penalty=1, frequency_penalty=-1, seed=7, top_k=5, min_p=0.1
    )


@pytest.mark.parametrize(
    "reasoning, thinking, summaries, echo",
    [
        (None, Thinking(), False, {"effort": None, "summary": None}),
        ({"effort": "high"}, Thinking(effort="high"), False, {"effort": "high", "summary": None}),
        ({"effort": "none"}, Thinking(effort="none"), False, {"effort": "none", "summary": None}),
        ({"summary": "auto"}, Thinking(), True, {"effort": None, "summary": "auto"}),
        ({"summary": "concise"}, Thinking(), True, {"effort": None, "summary": "concise"}),
        ({"generate_summary": "detailed"}, Thinking(), True, {"effort": None, "summary": "detailed"}),
        ({"effort": None, "summary": None}, Thinking(), False, {"effort": None, "summary": None}),
    ],
)
def test_reasoning_says_how_much_is_thought_and_how_it_is_told(reasoning, thinking, summaries, echo):
    call = call_of(reasoning=reasoning)
    assert call.operation.prompt.thinking == thinking
    assert (call.summaries, call.echo["reasoning"], call.ignored) == (summaries, echo, ())


def test_what_reasoning_has_beside_that_is_listed():
    assert ignored(reasoning={"effort": "low", "context": "all_turns"}) == ("reasoning.context",)
    assert ignored(reasoning={"summary": "auto", "generate_summary": "auto"}) == ("reasoning.generate_summary",)
    assert refusal(reasoning={"effort": "huge"}).param == "reasoning.effort"
    assert refusal(reasoning={"summary": "short"}).param == "reasoning.summary"


def test_switches_of_thinking_are_those_of_chat():
    call = call_of(enable_thinking=False, preserve_thinking=True, chat_template_kwargs={"a": 1})
    assert call.operation.prompt.thinking == Thinking(enabled=False, preserve=True)
    assert call.operation.prompt.template_args == {"a": 1}


def test_included_are_sealed_reasoning_and_logprobs():
    call = call_of(include=["reasoning.encrypted_content"])
    assert (call.encrypted, call.logprobs, call.operation.readout) == (True, False, Readout())
    call = call_of(include=["message.output_text.logprobs"], top_logprobs=3)
    assert (call.encrypted, call.logprobs, call.operation.readout) == (False, True, Readout(logprobs=3))
    assert call_of(include=["message.output_text.logprobs"]).operation.readout == Readout(logprobs=0)
    assert call.ignored == ()


def test_what_else_can_be_included_is_listed():
    effective = {"reasoning.encrypted_content", "message.output_text.logprobs"}
    others = [name for name in get_args(ResponseIncludable) if name not in effective]
    assert len(others) >= 6
    call = call_of(include=others, strict=True)
    assert set(call.ignored) == {f"include.*.{name}" for name in others}
    assert ignored(include=["moon"]) == ("include.*.moon",)
    assert refusal(include=["moon"], strict=True).param == "include.0"


def test_top_logprobs_alone_are_checked_and_listed():
    call = call_of(top_logprobs=20)
    assert (call.operation.readout, call.ignored, call.echo["top_logprobs"]) == (Readout(), ("top_logprobs",), 20)
    assert refusal(top_logprobs=21).param == "top_logprobs"
    assert refusal(top_logprobs=-1).param == "top_logprobs"


@pytest.mark.seeds("S58", "S60")
@pytest.mark.parametrize(
    "format, output, echo",
    [
        (None, None, {"type": "text"}),
        ({"type": "text"}, None, {"type": "text"}),
        ({}, None, {"type": "text"}),
        ({"type": "json_object"}, JsonFormat(), {"type": "json_object"}),
        (
            {"type": "json_schema", "name": "person", "schema": SCHEMA, "strict": True},
            JsonFormat(schema=SCHEMA),
            {"type": "json_schema", "name": "person", "description": None, "schema": SCHEMA, "strict": True},
        ),
        ({"type": "regex", "regex": "a+"}, RegexFormat(pattern="a+"), {"type": "text"}),
        (
            {"type": "grammar", "grammar": 'start: "a"'},
            GrammarFormat(source='start: "a"', syntax="lark"),
            {"type": "text"},
        ),
    ],
)
def test_a_format_is_enforced_and_repeated(format, output, echo):
    call = call_of(text={"format": format})
    assert (call.operation.output, call.echo["text"], call.ignored) == (output, {"format": echo}, ())


@pytest.mark.seeds("S58", "S59")
@pytest.mark.parametrize(
    "text, param",
    [
        ("json_object", "text"),
        ({"format": "json_object"}, "text.format"),
        ({"format": {"type": "xml"}}, "text.format.type"),
        ({"format": {"type": "json_schema", "name": "x"}}, "text.format.schema"),
        (
            {"format": {"type": "json_schema", "name": "x", "schema": {"properties": {"a": "b"}}}},
            "text.format.schema.properties.a",
        ),
        ({"format": {"type": "regex", "regex": "(?=a)"}}, "text.format.regex"),
        ({"verbosity": "loud"}, "text.verbosity"),
    ],
)
def test_a_format_that_cannot_be_enforced_is_refused_by_name(text, param):
    assert refusal(text=text).param == param


def test_verbosity_is_repeated_and_listed():
    call = call_of(text={"verbosity": "low"})
    assert (call.echo["text"], call.ignored) == ({"format": {"type": "text"}, "verbosity": "low"}, ("text.verbosity",))


def test_truncation_is_never_done():
    assert call_of(truncation="disabled").echo["truncation"] == "disabled"
    caught = refusal(truncation="auto")
    assert (type(caught), caught.param) == (Unsupported, "truncation")
    assert "/v1/responses/compact" in caught.message


@pytest.mark.seeds("S144")
def test_what_came_before_is_named_once():
    assert request_of(previous_response_id="resp_1").previous == "resp_1"
    assert request_of(conversation="conv_1").conversation == "conv_1"
    assert request_of(conversation={"id": "conv_1"}).conversation == "conv_1"
    assert call_of(conversation={"id": "conv_1"}).echo["conversation"] == {"id": "conv_1"}
    assert "conversation" not in call_of().echo
    with pytest.raises(InvalidRequest) as caught:
        request_of(previous_response_id="resp_1", conversation="conv_1")
    assert caught.value.param == "previous_response_id"
    assert request_of(previous_response_id=None, conversation=None).previous is None
    for malformed, param in ((5, "conversation"), ({}, "conversation.id"), ({"id": 5}, "conversation.id")):
        with pytest.raises(InvalidRequest) as caught:
            request_of(conversation=malformed)
        assert caught.value.param == param


def test_background_needs_a_store():
    request = request_of(background=True)
    assert (request.background, request.store) == (True, True)
    with pytest.raises(InvalidRequest) as caught:
        request_of(background=True, store=False)
    assert caught.value.param == "background"
    assert request_of(store=False).store is False


def test_a_message_over_a_socket_may_ask_for_the_prompt_alone():
    request = request_of(type="response.create", generate=False, stream=True)
    assert (request.generate, request.stream, request.resolve().ignored) == (False, True, ())
    assert request_of().generate is True
    assert refusal(type="response.cancel").param == "type"


def test_without_a_turn_before_there_must_be_an_input():
    for body in ({}, {"input": None}):
        with pytest.raises(InvalidRequest) as caught:
            SURFACE.parse({"model": "m"} | body, mint=minting())
        assert (caught.value.param, caught.value.code) == ("input", Code.MISSING_FIELD)
    assert refusal(input=[]).param == "input"
    said = {"type": "message", "role": "user", "content": "hi", "id": "msg_0"}
    request = SURFACE.parse({"previous_response_id": "resp_1"}, mint=minting())
    assert [message.text for message in request.resolve([said]).operation.prompt.messages] == ["hi"]


@pytest.mark.parametrize(
    "metadata, param",
    [
        ({str(n): "" for n in range(17)}, "metadata"),
        ({"k" * 65: "v"}, "metadata." + "k" * 64),
        ({"": "v"}, "metadata."),
        ({"k": "v" * 513}, "metadata.k"),
        ({"k": 5}, "metadata.k"),
        (["k"], "metadata"),
    ],
)
def test_metadata_has_openais_bounds(metadata, param):
    assert refusal(metadata=metadata).param == param


def test_metadata_within_the_bounds_is_repeated():
    metadata = {"k" * 64: "v" * 512, **{str(n): "" for n in range(15)}}
    assert call_of(metadata=metadata).echo["metadata"] == metadata


def test_an_empty_request_is_repeated_with_all_that_holds():
    assert call_of().echo == {
        "background": False,
        "instructions": None,
        "max_output_tokens": None,
        "max_tool_calls": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "prompt_cache_key": None,
        "reasoning": {"effort": None, "summary": None},
        "safety_identifier": None,
        "service_tier": "default",
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_logprobs": 0,
        "top_p": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "truncation": "disabled",
    }


def test_openais_sdk_reads_what_is_repeated():
    echo = call_of(
        instructions="Be brief.",
        previous_response_id="resp_0",
        metadata={"a": "b"},
        max_tool_calls=3,
        parallel_tool_calls=False,
        safety_identifier="s",
        prompt_cache_key="k",
        service_tier="flex",
        user="u",
        temperature=0.5,
        text={"format": {"type": "json_schema", "name": "x", "schema": SCHEMA}, "verbosity": "low"},
        reasoning={"effort": "low", "summary": "auto"},
        tools=[
            {"type": "function", "name": "f", "parameters": SCHEMA, "strict": True, "description": "d"},
            {"type": "function", "name": "g"},
            {"type": "custom", "name": "c", "format": {"type": "grammar", "syntax": "regex", "definition": "a"}},
            {"type": "namespace", "name": "n", "description": "", "tools": [{"type": "function", "name": "h"}]},
        ],
        tool_choice={"type": "function", "name": "f"},
    ).echo
    body = {"id": "resp_1", "object": "response", "created_at": 0, "model": "m", "output": [], "status": "completed"}
    response = Response.model_validate(body | echo, strict=True)
    assert [type(tool).__name__ for tool in response.tools] == [
        "FunctionTool",
        "FunctionTool",
        "CustomTool",
        "NamespaceTool",
    ]
    assert (response.tools[0].strict, response.tools[1].strict, response.tools[1].parameters) == (True, False, None)
    assert (response.user, response.metadata, response.max_tool_calls) == ("u", {"a": "b"}, 3)
    assert (response.parallel_tool_calls, response.previous_response_id) == (False, "resp_0")
    assert (response.text.format.type, response.text.verbosity) == ("json_schema", "low")
    assert (response.tool_choice.name, response.instructions, response.temperature) == ("f", "Be brief.", 0.5)
    assert response.service_tier == "default"  # what it was served with, whatever was asked for


def test_a_count_takes_an_empty_body_and_every_kind_of_prompt():
    assert SURFACE.parse_count({}, mint=minting()).resolve().operation.prompt == Conversation(messages=())
    body = {
        "model": "m",
        "input": "hi",
        "instructions": "Be brief.",
        "tools": [{"type": "function", "name": "f"}],
        "tool_choice": "auto",
        "reasoning": {"effort": "low"},
        "text": {"format": {"type": "json_object"}},
        "truncation": "disabled",
        "parallel_tool_calls": True,
        "previous_response_id": "resp_1",
    }
    counted = SURFACE.parse_count(body, mint=minting())
    del body["text"]
    assert counted.previous == "resp_1"
    assert counted.resolve().operation.prompt == call_of(**body).operation.prompt
    assert counted.resolve().operation.model == "m"


def test_what_shall_be_made_short_needs_a_model_alone():
    assert SURFACE.parse_compact({"model": "m"}, mint=minting()).resolve().operation.prompt == Conversation(messages=())
    request = SURFACE.parse_compact({"model": "m", "previous_response_id": "resp_1", "input": "x"}, mint=minting())
    assert (request.previous, request.resolve().operation.prompt.messages[0].text) == ("resp_1", "x")
    with pytest.raises(InvalidRequest) as caught:
        SURFACE.parse_compact({"input": "x"}, mint=minting())
    assert (caught.value.param, caught.value.code) == ("model", Code.MISSING_FIELD)


@pytest.mark.seeds("S2")
def test_an_error_has_openais_envelope_and_the_clients_names():
    error = Unsupported("no", code=Code.UNSUPPORTED_VALUE, feature="output")
    reply = SURFACE.error(error, call_of())
    assert (reply.status, reply.body["error"]["param"]) == (400, "text.format")
    assert set(reply.body["error"]) == {"message", "type", "param", "code"}
    assert SURFACE.error(EngineFailed("x", code=Code.ENGINE_CRASHED)).status == 503


@pytest.mark.parametrize(
    "body, param",
    [
        ({"text": {"format": {"type": "json_object"}}}, "text.format"),
        ({"tools": [{"type": "function", "name": "f"}]}, "tools"),
    ],
)
def test_a_grammar_that_fails_is_named_by_the_field_that_asked_for_it(body, param):
    assert call_of(**body).spelling["grammar"] == param
