"""Keys, hosts and origins, through the whole list of middleware (peers' bug list, 123 and 124)."""

from __future__ import annotations

import pytest

from dragoman.gateway.options import GatewayOptions
from support.house import CHAT, ORIGIN, House

KEYED = GatewayOptions(keys=("first key", "second"), origins=(ORIGIN,))
ROUTES = [
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/completions"),
    ("GET", "/v1/models"),
    ("GET", "/v1/models/small"),
    ("POST", "/tokenize"),
    ("POST", "/v1/tokenize"),
    ("POST", "/detokenize"),
    ("POST", "/v1/detokenize"),
    ("GET", "/metrics"),
    ("GET", "/version"),
    ("GET", "/"),
    ("GET", "/nowhere"),
    ("GET", "/health/"),
]


@pytest.mark.seeds("S6")
@pytest.mark.parametrize(("method", "path"), ROUTES)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": "Basic first key"},
        {"authorization": "first key"},
        {"x-api-key": ""},
        {"x-api-key": "first"},
    ],
    ids=str,
)
async def test_every_route_but_health_wants_a_key(method, path, headers) -> None:
    house = House(options=KEYED)
    reply = await house.client.open(method, path, headers=headers).end()
    assert reply.status == 401
    assert reply.headers["www-authenticate"] == "Bearer"
    assert reply.headers["x-request-id"] == "req_4567"
    error = reply.json()["error"]
    assert (error["code"], error["type"]) == ("invalid_api_key", "authentication_error")


@pytest.mark.seeds("S6")
@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer first key"},
        {"authorization": "bearer  first key"},
        {"x-api-key": "second"},
        {"x-api-key": "second", "authorization": "Bearer some other service's"},
    ],
    ids=str,
)
async def test_either_header_may_hold_any_of_the_keys(headers) -> None:
    assert (await House(options=KEYED).client.get("/v1/models", headers=headers)).status == 200


@pytest.mark.seeds("S6")
async def test_without_keys_any_key_is_accepted() -> None:
    assert (await House().client.get("/v1/models", headers={"authorization": "Bearer any"})).status == 200


@pytest.mark.seeds("S11")
async def test_health_tells_strangers_the_status_alone() -> None:
    house = House(options=KEYED)
    reply = await house.client.get("/health")
    assert (reply.status, reply.json()) == (200, {"status": "ok"})
    known = await house.client.get("/health", headers={"x-api-key": "second"})
    assert known.json()["failed"] == 0


async def test_callers_with_different_keys_are_kept_apart_in_the_cache() -> None:
    house = House(options=KEYED)
    seen = []
    for key in ("first key", "second", "first key"):
        exchange = house.client.open("POST", "/v1/chat/completions", CHAT, headers={"x-api-key": key})
        stream = await house.engine.next_stream()
        seen.append(stream.request.isolation)
        stream.accept()
        stream.done(emitted=0)
        await exchange.end()
    assert seen[0] == seen[2] != seen[1]
    assert "first" not in seen[0]
    open_house = House()
    exchange = open_house.client.open("POST", "/v1/chat/completions", CHAT, headers={"x-api-key": "any"})
    stream = await open_house.engine.next_stream()
    assert stream.request.isolation == ""
    exchange.hang_up()
    await exchange.end()


@pytest.mark.seeds("S7")
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost:4000/#@x",
        "localhost.evil.example",
        "localhost@evil.example",
        "",
        "127.0.0.1:port",
        "*",
        "ll.local:8000:8000",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
async def test_a_forged_host_is_refused_before_everything_else(host, method) -> None:
    house = House(options=GatewayOptions(allowed_hosts=("ll.local",), origins=(ORIGIN,)))
    headers = {"host": host, "origin": ORIGIN, "access-control-request-method": "POST"}
    reply = await house.client.open(method, "/health", headers=headers).end()
    assert (reply.status, reply.json()["error"]["code"]) == (403, "forbidden")
    assert "access-control-allow-origin" not in reply.headers


@pytest.mark.seeds("S7")
@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.1:8000", "[::1]:8000", "ll.local", "LL.local:443", "10.0.0.5:1"]
)
async def test_loopback_the_address_and_listed_names_are_served(host) -> None:
    options = GatewayOptions(host="10.0.0.5", keys=("k",), allowed_hosts=("LL.local",))
    assert (await House(options=options).client.get("/health", headers={"host": host})).status == 200


@pytest.mark.seeds("S7")
async def test_two_hosts_are_none() -> None:
    headers = [("host", "localhost"), ("host", "localhost")]
    assert (await House().client.get("/health", headers=headers)).status == 403


@pytest.mark.seeds("S8")
async def test_a_preflight_from_a_listed_origin_is_granted() -> None:
    house = House(options=KEYED)
    headers = {
        "origin": ORIGIN,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, x-stainless-os",
    }
    reply = await house.client.open("OPTIONS", "/v1/chat/completions", headers=headers).end()
    assert reply.status == 204
    assert reply.headers["access-control-allow-origin"] == ORIGIN
    assert reply.headers["access-control-allow-headers"] == "authorization, x-stainless-os"
    assert "POST" in reply.headers["access-control-allow-methods"]
    assert reply.headers["vary"] == "Origin"
    assert "access-control-allow-credentials" not in reply.headers


@pytest.mark.seeds("S8")
async def test_an_unlisted_origin_gets_no_permission() -> None:
    house = House()
    for method, extra in (("OPTIONS", {"access-control-request-method": "POST"}), ("GET", {})):
        headers = {"origin": "https://evil.example", **extra}
        reply = await house.client.open(method, "/v1/models", headers=headers).end()
        assert not [name for name in reply.headers if name.startswith("access-control")]
    assert reply.headers["vary"] == "Origin"


@pytest.mark.seeds("S8")
async def test_replies_and_errors_are_marked_for_a_listed_origin() -> None:
    house = House(options=KEYED)
    for path, status in (("/health", 200), ("/v1/models", 401)):
        reply = await house.client.get(path, headers={"origin": ORIGIN})
        assert reply.status == status
        assert reply.headers["access-control-allow-origin"] == ORIGIN
        assert "x-request-id" in reply.headers["access-control-expose-headers"]


@pytest.mark.seeds("S8")
async def test_a_star_opens_the_door() -> None:
    house = House(options=GatewayOptions(origins=("*",)))
    reply = await house.client.get("/health", headers={"origin": "https://anyone.example"})
    assert reply.headers["access-control-allow-origin"] == "*"


async def test_a_request_without_an_origin_gets_no_cors_headers() -> None:
    reply = await House().client.get("/health")
    assert not [name for name in reply.headers if name.startswith("access-control") or name == "vary"]


@pytest.mark.seeds("S12")
@pytest.mark.parametrize(
    ("given", "returned"),
    [("abc-1.2:3_X", "abc-1.2:3_X"), ("a b", "req_4567"), ("x" * 129, "req_4567"), ("", "req_4567"), ("é", "req_4567")],
)
async def test_a_sane_request_id_comes_back(given, returned) -> None:
    reply = await House().client.get("/health", headers={"x-request-id": given})
    assert reply.headers["x-request-id"] == returned
