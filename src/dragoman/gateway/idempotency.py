"""A request that is sent again under its ``Idempotency-Key`` gets the answer of the first: while it still runs, and afterwards.

The key names an answer, not a request: another body under it is a conflict. Only answers that ended well are kept, so a retry of
one that failed is a new attempt. A key belongs to the API key that it came with (S17).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final, assert_never
from weakref import WeakValueDictionary

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.core.errors import Code, Conflict, InvalidRequest
from dragoman.core.limits import MAX_IDEMPOTENCY_KEY_CHARS, MAX_KEPT_REPLY_BYTES
from dragoman.gateway.body import read_body
from dragoman.gateway.caller import caller_of
from dragoman.gateway.hangup import ClientGone
from dragoman.gateway.shared_run import SharedRun
from dragoman.store.base import KeptReply, Store

logger = logging.getLogger(__name__)

GRACE_SECONDS: Final = 60.0
"""For which a run goes on without a listener; the official SDKs wait at most 8 s between two attempts, unless told otherwise."""

CLOSING_SECONDS: Final = 10.0
"""For what was hung up on, and what is just being kept, to end."""

HEADER: Final = "Idempotency-Key"

REPLAYED: Final = (b"idempotent-replayed", b"true")
"""Marks a reply that an earlier request began."""

Answer = Callable[[Receive, Send], Awaitable[None]]
"""Tells it to one client; raises what the application raised, and ``ClientGone`` when the client left."""

_PER_REPLY: Final = frozenset({"connection", "date", "request-id", "x-request-id"})
"""Headers that are about one reply on one connection."""

_KEY: Final = re.compile(rb"[ -~]{1,%d}" % MAX_IDEMPOTENCY_KEY_CHARS)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    digest: str
    run: SharedRun


class Retries:
    """What runs under keys, and what was kept; one for all routes, since a key may not mean one thing here and another there.

    ``grace``: seconds for which a run goes on after its last client left. ``limit``: bytes of an answer; a longer one is not kept,
    and cannot be joined any more.
    """

    def __init__(self, *, store: Store, grace: float = GRACE_SECONDS, limit: int = MAX_KEPT_REPLY_BYTES) -> None:
        self._store = store
        self._grace = grace
        self._limit = limit
        self._running: dict[tuple[str, str], _Running] = {}
        self._tasks: dict[asyncio.Task[None], SharedRun] = {}
        self._looking: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def answer(self, app: ASGIApp, key: str, body: bytes, scope: Scope) -> Answer:
        """What this key stands for; a run of ``app`` that begins now, if nothing yet. Raises ``Conflict`` when it is something else."""
        name = (caller_of(scope).isolation, key)
        digest = digest_of(scope["method"], scope["path"], body)
        # One at a time for each key: two that both find nothing would both begin.
        async with self._looking.setdefault(name, asyncio.Lock()):
            known = self._joinable(name) or await self._store.kept_reply(*name)
            if known is None:
                run = SharedRun(app, scope, body, limit=self._limit, grace=self._grace)
                self._begin(name, _Running(digest=digest, run=run))
                return run.follow
        if known.digest != digest:
            raise _mismatch()
        match known:
            case _Running(run=earlier):
                return _again(earlier.follow)
            case KeptReply():
                return _again(_replay(known))
            case _:
                assert_never(known)

    async def aclose(self) -> None:
        """Hang up on what still runs, and wait for its end. A store that hangs is not waited for long."""
        for run in self._tasks.values():
            run.abandon()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSING_SECONDS)

    def _joinable(self, name: tuple[str, str]) -> _Running | None:
        running = self._running.get(name)
        return running if running is not None and running.run.joinable else None

    def _begin(self, name: tuple[str, str], running: _Running) -> None:
        self._running[name] = running
        task = asyncio.create_task(self._conduct(name, running))
        self._tasks[task] = running.run
        task.add_done_callback(self._tasks.pop)

    async def _conduct(self, name: tuple[str, str], running: _Running) -> None:
        try:
            await running.run.serve()
            reply = _reply(running)
            if reply is not None:
                await self._store.keep_reply(*name, reply)
        except Exception:
            logger.exception("an answer was sent but could not be kept for a retry")
        finally:
            if self._running.get(name) is running:
                del self._running[name]


class Idempotent:
    """An application whose requests may carry a key; those without one are none of our business.

    ``timeout`` bounds the wait for the whole body, in seconds. Raises ``InvalidRequest`` and ``Conflict`` for the handlers around it,
    since what envelope an error has is the route's affair.
    """

    def __init__(self, app: ASGIApp, *, retries: Retries, timeout: float) -> None:
        self._app = app
        self._retries = retries
        self._timeout = timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = idempotency_key(scope["headers"]) if scope["type"] == "http" else None
        if key is None:
            await self._app(scope, receive, send)
            return
        try:
            # The body has no name here: it may be large, and the answer may take long.
            answer = await self._retries.answer(self._app, key, await read_body(receive, timeout=self._timeout), scope)
            await answer(receive, send)
        except ClientGone:
            logger.debug("the client left; a retry may still come")


def idempotency_key(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The key in a request's headers, None without. Raises ``InvalidRequest`` for several, and for what is no such thing."""
    values = [value for name, value in headers if name == HEADER.lower().encode()]
    if not values:
        return None
    if len(values) > 1 or not _KEY.fullmatch(values[0]):
        raise InvalidRequest(
            f"{HEADER} must be sent once, with 1 to {MAX_IDEMPOTENCY_KEY_CHARS} printable ASCII characters",
            code=Code.INVALID_VALUE,
            param=HEADER,
        )
    return values[0].decode("ascii")


def digest_of(method: str, path: str, body: bytes) -> str:
    """Tells requests apart; routes have no line breaks in them."""
    digest = hashlib.sha256(f"{method} {path}\n".encode())
    digest.update(body)
    return digest.hexdigest()


def _reply(running: _Running) -> KeptReply | None:
    """What to keep of a run that ended, if anything."""
    answer = running.run.answer()
    if answer is None or not 200 <= answer[0]["status"] < 300:
        return None
    start, body = answer
    headers = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"])
    return KeptReply(
        digest=running.digest,
        status=start["status"],
        headers=tuple((name, value) for name, value in headers if name.lower() not in _PER_REPLY),
        body=body,
    )


def _replay(reply: KeptReply) -> Answer:
    """Sends what was kept."""

    async def replay(_: Receive, send: Send) -> None:
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in reply.headers]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body, "more_body": False})

    return replay


def _again(answer: Answer) -> Answer:
    """Says that the reply is an earlier one's."""

    async def marked(receive: Receive, send: Send) -> None:
        async def mark(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], REPLAYED]}
            await send(message)

        await answer(receive, mark)

    return marked


def _mismatch() -> Conflict:
    return Conflict(
        f"this {HEADER} was used for another request: send the same body to the same path, or a new key",
        code=Code.IDEMPOTENCY_MISMATCH,
        param=HEADER,
    )
