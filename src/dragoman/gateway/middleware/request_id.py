"""Every reply carries ``x-request-id`` and ``request-id``: the client's own if it is sane, else one of ours (S12)."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_KEY: Final = "dragoman.request_id"
_SANE: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")

BEGINNINGS: Final = frozenset({"http.response.start", "websocket.accept", "websocket.http.response.start"})
"""Messages of an application that carry the headers of its reply."""


def request_id_of(scope: Scope) -> str:
    """What this request is called; empty where nobody has named it."""
    name = scope.get(_KEY, "")
    return name if isinstance(name, str) else ""


def mint_request_id() -> str:
    """``req_`` and 24 hex digits."""
    return f"req_{secrets.token_hex(12)}"


class RequestId:
    """``mint`` makes an id where the client sent none that may go into a header and a log."""

    def __init__(self, app: ASGIApp, *, mint: Callable[[], str] = mint_request_id) -> None:
        self._app = app
        self._mint = mint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        scope[_KEY] = name = given if _SANE.fullmatch(given) else self._mint()
        # OpenAI's and our name for it, and Anthropic's.
        headers = [(b"x-request-id", name.encode()), (b"request-id", name.encode())]

        async def tagged(message: Message) -> None:
            if message["type"] in BEGINNINGS:
                message["headers"] = [*message.get("headers", ()), *headers]
            await send(message)

        await self._app(scope, receive, tagged)
