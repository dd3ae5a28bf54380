"""Every route that is no generation, and everything that is no route."""

from __future__ import annotations

import asyncio

import pytest

from dragoman import __version__
from dragoman.core.limits import MAX_BODY_BYTES
from dragoman.gateway.options import GatewayOptions
from support.house import CHAT, House


@pytest.mark.seeds("S1", "S156")
@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("POST", "/chat/completions", 404, "not_found"),
        ("POST", "/v1/v1/chat/completions", 404, "not_found"),
        ("POST", "/v1/chat/completions/", 404, "not_found"),
        ("POST", "/v1/batch", 404, "not_found"),
        ("GET", "/v1/chat/completions", 405, "method_not_allowed"),
        ("DELETE", "/v1/models", 405, "method_not_allowed"),
        ("GET", "/v1/models/large", 404, "model_not_found"),
        ("GET", "/v1/models/org/large", 404, "model_not_found"),
    ],
)
async def test_what_is_not_there_says_so_in_the_envelope(method, path, status, code) -> None:
    reply = await House().client.open(method, path).end()
    assert reply.status == status
    error = reply.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == code
    assert error["param"] == ("model" if code == "model_not_found" else None)
    if status == 405:
        assert reply.headers["allow"]


@pytest.mark.seeds("S9", "S10")
async def test_models_are_listed_and_looked_up() -> None:
    house = House()
    listed = (await house.client.get("/v1/models")).json()
    assert [model["id"] for model in listed["data"]] == ["small"]
    one = (await house.client.get("/v1/models/small")).json()
    assert one == listed["data"][0]
    assert one["max_model_len"] == 512
    assert one["created"] == 1_700_000_000


@pytest.mark.seeds("S9")
async def test_generating_with_a_model_that_is_not_served_is_a_404() -> None:
    reply = await House().client.post("/v1/chat/completions", {**CHAT, "model": "large"})
    assert reply.status == 404
    assert (reply.json()["error"]["code"], reply.json()["error"]["param"]) == ("model_not_found", "model")


@pytest.mark.seeds("S3", "S54", "S55")
@pytest.mark.parametrize("prefix", ["", "/v1"])
async def test_text_becomes_tokens_and_tokens_text(prefix) -> None:
    house = House()
    reply = await house.client.post(f"{prefix}/tokenize", {"prompt": "abc", "return_token_strs": True})
    assert reply.json() == {"count": 3, "max_model_len": 512, "tokens": [97, 98, 99], "token_strs": ["a", "b", "c"]}
    reply = await house.client.post(f"{prefix}/detokenize", {"tokens": [97, 98, 99]})
    assert reply.json() == {"prompt": "abc"}


async def test_the_count_of_a_conversation_is_what_generating_reports() -> None:
    house = House()
    counted = (await house.client.post("/tokenize", {"messages": CHAT["messages"]})).json()
    assert counted["tokens"] == list(map(ord, "[user]hi"))


async def test_wrong_token_ids_are_refused_by_name() -> None:
    reply = await House().client.post("/detokenize", {"tokens": ["x"]})
    assert reply.status == 400
    assert reply.json()["error"]["param"].startswith("tokens")


async def test_health_is_told_to_everybody_when_there_are_no_keys() -> None:
    house = House()
    reply = await house.client.get("/health")
    assert reply.status == 200
    assert reply.json() == {
        "status": "ok",
        "cause": None,
        "version": __version__,
        "model": "small",
        "active": 0,
        "queued": 0,
        "completed": 0,
        "rejected": 0,
        "failed": 0,
    }


@pytest.mark.parametrize(("status", "said"), [("loading", "loading"), ("failed", "error")])
async def test_health_tells_the_truth_of_an_engine_that_is_not_there(status, said) -> None:
    house = House()
    house.engine.status, house.engine.failure = status, "no memory"
    reply = await house.client.get("/health")
    assert (reply.status, reply.json()["status"], reply.json()["cause"]) == (503, said, "no memory")


@pytest.mark.seeds("S11", "S145")
async def test_reading_health_and_metrics_changes_nothing() -> None:
    """Peers' bug list, 129."""
    house = House()
    before = (await house.client.get("/metrics")).body
    for _ in range(1000):
        await house.client.get("/health")
        await house.client.get("/metrics")
    assert (await house.client.get("/metrics")).body == before
    assert not house.engine.submitted


@pytest.mark.seeds("S145")
async def test_metrics_are_prometheus_text() -> None:
    reply = await House().client.get("/metrics")
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert b"dragoman_scheduler_max_queue 8.0\n" in reply.body


@pytest.mark.seeds("S56")
async def test_the_root_and_the_version_answer() -> None:
    house = House()
    assert (await house.client.get("/version")).json() == {"version": __version__}
    assert (await house.client.get("/")).json()["name"] == "dragoman"
    head = await house.client.open("HEAD", "/").end()
    assert head.status == 200


async def test_a_query_string_changes_no_route() -> None:
    assert (await House().client.get("/health?beta=true")).status == 200


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "invalid_json"),
        (b"[" * 100_000 + b"]" * 100_000, 400, "invalid_json"),
        (b'{"model": "small", "messages": []}', 400, None),
        (b"x" * (MAX_BODY_BYTES + 1), 413, "request_too_large"),
    ],
    ids=["broken", "deep", "no messages", "too large"],
)
async def test_bad_bodies_never_reach_the_engine(body, status, code) -> None:
    house = House()
    reply = await house.client.post("/v1/chat/completions", body)
    assert reply.status == status
    if code:
        assert reply.json()["error"]["code"] == code
    assert not house.engine.submitted


@pytest.mark.parametrize("announced", [True, False])
async def test_a_body_above_the_limit_closes_the_connection(announced) -> None:
    house = House(options=GatewayOptions(max_body=1000))
    headers = {} if announced else {"transfer-encoding": "chunked"}
    for path in ("/v1/chat/completions", "/tokenize"):
        reply = await house.client.post(path, {"prompt": "x" * 1000}, headers=headers, chunks=4)
        assert reply.status == 413
        assert reply.headers["connection"] == "close"
        assert reply.json()["error"]["code"] == "request_too_large"


async def test_a_body_may_come_in_many_pieces() -> None:
    reply = await House().client.post("/tokenize", {"prompt": "ab"}, chunks=17)
    assert reply.json()["tokens"] == [97, 98]


async def test_a_body_that_never_ends_is_given_up() -> None:
    house = House()
    reply = await house.client.post("/v1/chat/completions", b"{", cut=True)
    assert reply.status == 400
    assert asyncio.get_running_loop().time() == pytest.approx(30)


async def test_a_body_of_another_type_is_refused() -> None:
    reply = await House().client.post("/tokenize", b'{"prompt": "x"}', headers={"content-type": "text/plain"})
    assert (reply.status, reply.json()["error"]["code"]) == (415, "unsupported_media_type")
