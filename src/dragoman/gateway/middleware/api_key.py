"""Asks for an API key on every route but /health (S6), and says who calls."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from dragoman.core.errors import Code, Unauthorized
from dragoman.gateway.caller import Caller, set_caller
from dragoman.gateway.replies import deny

OPEN: Final = frozenset({"/health"})
"""Paths that answer strangers, too."""

_BEARER: Final = b"bearer "


class ApiKey:
    """Accepts any of ``keys``, as ``Authorization: Bearer`` or ``x-api-key``; everybody when there are none.

    A client may send both headers; one right key is enough. Keys are compared as digests, all of them and in constant
    time, so that the time of an answer tells nothing about them.
    """

    def __init__(self, app: ASGIApp, *, keys: Iterable[str]) -> None:
        self._app = app
        self._digests = tuple(_digest(key.encode()) for key in keys)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            caller = self._identify(scope)
            set_caller(scope, caller)
            if not caller.authorised and scope["path"] not in OPEN:
                error = Unauthorized(
                    "send a valid API key, as `Authorization: Bearer <key>` or `x-api-key: <key>`",
                    code=Code.INVALID_API_KEY,
                )
                await deny(error, scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _identify(self, scope: Scope) -> Caller:
        if not self._digests:
            return Caller(authorised=True)
        caller = Caller(authorised=False)
        for presented in map(_digest, presented_keys(scope)):
            for known in self._digests:
                if hmac.compare_digest(presented, known):
                    caller = Caller(authorised=True, isolation=presented.hex()[:32])
        return caller


def presented_keys(scope: Scope) -> list[bytes]:
    """The keys in a request's headers."""
    keys: list[bytes] = []
    for name, value in scope["headers"]:
        if name == b"x-api-key":
            keys.append(value.strip())
        elif name == b"authorization" and value[: len(_BEARER)].lower() == _BEARER:
            keys.append(value[len(_BEARER) :].strip())
    return keys


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
