"""Every reply carries ``x-request-id``: the client's own if it is sane, else one of ours (S12)."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SANE: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")


def mint_request_id() -> str:
    """``req_`` and 24 hex digits."""
    return f"req_{secrets.token_hex(12)}"


class RequestId:
    """``mint`` makes an id where the client sent none that may go into a header and a log."""

    def __init__(self, app: ASGIApp, *, mint: Callable[[], str] = mint_request_id) -> None:
        self._app = app
        self._mint = mint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        request_id = (given if _SANE.fullmatch(given) else self._mint()).encode()

        async def tagged(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id)]
            await send(message)

        await self._app(scope, receive, tagged)
