"""Tells browsers which pages may call (S8): an exact list of origins, or ``*`` on a network that is trusted.

An origin that is not listed gets an answer without permission, which its browser then keeps from the page. No browser does that
for a WebSocket, so there such an origin is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.core.errors import Code, Forbidden
from dragoman.gateway.replies import deny

METHODS = "GET, POST, DELETE, OPTIONS"
EXPOSED = (
    "x-request-id, request-id, x-dragoman-queue-wait-ms, x-dragoman-ignored, x-dragoman-repaired, idempotent-replayed, "
    "retry-after, x-should-retry"
)
MAX_AGE = "600"
"""Seconds for which a browser may remember the answer to a preflight."""


class Cors:
    """Answers preflights itself, with 204, and marks every other reply to a listed origin."""

    def __init__(self, app: ASGIApp, *, origins: Iterable[str]) -> None:
        self._app = app
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = Headers(scope=scope).get("origin") if scope["type"] in ("http", "websocket") else None
        if origin is None:
            await self._app(scope, receive, send)
            return
        granted = self._grant(origin)
        if scope["type"] == "websocket":
            await self._connect(granted, scope, receive, send)
            return
        headers = Headers(scope=scope)
        if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            if granted:
                granted |= {
                    "access-control-allow-methods": METHODS,
                    "access-control-allow-headers": headers.get("access-control-request-headers", "*"),
                    "access-control-max-age": MAX_AGE,
                }
            await Response(status_code=204, headers={"vary": "Origin", **granted})(scope, receive, send)
            return
        marks = [(name.encode(), value.encode("latin-1")) for name, value in {"vary": "Origin", **granted}.items()]

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *marks]
            await send(message)

        await self._app(scope, receive, marked)

    async def _connect(self, granted: dict[str, str], scope: Scope, receive: Receive, send: Send) -> None:
        if granted:
            await self._app(scope, receive, send)
            return
        error = Forbidden("pages of this origin may not open a WebSocket here", code=Code.FORBIDDEN_HOST)
        await deny(error, scope, receive, send)

    def _grant(self, origin: str) -> dict[str, str]:
        if "*" in self._origins:
            return {"access-control-allow-origin": "*", "access-control-expose-headers": EXPOSED}
        if origin in self._origins:
            return {"access-control-allow-origin": origin, "access-control-expose-headers": EXPOSED}
        return {}
