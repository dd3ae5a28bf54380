from __future__ import annotations

import httpx2
import pytest
from openai import OpenAI
from openai.types.shared import ErrorObject
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
from dragoman.surfaces.openai_errors import BY_CODE, BY_KIND, reply


@pytest.mark.seeds("S156")
@pytest.mark.parametrize(
    "kind, code, status, type_",
    [
        (InvalidRequest, Code.INVALID_VALUE, 400, "invalid_request_error"),
        (InvalidRequest, Code.CONTEXT_LENGTH_EXCEEDED, 400, "invalid_request_error"),
        (Unsupported, Code.UNSUPPORTED_FIELD, 400, "invalid_request_error"),
        (Unauthorized, Code.INVALID_API_KEY, 401, "authentication_error"),
        (Forbidden, Code.FORBIDDEN_HOST, 403, "permission_error"),
        (NotFound, Code.MODEL_NOT_FOUND, 404, "not_found_error"),
        (NotFound, Code.ROUTE_NOT_FOUND, 404, "not_found_error"),
        (InvalidRequest, Code.METHOD_NOT_ALLOWED, 405, "invalid_request_error"),
        (TooLarge, Code.BODY_TOO_LARGE, 413, "invalid_request_error"),
        (InvalidRequest, Code.UNSUPPORTED_MEDIA_TYPE, 415, "invalid_request_error"),
        (Overloaded, Code.QUEUE_FULL, 429, "rate_limit_error"),
        (Overloaded, Code.QUEUE_TIMEOUT, 429, "rate_limit_error"),
        (Overloaded, Code.SHUTTING_DOWN, 503, "server_error"),
        (Cancelled, Code.CANCELLED, 499, "invalid_request_error"),
        (EngineFailed, Code.ENGINE_ERROR, 500, "server_error"),
        (EngineFailed, Code.ENGINE_PROTOCOL, 502, "server_error"),
        (EngineFailed, Code.ENGINE_LOADING, 503, "server_error"),
        (EngineFailed, Code.ENGINE_CRASHED, 503, "server_error"),
        (EngineFailed, Code.ENGINE_STOPPED, 503, "server_error"),
        (EngineFailed, Code.ENGINE_TIMEOUT, 503, "server_error"),
        (Internal, Code.INTERNAL, 500, "server_error"),
    ],
)
def test_a_failure_has_its_status_and_its_type(kind, code, status, type_):
    answer = reply(kind("what happened", code=code, param="field"))
    assert answer.status == status
    assert answer.body == {"error": {"message": "what happened", "type": type_, "param": "field", "code": code.value}}
    TypeAdapter(ErrorObject).validate_python(answer.body["error"], strict=True)


def test_every_kind_has_a_status():
    kinds = {value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, ServiceError)}
    assert kinds - {ServiceError, Unsupported} == set(BY_KIND)


@pytest.mark.seeds("S128")
@pytest.mark.parametrize(
    "error, header",
    [
        (Overloaded("full", code=Code.QUEUE_FULL), "1"),
        (Overloaded("full", code=Code.QUEUE_FULL, retry_after=7), "7"),
        (Overloaded("bye", code=Code.SHUTTING_DOWN), "1"),
        (EngineFailed("soon", code=Code.ENGINE_LOADING, retry_after=3), "3"),
        (EngineFailed("no", code=Code.ENGINE_ERROR), None),
        (InvalidRequest("no", code=Code.INVALID_VALUE), None),
    ],
)
def test_what_passes_by_itself_says_when_to_come_back(error, header):
    assert reply(error).headers.get("retry-after") == header


def test_a_missing_key_is_challenged():
    assert reply(Unauthorized("no key", code=Code.INVALID_API_KEY)).headers["www-authenticate"] == "Bearer"


def test_a_feature_without_a_spelling_of_its_own_keeps_its_name():
    error = InvalidRequest("no", code=Code.UNSUPPORTED_FIELD, feature="top_k")
    assert reply(error).body["error"]["param"] == "top_k"


def test_an_error_about_nothing_in_the_body_has_a_null_param():
    assert reply(Internal("oh", code=Code.INTERNAL)).body["error"]["param"] is None


def test_the_exceptions_by_code_are_exceptions():
    assert all(value not in BY_KIND.values() for value in BY_CODE.values())


@pytest.mark.parametrize(
    "error, retried",
    [
        (Conflict("another body", code=Code.IDEMPOTENCY_MISMATCH), False),
        (InvalidRequest("no", code=Code.INVALID_VALUE), False),
        (Overloaded("full", code=Code.QUEUE_FULL), True),
        (EngineFailed("soon", code=Code.ENGINE_LOADING), True),
    ],
)
def test_the_sdk_retries_only_what_may_pass(error, retried):
    """Left alone, it retries every 409."""
    answer = reply(error)
    response = httpx2.Response(answer.status, headers=answer.headers)
    assert OpenAI(api_key="any")._should_retry(response) is retried


def test_an_engine_that_is_not_started_any_more_is_not_worth_a_retry():
    """It died too often: a client that came back would only keep its user waiting for the word."""
    coming_back = reply(EngineFailed("it died", code=Code.ENGINE_CRASHED))
    gone = reply(EngineFailed("it is not running", code=Code.ENGINE_STOPPED))
    assert (coming_back.headers.get("retry-after"), coming_back.headers.get("x-should-retry")) == ("1", None)
    assert (gone.headers.get("retry-after"), gone.headers.get("x-should-retry")) == (None, "false")
