from __future__ import annotations

from typing import get_args

import pytest
from openai.types.responses import Response, ResponseError, ResponseUsage
from pydantic import TypeAdapter

from dragoman.core.errors import Code, EngineFailed, Internal, InvalidRequest, Overloaded, ServiceError, Unsupported
from dragoman.core.events import FinishReason, Usage
from dragoman.surfaces.responses_object import ResponseObject, failed, failure, usage_object
from support.response_answers import ECHO, ENDED, STAMP

# Open Responses 2026-04-24, what its response resource requires; OpenAI's own required fields are among them.
REQUIRED = {
    *("id", "object", "created_at", "completed_at", "status", "incomplete_details", "model", "previous_response_id"),
    *("instructions", "output", "error", "tools", "tool_choice", "truncation", "parallel_tool_calls", "text", "top_p"),
    *("presence_penalty", "frequency_penalty", "top_logprobs", "temperature", "reasoning", "usage"),
    *("max_output_tokens", "max_tool_calls", "store", "background", "service_tier", "metadata", "safety_identifier"),
    *("prompt_cache_key",),
}
USAGE = Usage(prompt_tokens=7, completion_tokens=5, cached_tokens=4, reasoning_tokens=2)
BROKEN = EngineFailed("gone", code=Code.ENGINE_CRASHED)


def response(**options) -> ResponseObject:
    return ResponseObject(STAMP, ECHO, queued=options.get("queued", False))


def ended(reason: FinishReason) -> dict:
    one = response()
    one.stop(reason)
    one.finish(USAGE, ENDED)
    return dict(one.told([]))


def states() -> dict[str, dict]:
    broken, stopped = response(), response(queued=True)
    broken.fail(BROKEN)
    stopped.cancel()
    return {
        "queued": dict(response(queued=True).told([])),
        "in_progress": dict(response().told([])),
        "completed": ended(FinishReason.STOP),
        "incomplete": ended(FinishReason.LENGTH),
        "failed": dict(broken.told([])),
        "cancelled": dict(stopped.told([])),
    }


@pytest.mark.parametrize("state", ["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"])
def test_every_state_has_every_field_that_is_required_and_openais_types(state):
    body = states()[state]
    assert body["status"] == state
    assert set(body) == REQUIRED
    parsed = TypeAdapter(Response).validate_python(body, strict=True)
    # Open Responses has these, OpenAI's type does not.
    assert set(parsed.model_extra) == {"store", "presence_penalty", "frequency_penalty"}


def test_the_time_of_completion_is_known_of_what_is_completed_alone():
    times = {state: body["completed_at"] for state, body in states().items()}
    assert times.pop("completed") == 1_764_489_607
    assert set(times.values()) == {None}


def test_an_answer_that_the_budget_ended_says_so_in_openais_words():
    details = {state: body["incomplete_details"] for state, body in states().items()}
    assert details.pop("incomplete") == {"reason": "max_output_tokens"}
    assert set(details.values()) == {None}


@pytest.mark.parametrize("reason", [FinishReason.STOP, FinishReason.TOOL_CALLS])
def test_calls_complete_an_answer_as_an_end_does(reason):
    assert ended(reason)["status"] == "completed"


def test_usage_counts_in_responses_words():
    usage = usage_object(USAGE)
    assert usage == {
        "input_tokens": 7,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 12,
    }
    TypeAdapter(ResponseUsage).validate_python(usage, strict=True)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BROKEN, "server_error"),
        (Internal("?", code=Code.INTERNAL), "server_error"),
        (Overloaded("full", code=Code.QUEUE_FULL), "rate_limit_exceeded"),
        (InvalidRequest("no", code=Code.INVALID_VALUE), "invalid_prompt"),
        (Unsupported("no", code=Code.UNSUPPORTED_VALUE), "invalid_prompt"),
        (InvalidRequest("no", code=Code.INVALID_IMAGE), "invalid_image"),
        (InvalidRequest("no", code=Code.IMAGE_TOO_LARGE), "image_too_large"),
    ],
)
def test_a_failure_has_a_code_of_openais_list(error: ServiceError, code):
    assert failure(error) == {"code": code, "message": error.message}
    assert code in get_args(ResponseError.model_fields["code"].annotation)


def test_a_full_context_has_the_code_that_clients_know():
    error = InvalidRequest("too long", code=Code.CONTEXT_LENGTH_EXCEEDED)
    assert failure(error) == {"code": "context_length_exceeded", "message": "too long"}


def test_a_response_that_was_left_has_failed_and_nothing_in_it_goes_on():
    whole = {"id": "msg_1", "status": "completed"}
    left = failed(
        {**response().told([whole, {"id": "msg_2", "status": "in_progress"}])},
        "stopped",
    )
    assert left["status"] == "failed"
    assert left["error"] == {"code": "server_error", "message": "stopped"}
    assert left["output"] == [whole, {"id": "msg_2", "status": "incomplete"}]
    assert left["completed_at"] is None
