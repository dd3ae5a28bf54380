"""Whatever the types of the official SDKs can say is read or refused by its name, field by field: nothing of it is unknown, and nothing breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any

import msgspec
import pytest
from anthropic.types import MessageParam, ToolUnionParam, message_count_tokens_params, message_create_params
from anthropic.types.beta import BetaMessageParam, BetaToolUnionParam
from anthropic.types.beta import message_create_params as beta_create_params
from openai.types.responses import (
    Response,
    ResponseInputItemParam,
    ResponseItem,
    ResponseOutputItem,
    ToolParam,
    input_token_count_params,
    response_compact_params,
    response_create_params,
)
from pydantic import TypeAdapter

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.surfaces.anthropic_messages import Messages
from dragoman.surfaces.base import Stamp
from dragoman.surfaces.responses import Responses
from dragoman.surfaces.responses_call import ResponsesCall
from dragoman.surfaces.responses_projector import ResponsesProjector
from support.sdk_samples import samples

HELLO = {"role": "user", "content": "hi"}
Parse = Callable[[dict[str, Any]], object]


def message(body: dict[str, Any]) -> object:
    return Messages().parse(body, strict=True)


def message_count(body: dict[str, Any]) -> object:
    return Messages().parse_count(body, strict=True)


def mint() -> Callable[[], str]:
    numbers = count()
    return lambda: str(next(numbers))


def response(body: dict[str, Any]) -> ResponsesCall:
    return Responses().parse(body, strict=True, mint=mint()).resolve()


def response_count(body: dict[str, Any]) -> object:
    return Responses().parse_count(body, strict=True, mint=mint()).resolve()


def response_compact(body: dict[str, Any]) -> object:
    return Responses().parse_compact(body, strict=True, mint=mint()).resolve()


def refusals(bodies: Iterable[dict[str, Any]], parse: Parse) -> Iterator[InvalidRequest]:
    for body in bodies:
        try:
            parse(body)
        except InvalidRequest as error:
            yield error


TURNS = [
    pytest.param(MessageParam, lambda turn: {"messages": [HELLO, turn, HELLO]}, message, id="messages"),
    pytest.param(BetaMessageParam, lambda turn: {"messages": [HELLO, turn, HELLO]}, message, id="beta_messages"),
    pytest.param(ResponseInputItemParam, lambda item: {"input": [HELLO, item]}, response, id="responses"),
    pytest.param(ResponseOutputItem, lambda item: {"input": [HELLO, item]}, response, id="responses_output"),
]


@pytest.mark.parametrize("official, around, parse", TURNS)
def test_no_part_of_a_conversation_is_unknown(official, around, parse):
    bodies = [around(sample) for sample in samples(official)]
    assert len(bodies) > 300
    assert [error.param for error in refusals(bodies, parse) if error.code is Code.UNKNOWN_FIELD] == []


TOOLS = [
    pytest.param(ToolUnionParam, lambda tool: {"messages": [HELLO], "tools": [tool]}, message, id="messages"),
    pytest.param(BetaToolUnionParam, lambda tool: {"messages": [HELLO], "tools": [tool]}, message, id="beta_messages"),
    pytest.param(
        ToolParam,
        # What the types call a string is no grammar.
        lambda tool: {"input": "hi", "tools": [{**tool, "format": {"type": "text"}} if "format" in tool else tool]},
        response,
        id="responses",
    ),
]


@pytest.mark.parametrize("official, around, parse", TOOLS)
def test_a_tool_of_any_kind_refuses_no_request(official, around, parse):
    """Clients send hosted ones along with their own (wire.md, finding 7)."""
    nested = "tools.0.tools.0.format.definition"
    bodies = [around(sample) for sample in samples(official)]
    assert len(bodies) > 100
    assert [error.message for error in refusals(bodies, parse) if error.param != nested] == []


BODIES = [
    pytest.param(message_create_params.MessageCreateParamsNonStreaming, {"messages": [HELLO]}, message, id="messages"),
    pytest.param(
        beta_create_params.MessageCreateParamsNonStreaming, {"messages": [HELLO]}, message, id="beta_messages"
    ),
    pytest.param(
        message_count_tokens_params.MessageCountTokensParams,
        {"messages": [HELLO]},
        message_count,
        id="messages_count",
    ),
    pytest.param(response_create_params.ResponseCreateParamsNonStreaming, {"input": "hi"}, response, id="responses"),
    pytest.param(input_token_count_params.InputTokenCountParams, {"input": "hi"}, response_count, id="responses_count"),
    pytest.param(
        response_compact_params.ResponseCompactParams,
        {"input": "hi", "model": "m"},
        response_compact,
        id="responses_compact",
    ),
]
REFUSED = {"thread", "compaction", "container", "mcp_servers", "prompt"}
"""Fields that are refused whatever they hold, so that no other would be looked at."""

MEANT_TOGETHER = {"conversation", "tools", "tool_choice", "background", "truncation"}
"""Fields that only some others allow; each has tests of its own."""


@pytest.mark.parametrize("official, fixed, parse", BODIES)
def test_a_body_with_any_value_of_its_fields_is_read(official, fixed, parse):
    left_out = REFUSED | MEANT_TOGETHER
    bodies = [
        {name: value for name, value in sample.items() if name not in left_out} | fixed for sample in samples(official)
    ]
    assert len(bodies) > 100
    assert [error.message for error in refusals(bodies, parse)] == []


@pytest.mark.parametrize("choice", list(samples(response_create_params.ToolChoice)), ids=str)
def test_a_choice_of_tools_is_read_or_refused_by_what_it_names(choice):
    tools = [{"type": "function", "name": "s"}]
    for error in refusals([{"input": "hi", "tools": tools, "tool_choice": choice}], response):
        assert isinstance(error, Unsupported) or choice["tools"] == [{}]
        assert error.param in {"tool_choice.type", "tool_choice.tools.0.type"}


REPEATED = [
    {"text": {"format": {"type": "json_schema", "name": "n", "schema": True}}},
    {"tools": [{"type": "custom", "name": "a", "format": {"type": "grammar", "syntax": "regex", "definition": "a"}}]},
    {"tools": [{"type": "namespace", "name": "a", "tools": [{"type": "function", "name": "b"}]}], "tool_choice": {"type": "function", "name": "b"}},
    *({"tools": [tool]} for tool in samples(ToolParam)),
    *({"conversation": conversation} for conversation in samples(response_create_params.Conversation)),
    *(
        {name: value for name, value in sample.items() if name not in REFUSED | MEANT_TOGETHER}
        for sample in samples(response_create_params.ResponseCreateParamsNonStreaming)
    ),
]  # fmt: skip


def test_what_a_response_repeats_of_its_request_is_what_the_sdk_reads():
    read = TypeAdapter(Response).validate_python
    for body in REPEATED:
        try:
            call = response(body | {"input": "hi"})
        except Unsupported:
            continue
        told = ResponsesProjector(call, Stamp(id="1", created=0, model="m"), clock=lambda: 0.0).result()
        read(msgspec.json.decode(msgspec.json.encode(told)), strict=True)


def test_every_item_is_kept_as_the_sdk_reads_it_in_a_list():
    """Also one that came without a status, which lists have of most."""
    read = TypeAdapter(ResponseItem).validate_python
    kept = 0
    for sample in samples(ResponseInputItemParam):
        item = {name: value for name, value in sample.items() if name != "status"}
        try:
            call = response({"input": [HELLO, item]})
        except InvalidRequest:
            continue
        read(msgspec.json.decode(msgspec.json.encode(call.input[-1])), strict=True)
        kept += 1
    assert kept > 200
