"""The published document: valid, whole, of one piece with the field tables, and as strict about replies as the official types."""

from __future__ import annotations

import json
import subprocess
import sys
from copy import deepcopy
from typing import get_args

import pytest
from anthropic.types import Message, MessageTokensCount, RawMessageStreamEvent
from jsonschema import Draft202012Validator
from openai.types import Completion, Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.conversations import Conversation
from openai.types.responses import CompactedResponse, Response, ResponseStreamEvent
from openapi_spec_validator import validate

from dragoman.core.errors import InvalidRequest
from dragoman.surfaces import (
    anthropic_errors,
    anthropic_fields,
    openai_chat,
    openai_completions,
    openai_errors,
    responses_conversations,
    responses_fields,
    tokens,
)
from dragoman.surfaces.openai_chat import ChatCompletions
from dragoman.surfaces.openapi import document


def members(union: object) -> tuple:
    """The types of an SDK's union."""
    return get_args(get_args(union)[0])


DOCUMENT = json.loads(json.dumps(document(version="1.2.3")))
SCHEMAS = DOCUMENT["components"]["schemas"]
TABLES = {
    "ChatCompletionRequest": openai_chat.FIELDS,
    "CompletionRequest": openai_completions.FIELDS,
    "MessageRequest": anthropic_fields.FIELDS,
    "MessageCountRequest": anthropic_fields.COUNT_FIELDS,
    "ResponseRequest": responses_fields.FIELDS,
    "ResponseCountRequest": responses_fields.COUNT_FIELDS,
    "CompactRequest": responses_fields.COMPACT_FIELDS,
    "ConversationRequest": responses_conversations.CREATE_FIELDS,
    "ConversationUpdate": responses_conversations.UPDATE_FIELDS,
    "ItemsRequest": responses_conversations.ADD_FIELDS,
    "TokenizeRequest": tokens.TOKENIZE_FIELDS,
    "DetokenizeRequest": tokens.DETOKENIZE_FIELDS,
}
USAGE = {
    "prompt_tokens": 3,
    "completion_tokens": 1,
    "total_tokens": 4,
    "prompt_tokens_details": {"cached_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 0},
}
HEAD = {"id": "chatcmpl-1", "created": 1_700_000_000, "model": "m", "system_fingerprint": "fp_1"}
ROW = {"token": "Hi", "logprob": -0.5, "bytes": [72, 105]}
CHAT = HEAD | {
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hi", "refusal": None, "annotations": []},
            "logprobs": {"content": [ROW | {"top_logprobs": [ROW]}], "refusal": None},
            "finish_reason": "stop",
            "stop_reason": None,
        }
    ],
    "usage": USAGE,
}
CHUNK = HEAD | {
    "object": "chat.completion.chunk",
    "choices": [{"index": 0, "delta": {"content": "Hi"}, "logprobs": None, "finish_reason": None}],
    "usage": None,
}
TEXT = HEAD | {
    "object": "text_completion",
    "choices": [
        {
            "index": 0,
            "text": "Hi",
            "logprobs": {
                "tokens": ["H", "i"],
                "token_logprobs": [None, -0.5],
                "top_logprobs": [None, {"i": -0.5}],
                "text_offset": [0, 1],
            },
            "finish_reason": "length",
            "stop_reason": None,
        }
    ],
    "usage": USAGE,
}
MADE = {"id": "call_1_0_0", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLED = deepcopy(CHAT)
CALLED["choices"][0]["message"] |= {"content": None, "tool_calls": [MADE]}
CALLED["choices"][0] |= {"finish_reason": "tool_calls", "logprobs": None}
BEGUN = deepcopy(CHUNK)
BEGUN["choices"][0]["delta"] = {"tool_calls": [{"index": 0, **MADE}]}
GROWN = deepcopy(CHUNK)
GROWN["choices"][0]["delta"] = {"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]}
ERROR = {"error": {"message": "no", "type": "invalid_request_error", "param": None, "code": "invalid_value"}}


def accepts(name: str, value: object) -> bool:
    schema = {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
    return Draft202012Validator(schema).is_valid(value)


def without(value: dict, *path: str | int) -> dict:
    copy = deepcopy(value)
    inner = copy
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return copy


def replaced(value: dict, new: object, *path: str | int) -> dict:
    copy = deepcopy(value)
    inner = copy
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = new
    return copy


def test_it_is_valid_openapi_3_1_of_this_version():
    validate(DOCUMENT)
    assert DOCUMENT["openapi"].startswith("3.1.")
    assert DOCUMENT["info"]["version"] == "1.2.3"


def test_two_servers_of_one_build_publish_the_same_bytes():
    """Not even the order of sets, which Python draws anew for each process, shows in it."""
    script = "import json; from dragoman.surfaces.openapi import document; print(json.dumps(document(version='1')))"
    published = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(published) == 1


def test_every_route_is_in_it():
    assert {path: set(item) for path, item in DOCUMENT["paths"].items()} == {
        "/v1/chat/completions": {"post"},
        "/v1/completions": {"post"},
        "/v1/messages": {"post"},
        "/v1/messages/count_tokens": {"post"},
        "/v1/responses": {"post"},
        "/v1/responses/input_tokens": {"post"},
        "/v1/responses/compact": {"post"},
        "/v1/responses/{response_id}": {"get", "delete"},
        "/v1/responses/{response_id}/cancel": {"post"},
        "/v1/responses/{response_id}/input_items": {"get"},
        "/v1/conversations": {"post"},
        "/v1/conversations/{conversation_id}": {"get", "post", "delete"},
        "/v1/conversations/{conversation_id}/items": {"get", "post"},
        "/v1/conversations/{conversation_id}/items/{item_id}": {"get", "delete"},
        "/v1/models": {"get"},
        "/v1/models/{model}": {"get"},
        "/tokenize": {"post"},
        "/v1/tokenize": {"post"},
        "/detokenize": {"post"},
        "/v1/detokenize": {"post"},
        "/health": {"get"},
        "/version": {"get"},
        "/": {"get"},
        "/metrics": {"get"},
        "/openapi.json": {"get"},
    }


@pytest.mark.parametrize("name, table", TABLES.items())
def test_every_field_of_a_table_is_described_by_its_note(name, table):
    properties = SCHEMAS[name]["properties"]
    assert list(properties) == [row.name for row in table]
    assert [row.name for row in table if row.note not in properties[row.name]["description"]] == []


@pytest.mark.parametrize(
    "name, body, fits",
    [
        ("ChatCompletionRequest", {"messages": [{"role": "user", "content": "Hi"}]}, True),
        ("ChatCompletionRequest", {"messages": [{"role": "user", "content": "Hi"}], "temperature": None}, True),
        ("ChatCompletionRequest", {"messages": [{"role": "user", "content": "Hi"}], "temperature": 2.1}, False),
        ("ChatCompletionRequest", {"messages": [{"role": "user", "content": "Hi"}], "user": "u"}, True),
        ("ChatCompletionRequest", {"messages": []}, False),
        ("ChatCompletionRequest", {"messages": None}, False),
        ("ChatCompletionRequest", {}, False),
        ("CompletionRequest", {"prompt": "Hi"}, True),
        ("CompletionRequest", {"prompt": [[1, 2], [3]]}, True),
        ("CompletionRequest", {"prompt": ["a", 1]}, False),
        ("CompletionRequest", {"prompt": "Hi", "use_beam_search": False}, True),
        ("CompletionRequest", {"prompt": "Hi", "use_beam_search": True}, False),
        ("MessageRequest", {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}, True),
        ("MessageRequest", {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}, True),
        ("MessageRequest", {"messages": [{"role": "user", "content": [{"type": "document"}]}]}, False),
        ("MessageRequest", {"messages": [{"role": "tool", "content": "Hi"}]}, False),
        ("MessageRequest", {"messages": [{"role": "user", "content": "Hi"}], "thread": {"type": "create"}}, False),
        ("MessageRequest", {"max_tokens": 1}, False),
        ("ResponseRequest", {"input": "Hi"}, True),
        ("ResponseRequest", {"input": [{"role": "user", "content": "Hi"}]}, True),
        ("ResponseRequest", {"input": [{"type": "reasoning", "summary": [], "encrypted_content": "x"}]}, True),
        ("ResponseRequest", {"input": [{"type": "function_call_output", "output": "4"}]}, False),
        ("ResponseRequest", {"input": [{"content": "Hi"}]}, False),
        ("ResponseRequest", {"input": "Hi", "truncation": "auto"}, False),
        ("ResponseRequest", {"input": "Hi", "tools": [{"type": "web_search"}]}, True),
        ("CompactRequest", {"model": "m"}, True),
        ("CompactRequest", {"input": "Hi"}, False),
        ("ConversationRequest", {}, True),
        ("ConversationRequest", {"items": [{}] * 21}, False),
        ("ConversationUpdate", {"metadata": {"a": "b"}}, True),
        ("ConversationUpdate", {"metadata": {"a": 1}}, False),
        ("TokenizeRequest", {"prompt": "Hi"}, True),
        ("TokenizeRequest", {"prompt": "Hi", "content": "Hi"}, False),
        ("TokenizeRequest", {}, False),
        ("DetokenizeRequest", {"tokens": [1]}, True),
        ("DetokenizeRequest", {"tokens": "1"}, False),
    ],
)
def test_a_body_fits_where_the_server_would_take_it(name, body, fits):
    assert accepts(name, body) is fits


CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    "message, fits",
    [
        ({"role": "user", "content": "Hi"}, True),
        ({"role": "user", "content": [{"type": "text", "text": "Hi"}]}, True),
        ({"role": "user", "content": [{"type": "text"}]}, False),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {}}]}, False),
        ({"role": "user", "content": None}, False),
        ({"role": "user"}, False),
        ({"role": "user", "content": "Hi", "tool_calls": [CALL]}, False),
        ({"role": "user", "content": "Hi", "tool_calls": None}, True),
        ({"role": "assistant", "content": "Hi"}, True),
        ({"role": "assistant", "content": None, "tool_calls": [CALL]}, True),
        ({"role": "assistant", "content": None, "tool_calls": []}, False),
        ({"role": "assistant", "tool_calls": [CALL | {"type": "custom"}]}, False),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}, True),
        ({"role": "assistant", "refusal": "No."}, True),
        ({"role": "assistant", "reasoning_content": "Hm."}, True),
        ({"role": "assistant"}, False),
        ({"role": "tool", "content": "4", "tool_call_id": "1"}, True),
        ({"role": "tool", "content": "4"}, False),
        ({"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}, True),
        ({"role": "function", "content": "4", "name": "f"}, True),
        ({"role": "function", "content": "4"}, False),
        ({"role": "function", "content": "4", "name": "f", "tool_call_id": "1"}, False),
        ({"content": "Hi"}, False),
    ],
)
def test_a_message_fits_where_the_server_would_read_it(message, fits):
    """What is expected is what the reader of messages does, asked beside it."""
    call = {"messages": [message, {"role": "user", "content": "Go on"}]}
    assert accepts("ChatCompletionRequest", call) is fits
    if fits:
        ChatCompletions().parse(call)
    else:
        with pytest.raises(InvalidRequest):
            ChatCompletions().parse(call)


def given(table: object) -> set[int]:
    """The statuses of a contract's errors: all but 499, which nobody is left to read."""
    return {status for status, _ in (*table.BY_KIND.values(), *table.BY_CODE.values())} - {499}  # type: ignore[attr-defined]


@pytest.mark.seeds("S117", "S156")
def test_the_statuses_of_errors_are_the_ones_that_errors_get():
    of_openai, of_anthropic = given(openai_errors), given(anthropic_errors)
    described = set(DOCUMENT["components"]["responses"])
    every = {str(status) for status in of_openai | of_anthropic}
    assert described == every | {f"messages-{status}" for status in every}
    for path, item in DOCUMENT["paths"].items():
        for operation in item.values():
            errors = {int(status) for status in operation["responses"]} - {200, 503}
            assert errors <= (of_anthropic if path.startswith("/v1/messages") else of_openai)


@pytest.mark.seeds("S156")
@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 413, 415, 429, 500, 502, 503])
def test_a_generation_route_may_answer_with_each_of_them(status):
    for path in ("/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses"):
        assert str(status) in DOCUMENT["paths"][path]["post"]["responses"]


@pytest.mark.seeds("S117")
def test_errors_of_messages_are_in_anthropics_envelope_and_all_others_in_openais():
    for path, item in DOCUMENT["paths"].items():
        for operation in item.values():
            errors = {status: reply for status, reply in operation["responses"].items() if "$ref" in reply}
            prefix = "messages-" if path.startswith("/v1/messages") else ""
            for status, reply in errors.items():
                assert reply["$ref"] == f"#/components/responses/{prefix}{status}"
    of = DOCUMENT["components"]["responses"]
    assert of["messages-400"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/MessagesError"}
    assert of["400"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Error"}


@pytest.mark.seeds("S15")
def test_what_generates_may_be_retried_under_a_key():
    keyed = {
        path
        for path, item in DOCUMENT["paths"].items()
        for operation in item.values()
        if {"$ref": "#/components/parameters/Idempotency-Key"} in operation.get("parameters", ())
    }
    assert keyed == {"/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses"}


@pytest.mark.parametrize(
    "path, names",
    [
        ("/v1/responses/{response_id}/input_items", ["response_id", "limit", "order", "after"]),
        ("/v1/conversations/{conversation_id}/items", ["conversation_id", "limit", "order", "after"]),
        ("/v1/responses/{response_id}", ["response_id", "stream", "starting_after"]),
    ],
)
def test_what_is_read_of_an_address_is_described(path, names):
    assert [row["name"] for row in DOCUMENT["paths"][path]["get"]["parameters"]] == names


def test_only_health_is_public():
    public = [path for path, item in DOCUMENT["paths"].items() for one in item.values() if one.get("security") == []]
    assert public == ["/health"]
    assert {} in DOCUMENT["security"]
    assert {tuple(one) for one in DOCUMENT["security"]} == {(), ("bearer",), ("apiKey",)}


@pytest.mark.parametrize(
    "name, official",
    [
        ("ChatCompletion", ChatCompletion),
        ("ChatCompletionChunk", ChatCompletionChunk),
        ("Completion", Completion),
        ("Model", Model),
        ("Message", Message),
        ("MessageTokens", MessageTokensCount),
        ("Response", Response),
        ("Compaction", CompactedResponse),
        ("Conversation", Conversation),
        *(
            (f"MessageEvent.{kind}", event)
            for event in members(RawMessageStreamEvent)
            for kind in get_args(event.model_fields["type"].annotation)
        ),
        *(
            (f"ResponseEvent.{kind}", event)
            for event in members(ResponseStreamEvent)
            for kind in get_args(event.model_fields["type"].annotation)
            if f"ResponseEvent.{kind}" in SCHEMAS
        ),
    ],
)
def test_what_the_official_type_requires_is_required(name, official):
    needed = {info.alias or field for field, info in official.model_fields.items() if info.is_required()}
    assert needed
    assert needed <= set(SCHEMAS[name]["required"])


@pytest.mark.parametrize(
    "name, value",
    [
        ("ChatCompletion", CHAT),
        ("ChatCompletion", CALLED),
        ("ChatCompletionChunk", CHUNK),
        ("ChatCompletionChunk", BEGUN),
        ("ChatCompletionChunk", GROWN),
        ("Completion", TEXT),
        ("Error", ERROR),
    ],
)
def test_a_right_reply_fits_and_one_with_a_further_key_does_not(name, value):
    assert accepts(name, value)
    assert not accepts(name, value | {"surprise": 1})


@pytest.mark.parametrize(
    "name, wrong",
    [
        ("ChatCompletion", without(CHAT, "usage")),
        ("ChatCompletion", without(CHAT, "usage", "completion_tokens_details")),
        ("ChatCompletion", without(CHAT, "choices", 0, "message", "refusal")),
        ("ChatCompletion", without(CHAT, "choices", 0, "logprobs")),
        ("ChatCompletion", replaced(CHAT, [], "choices")),
        ("ChatCompletion", replaced(CHAT, None, "choices", 0, "finish_reason")),
        ("ChatCompletion", replaced(CHAT, 0.5, "choices", 0, "logprobs", "content", 0, "logprob")),
        ("ChatCompletion", replaced(CHAT, "user", "choices", 0, "message", "role")),
        ("ChatCompletion", replaced(CHAT, "text_completion", "object")),
        ("ChatCompletionChunk", without(CHUNK, "choices", 0, "finish_reason")),
        ("ChatCompletionChunk", replaced(CHUNK, None, "choices", 0, "delta", "role")),
        ("ChatCompletion", replaced(CALLED, [], "choices", 0, "message", "tool_calls")),
        ("ChatCompletion", without(CALLED, "choices", 0, "message", "tool_calls", 0, "id")),
        ("ChatCompletion", replaced(CALLED, {}, "choices", 0, "message", "tool_calls", 0, "function", "arguments")),
        ("ChatCompletion", replaced(CALLED, "tool_call", "choices", 0, "finish_reason")),
        ("ChatCompletionChunk", without(BEGUN, "choices", 0, "delta", "tool_calls", 0, "index")),
        ("ChatCompletionChunk", without(GROWN, "choices", 0, "delta", "tool_calls", 0, "index")),
        ("ChatCompletionChunk", replaced(BEGUN, {"index": 0, **MADE}, "choices", 0, "delta", "tool_calls")),
        ("Completion", replaced(TEXT, "tool_calls", "choices", 0, "finish_reason")),
        ("Completion", without(TEXT, "choices", 0, "logprobs", "text_offset")),
        ("Completion", replaced(TEXT, -1, "choices", 0, "logprobs", "text_offset", 0)),
        ("Completion", replaced(TEXT, "error", "choices", 0, "finish_reason")),
        ("Error", without(ERROR, "error", "param")),
        ("Error", replaced(ERROR, "", "error", "message")),
    ],
)
def test_a_wrong_reply_does_not_fit(name, wrong):
    assert not accepts(name, wrong)
