"""Which envelope a request's errors have, and which path a doubled base meant."""

from __future__ import annotations

import pytest

from dragoman.core.errors import Code, Conflict, InvalidRequest, Unauthorized
from dragoman.gateway.envelopes import is_anthropic, shaped, without_doubled_base


def scope(path: str, *headers: tuple[bytes, bytes]) -> dict[str, object]:
    return {"type": "http", "path": path, "headers": list(headers)}


@pytest.mark.parametrize(
    ("path", "anthropic"),
    [
        ("/v1/messages", True),
        ("/v1/messages/count_tokens", True),
        ("/v1/v1/messages", True),
        ("/v1/messagesx", False),
        ("/v1/models", False),
        ("/v1/v1/models", False),
    ],
)
def test_the_path_tells_whose_client_it_is(path, anthropic) -> None:
    assert is_anthropic(scope(path)) is anthropic


def test_a_version_of_anthropics_api_tells_it_on_any_path() -> None:
    assert is_anthropic(scope("/v1/models", (b"host", b"x"), (b"anthropic-version", b"2026-10-21")))
    assert not is_anthropic(scope("/v1/models", (b"openai-version", b"2020-10-01")))


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses"])
def test_a_conflict_is_not_to_be_retried_on_any_surface(path) -> None:
    reply = shaped(Conflict("no", code=Code.IDEMPOTENCY_MISMATCH), scope(path))
    assert (reply.status, reply.headers["x-should-retry"]) == (409, "false")
    assert "x-should-retry" not in shaped(InvalidRequest("no", code=Code.INVALID_VALUE), scope(path)).headers


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses"])
def test_a_wrong_key_is_not_to_be_retried_for_it_stays_wrong(path) -> None:
    """Claude Code repeats such a request for minutes, unless this header says that it is of no use."""
    reply = shaped(Unauthorized("no", code=Code.INVALID_API_KEY), scope(path))
    assert (reply.status, reply.headers["x-should-retry"]) == (401, "false")


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/v1/v1/messages", "/v1/messages"),
        ("/v1/v1/v1/x", "/v1/x"),
        ("/v1/v1", "/v1/v1"),
        ("/v1/messages/v1/v1/x", "/v1/messages/v1/v1/x"),
    ],
)
def test_a_base_that_is_said_twice_is_meant_once(path, meant) -> None:
    assert without_doubled_base(path) == meant
