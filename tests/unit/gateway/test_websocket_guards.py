"""What a WebSocket has to pass before an endpoint accepts it (peers' bug list, 123 and 124)."""

from __future__ import annotations

import json

import pytest
from starlette.types import ASGIApp

from dragoman.gateway.caller import caller_of
from dragoman.gateway.middleware.api_key import ApiKey
from dragoman.gateway.middleware.body_limit import BodyLimit
from dragoman.gateway.middleware.cors import Cors
from dragoman.gateway.middleware.host_guard import HostGuard
from dragoman.gateway.middleware.request_id import RequestId

ORIGIN = "http://localhost:5173"


class Socket:
    """An endpoint that accepts every WebSocket, and one client that asks for it."""

    def __init__(self, *, denial: bool = True, **headers: str) -> None:
        self.scope = {
            "type": "websocket",
            "path": "/v1/responses",
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
            "extensions": {"websocket.http.response": {}} if denial else {},
        }
        self.sent: list[dict[str, object]] = []
        self.caller = None

    async def endpoint(self, scope, receive, send) -> None:
        self.caller = caller_of(scope)
        await send({"type": "websocket.accept"})

    async def _receive(self) -> dict[str, object]:
        return {"type": "websocket.connect"}

    async def _send(self, message) -> None:
        self.sent.append(message)

    async def knock(self, app: ASGIApp) -> Socket:
        await app(self.scope, self._receive, self._send)
        return self

    @property
    def accepted(self) -> bool:
        return [message["type"] for message in self.sent] == ["websocket.accept"]

    @property
    def denied(self) -> tuple[int, str]:
        """Status and code of a denial over HTTP."""
        start, body = self.sent
        assert start["type"] == "websocket.http.response.start"
        assert body["type"] == "websocket.http.response.body"
        return start["status"], json.loads(body["body"])["error"]["code"]


@pytest.mark.seeds("S7")
async def test_a_foreign_host_is_denied() -> None:
    knocks = {host: Socket(host=host) for host in ("localhost:8000", "evil.example")}
    for socket in knocks.values():
        await socket.knock(HostGuard(socket.endpoint, allowed=()))
    assert knocks["localhost:8000"].accepted
    assert knocks["evil.example"].denied == (403, "forbidden")


@pytest.mark.seeds("S6")
@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}, {"x_api_key": "wrong"}], ids=str)
async def test_without_a_right_key_it_is_denied(headers) -> None:
    socket = Socket(**headers)
    await socket.knock(ApiKey(socket.endpoint, keys=("right",)))
    assert socket.denied == (401, "invalid_api_key")


@pytest.mark.seeds("S6", "S17")
async def test_with_a_right_key_it_passes_and_is_known() -> None:
    socket = Socket(authorization="Bearer right")
    await socket.knock(ApiKey(socket.endpoint, keys=("right", "other")))
    assert socket.accepted
    assert socket.caller.authorised
    assert socket.caller.isolation
    everybody = Socket()
    await everybody.knock(ApiKey(everybody.endpoint, keys=()))
    assert everybody.accepted


@pytest.mark.seeds("S8")
@pytest.mark.parametrize(
    ("origins", "origin", "passes"),
    [
        ((ORIGIN,), ORIGIN, True),
        ((ORIGIN,), "https://evil.example", False),
        ((ORIGIN,), "null", False),
        ((), "http://localhost:8000", False),
        (("*",), "https://evil.example", True),
    ],
)
async def test_a_page_may_open_one_only_from_a_listed_origin(origins, origin, passes) -> None:
    """A browser asks nobody for permission before it opens a WebSocket to another site (RFC 6455, 10.2)."""
    socket = Socket(origin=origin)
    await socket.knock(Cors(socket.endpoint, origins=origins))
    assert socket.accepted is passes
    if not passes:
        assert socket.denied == (403, "forbidden")


@pytest.mark.seeds("S8")
async def test_what_is_no_page_has_no_origin_and_passes() -> None:
    socket = Socket()
    await socket.knock(Cors(socket.endpoint, origins=()))
    assert socket.accepted


async def test_a_server_that_cannot_deny_over_http_closes_for_a_violated_policy() -> None:
    """1008 (RFC 6455, 7.4.1)."""
    for guard in (
        lambda app: HostGuard(app, allowed=()),
        lambda app: Cors(app, origins=()),
        lambda app: ApiKey(app, keys=("k",)),
    ):
        socket = Socket(denial=False, host="evil.example", origin="https://evil.example")
        await socket.knock(guard(socket.endpoint))
        [close] = socket.sent
        assert (close["type"], close["code"]) == ("websocket.close", 1008)
        assert len(close["reason"].encode()) <= 123


@pytest.mark.seeds("S12")
@pytest.mark.parametrize("given", [None, "my-id"])
async def test_its_handshake_carries_the_request_id(given) -> None:
    socket = Socket(**({"x_request_id": given} if given else {}))
    await socket.knock(RequestId(socket.endpoint, mint=lambda: "req_1"))
    name = (given or "req_1").encode()
    assert socket.accepted
    assert socket.sent[0]["headers"] == [(b"x-request-id", name), (b"request-id", name)]


@pytest.mark.seeds("S12")
async def test_its_denial_carries_the_request_id() -> None:
    socket = Socket()
    await socket.knock(RequestId(ApiKey(socket.endpoint, keys=("k",)), mint=lambda: "req_1"))
    assert (b"x-request-id", b"req_1") in socket.sent[0]["headers"]
    assert socket.denied == (401, "invalid_api_key")


async def test_the_limit_of_a_body_is_none_of_its_business() -> None:
    socket = Socket(content_length="1000000")
    await socket.knock(BodyLimit(socket.endpoint, limit=1))
    assert socket.accepted
