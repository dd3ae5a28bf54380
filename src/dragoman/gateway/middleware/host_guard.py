"""Refuses requests for a name that is not ours, so that a web page cannot reach this server by rebinding DNS (S7)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from dragoman.core.errors import Code, Forbidden
from dragoman.gateway.replies import deny

LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")

_HOST: Final = re.compile(rb"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]{1,5})?")


class HostGuard:
    """Lets loopback names and ``allowed`` pass, exactly and with any port. There is no wildcard."""

    def __init__(self, app: ASGIApp, *, allowed: Iterable[str]) -> None:
        self._app = app
        self._allowed = frozenset(name.strip("[]").lower() for name in (*LOOPBACK, *allowed))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and host_name(scope) not in self._allowed:
            error = Forbidden("the Host of this request is not served here", code=Code.FORBIDDEN_HOST)
            await deny(error, scope, receive, send)
            return
        await self._app(scope, receive, send)


def host_name(scope: Scope) -> str | None:
    """The name in the one Host header, without its port; None when there is no such thing."""
    values = [value for name, value in scope["headers"] if name == b"host"]
    match = _HOST.fullmatch(values[0]) if len(values) == 1 else None
    if match is None:
        return None
    name: bytes = match[1] or match[2]
    return name.decode("ascii").lower()
