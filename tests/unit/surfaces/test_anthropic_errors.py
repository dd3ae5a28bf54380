from __future__ import annotations

import anthropic
import httpx2
import pytest
from anthropic.types.shared.error_response import ErrorResponse
from pydantic import TypeAdapter

from dragoman.core import errors
from dragoman.core.errors import (
    Cancelled,
    Code,
    Conflict,
    EngineFailed,
    Forbidden,
    Internal,
    InvalidRequest,
    NotFound,
    Overloaded,
    ServiceError,
    TooLarge,
    Unauthorized,
    Unsupported,
)
from dragoman.engines.failures import request_failure
from dragoman.protocol.frames import Error
from dragoman.surfaces.anthropic_errors import BY_CODE, BY_KIND, envelope, reply

TABLE = [
    (InvalidRequest, Code.INVALID_VALUE, 400, "invalid_request_error"),
    (Unsupported, Code.UNSUPPORTED_FIELD, 400, "invalid_request_error"),
    (Unauthorized, Code.INVALID_API_KEY, 401, "authentication_error"),
    (Forbidden, Code.FORBIDDEN_HOST, 403, "permission_error"),
    (NotFound, Code.MODEL_NOT_FOUND, 404, "not_found_error"),
    (InvalidRequest, Code.METHOD_NOT_ALLOWED, 405, "invalid_request_error"),
    (Conflict, Code.IDEMPOTENCY_MISMATCH, 409, "invalid_request_error"),
    (TooLarge, Code.BODY_TOO_LARGE, 413, "request_too_large"),
    (InvalidRequest, Code.UNSUPPORTED_MEDIA_TYPE, 415, "invalid_request_error"),
    (Overloaded, Code.QUEUE_FULL, 429, "rate_limit_error"),
    (Overloaded, Code.QUEUE_TIMEOUT, 429, "rate_limit_error"),
    (Cancelled, Code.CANCELLED, 499, "invalid_request_error"),
    (EngineFailed, Code.ENGINE_ERROR, 500, "api_error"),
    (Internal, Code.INTERNAL, 500, "api_error"),
    (EngineFailed, Code.ENGINE_PROTOCOL, 502, "api_error"),
    (EngineFailed, Code.INVALID_TOOL_CALL, 502, "api_error"),
    (Overloaded, Code.SHUTTING_DOWN, 503, "overloaded_error"),
    (EngineFailed, Code.ENGINE_LOADING, 503, "overloaded_error"),
    (EngineFailed, Code.ENGINE_CRASHED, 503, "overloaded_error"),
    (EngineFailed, Code.ENGINE_STOPPED, 503, "overloaded_error"),
    (EngineFailed, Code.ENGINE_TIMEOUT, 504, "timeout_error"),
]


@pytest.mark.seeds("S117")
@pytest.mark.parametrize(("kind", "code", "status", "type_"), TABLE)
def test_a_failure_has_its_status_and_its_type(kind, code, status, type_):
    answer = reply(kind("what happened", code=code), request_id="req_1")
    assert answer.status == status
    assert answer.body == {
        "type": "error",
        "error": {"type": type_, "message": "what happened"},
        "request_id": "req_1",
    }


@pytest.mark.parametrize("type_", sorted({row[3] for row in TABLE} - {"request_too_large"}))
def test_the_types_are_those_of_the_official_envelope(type_):
    """All but one, which Anthropic documents for a 413 and its SDK has no class for."""
    kind, code = next(row[:2] for row in TABLE if row[3] == type_)
    read = TypeAdapter(ErrorResponse).validate_python(reply(kind("x", code=code)).body, strict=True)
    assert read.error.type == type_


def test_every_kind_has_a_status():
    kinds = {value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, ServiceError)}
    assert kinds - {ServiceError, Unsupported} == set(BY_KIND)


def test_the_exceptions_by_code_are_exceptions():
    assert all(value not in BY_KIND.values() for value in BY_CODE.values())


@pytest.mark.parametrize(
    ("error", "header"),
    [
        (Overloaded("full", code=Code.QUEUE_FULL, retry_after=7), "7"),
        (EngineFailed("soon", code=Code.ENGINE_LOADING), "1"),
        (EngineFailed("late", code=Code.ENGINE_TIMEOUT), "1"),
        (EngineFailed("no", code=Code.ENGINE_ERROR), None),
        (InvalidRequest("no", code=Code.INVALID_VALUE), None),
    ],
)
def test_what_passes_by_itself_says_when_to_come_back(error, header):
    assert reply(error).headers.get("retry-after") == header


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InvalidRequest("must be positive", code=Code.INVALID_VALUE, param="top_k"), "top_k: must be positive"),
        (InvalidRequest("top_k is negative", code=Code.INVALID_VALUE, param="top_k"), "top_k is negative"),
        (InvalidRequest("is empty", code=Code.INVALID_VALUE, feature="prompt"), "messages: is empty"),
        (InvalidRequest("no such thing", code=Code.INVALID_VALUE, feature="seed"), "seed: no such thing"),
    ],
)
def test_the_field_is_named_as_the_client_spells_it_and_once(error, message):
    assert envelope(error, {"prompt": "messages"})["error"]["message"] == message


@pytest.mark.parametrize(
    ("detail", "message"),
    [
        ("5000 4096", "prompt is too long: 5000 tokens > 4096 maximum"),
        # It fits, and leaves nothing for an answer: 4095 is the longest that does.
        ("4096 4096", "prompt is too long: 4096 tokens > 4095 maximum"),
        (
            "prompt_tokens=4000 requested=200 capacity=4096",
            "input length and `max_tokens` exceed context limit: 4000 + 200 > 4096",
        ),
        ("prompt_tokens=5000 requested=16 capacity=4096", "prompt is too long: 5000 tokens > 4096 maximum"),
    ],
)
def test_an_overflow_is_told_in_the_words_by_which_agents_know_it(detail, message):
    shaped = envelope(request_failure(Error(1, "CONTEXT_EXCEEDED", detail), ids=False), {"prompt": "messages"})
    assert shaped["error"] == {"type": "invalid_request_error", "message": message}


def test_an_overflow_without_numbers_has_the_words_all_the_same():
    shaped = envelope(request_failure(Error(1, "CONTEXT_EXCEEDED"), ids=False))
    assert shaped["error"]["message"].startswith("prompt is too long: ")


def test_the_official_sdk_finds_the_details_that_its_tool_runner_recovers_by():
    details = {"error_code": "thread_unsupported_request", "unsupported": ["thread"]}
    refused = InvalidRequest("no threads", code=Code.THREAD_UNSUPPORTED, param="thread", details=details)
    answer = reply(refused, request_id="req_1")

    def serve(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(answer.status, json=answer.body, headers={"request-id": "req_1"})

    with httpx2.Client(transport=httpx2.MockTransport(serve)) as http:
        client = anthropic.Anthropic(api_key="x", http_client=http, max_retries=0)
        with pytest.raises(anthropic.BadRequestError) as raised:
            client.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": "hi"}])
    assert raised.value.body["error"]["details"] == details
    assert type(raised.value).__name__ == "ThreadUnsupportedRequestError"


def test_details_that_have_no_code_of_that_contract_are_kept_back():
    error = InvalidRequest("x", code=Code.INVALID_VALUE, details={"prompt_tokens": 1})
    assert "details" not in envelope(error)["error"]


def test_a_request_without_a_name_has_none():
    assert envelope(Internal("oh", code=Code.INTERNAL))["request_id"] is None
