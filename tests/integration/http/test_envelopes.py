"""Errors that belong to no surface, in the envelope of the client that gets them (peers' bug list, 102 and 124)."""

from __future__ import annotations

import pytest
from anthropic.types.shared import ErrorResponse
from openai.types.shared import ErrorObject

from dragoman.gateway.options import GatewayOptions
from support.house import House

VERSION = {"anthropic-version": "2023-06-01"}


def assert_anthropic(reply, type_: str) -> None:
    """``{"type": "error", "error": {"type", "message"}, "request_id"}``, as the SDK types it."""
    body = reply.json()
    ErrorResponse.model_validate(body, strict=True)
    assert set(body) == {"type", "error", "request_id"}
    assert set(body["error"]) == {"type", "message"}
    assert body["error"]["type"] == type_
    assert body["request_id"] == reply.headers["request-id"] == "req_4567"


def assert_openai(reply, code: str) -> None:
    body = reply.json()
    assert set(body) == {"error"}
    ErrorObject.model_validate(body["error"], strict=True)
    assert body["error"]["code"] == code


@pytest.mark.seeds("S117")
@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "type_"),
    [
        ("DELETE", "/v1/models", VERSION, 405, "invalid_request_error"),
        ("POST", "/v1/messages/", {}, 404, "not_found_error"),
        ("POST", "/v1/messages/batches", {}, 404, "not_found_error"),
        ("GET", "/v1/messages/batches/msgbatch_1/results", {}, 404, "not_found_error"),
        ("GET", "/v1/models/large", VERSION, 404, "not_found_error"),
        ("GET", "/nowhere", VERSION, 404, "not_found_error"),
        ("POST", "/v1/v1/messages", {}, 404, "not_found_error"),
    ],
)
async def test_a_client_of_messages_reads_anthropics_envelope(method, path, headers, status, type_) -> None:
    reply = await House().client.open(method, path, headers=headers).end()
    assert reply.status == status
    assert_anthropic(reply, type_)
    assert ("allow" in reply.headers) == (status == 405)


@pytest.mark.seeds("S6", "S117")
@pytest.mark.parametrize(("path", "headers"), [("/v1/messages", {}), ("/v1/models", VERSION)])
async def test_a_missing_key_is_told_in_the_clients_envelope(path, headers) -> None:
    house = House(options=GatewayOptions(keys=("k",)))
    reply = await house.client.open("POST", path, headers=headers).end()
    assert reply.status == 401
    assert_anthropic(reply, "authentication_error")
    assert_openai(await house.client.get("/v1/models"), "invalid_api_key")


@pytest.mark.seeds("S7", "S117")
async def test_a_foreign_host_is_told_in_the_clients_envelope() -> None:
    house = House()
    reply = await house.client.post("/v1/messages", headers={"host": "evil.example"})
    assert reply.status == 403
    assert_anthropic(reply, "permission_error")


@pytest.mark.parametrize("path", ["/v1/messagesx", "/v1/message", "/messages", "/v1/chat/messages"])
async def test_a_path_that_only_looks_like_messages_is_not(path) -> None:
    assert_openai(await House().client.post(path), "not_found")


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/v1/v1/messages", "/v1/messages"),
        ("/v1/v1/chat/completions", "/v1/chat/completions"),
        ("/v1/v1/v1/models", "/v1/models"),
    ],
)
async def test_a_doubled_base_is_told_by_what_was_meant(path, meant) -> None:
    """Peers' bug list, 102."""
    reply = await House().client.post(path)
    assert reply.status == 404
    message = reply.json()["error"]["message"]
    assert f"there is no {path} here" in message
    assert f"perhaps {meant}:" in message
    assert "base URL" in message


async def test_any_other_wrong_path_is_just_not_there() -> None:
    for path in ("/nowhere", "/v1/v1", "/v1/v12/models"):
        assert (await House().client.get(path)).json()["error"]["message"] == f"there is no {path} here"


@pytest.mark.seeds("S16")
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/v1/batch", "/v1/batches", "/v1/batches/batch_1", "/v1/messages/batches"])
async def test_there_are_no_batches(method, path) -> None:
    reply = await House().client.open(method, path, {} if method == "POST" else None).end()
    assert reply.status == 404
    assert reply.headers["content-type"] == "application/json"
    assert reply.json()["error"]["type"] == "not_found_error"


@pytest.mark.parametrize("path", ["/", "/health"])
async def test_who_asks_for_the_head_alone_gets_it(path) -> None:
    house = House()
    head, whole = await house.client.open("HEAD", path).end(), await house.client.get(path)
    assert head.status == whole.status == 200
    assert head.headers["content-length"] == str(len(whole.body))
