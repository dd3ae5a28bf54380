"""Stops reading a body that is too large. It answers nothing itself: whoever reads gets the error, and shapes it."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.core.errors import Code, TooLarge


class BodyLimit:
    """``receive`` raises ``TooLarge`` at once for an announced length above ``limit`` bytes, else when it is passed."""

    def __init__(self, app: ASGIApp, *, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await self._app(scope, _Metered(receive, limit=self._limit, announced=announced_length(scope)), send)


class _Metered:
    """A ``receive`` that counts."""

    def __init__(self, receive: Receive, *, limit: int, announced: int) -> None:
        self._receive = receive
        self._limit = limit
        self._announced = announced
        self._received = 0

    async def __call__(self) -> Message:
        self._check(self._announced)
        message = await self._receive()
        if message["type"] == "http.request":
            self._received += len(message.get("body", b""))
            self._check(self._received)
        return message

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise TooLarge(f"the body has more than {self._limit} bytes", code=Code.BODY_TOO_LARGE)


def announced_length(scope: Scope) -> int:
    """The Content-Length; 0 where there is none."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0
