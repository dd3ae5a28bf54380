"""What waits for an engine: the stream of one request, and the reply to one question.

The client's reader task puts frames in; whoever asked takes them out. One deque and, only while somebody waits, one future:
no task and no queue object per request, because this is the path of every token.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Final, Protocol, TypeAlias

from dragoman.core.errors import Cancelled, Code, EngineFailed, ServiceError
from dragoman.engines.base import EngineOutput, EngineRequest
from dragoman.engines.failures import fault_failure, request_failure
from dragoman.engines.older import as_asked
from dragoman.protocol.frames import (
    Accept,
    Data,
    DetokenizeCommand,
    Done,
    Echo,
    Error,
    Fault,
    Progress,
    RequestFrame,
    Submit,
    Text,
    TokenizeCommand,
    Tokens,
    Tool,
)

MAX_UNREAD: Final = 262_144
"""Frames that may wait for a slow client. There is one per token, so an engine that writes more has left its context."""


class Controls(Protocol):
    """What a stream asks of the client that made it."""

    def stop(self, call: Stream) -> None:
        """Send STOP, if the request still runs."""
        ...

    def cancel(self, call: Stream) -> None:
        """Send CANCEL, if the request still runs."""
        ...

    async def until_released(self, call: Stream) -> None:
        """Wait, but not for ever, until the engine is done with the request."""
        ...


class Stream:
    """The outputs of one request: an ``EngineStream``, and what the client knows of it.

    ``sent`` is false while it waits for the engine to come back, ``replayed`` once it has been sent to a second one.
    ``deadline`` is the clock's time by which ACCEPT must have come. ``cancelled`` means that nobody reads it any more.
    """

    __slots__ = (
        "_controls",
        "_echo",
        "_ended",
        "_error",
        "_frames",
        "_logprobs",
        "_older",
        "_released",
        "_waiter",
        "accepted",
        "cancelled",
        "command",
        "deadline",
        "replayed",
        "sent",
        "since",
    )

    def __init__(self, command: Submit, controls: Controls, request: EngineRequest, *, extended: bool) -> None:
        self.command = command
        self.accepted = False
        self.cancelled = False
        self.replayed = False
        self.sent = False
        self.since = 0.0
        self.deadline: float | None = None
        self._controls = controls
        self._logprobs = request.logprobs
        self._echo = request.echo
        self._older = not extended
        self._frames: deque[EngineOutput] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._error: ServiceError | None = None
        self._ended = False
        self._released = asyncio.Event()

    # --- for whoever asked ---

    def __aiter__(self) -> AsyncIterator[EngineOutput]:
        return self

    async def __anext__(self) -> EngineOutput:
        while not self._frames:
            if self._error is not None:
                raise self._error
            if self._ended:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self._frames.popleft()

    async def stop(self) -> None:
        """Finish early. A write that fails shows in the iteration, as every failure of the engine does (S108)."""
        self._controls.stop(self)

    async def aclose(self) -> None:
        """Cancel if still running, then wait, but not for ever, until the engine has let go of the slot."""
        if self._released.is_set():
            return
        self._controls.cancel(self)
        self.fail(Cancelled("The request was cancelled.", code=Code.CANCELLED))
        await self._controls.until_released(self)

    async def released(self) -> None:
        """Return once the engine has sent the last frame of the request, or is gone: until then the slot is taken."""
        await self._released.wait()

    # --- for the client ---

    def take(self, frame: RequestFrame) -> bool:
        """Pass a frame on; true when it is the last one."""
        match frame:
            case Data():
                self._put(as_asked(frame, self._logprobs) if self._older else frame)
                return False
            case Tool() | Progress():
                self._put(frame)
                return False
            case Accept():
                self.accepted = True
                self.deadline = None
                self.command = replace(self.command, images=())  # not sent again from now on, and they are large
                self._put(frame)
                return False
            case Echo():
                if self._echo is not None:  # older engines echo with every logprobs request (S87)
                    self._put(as_asked(frame, self._echo) if self._older else frame)
                return False
            case Done():
                self._put(frame)
                self._ended = True
                return True
            case Error():
                self.fail(request_failure(frame, ids=self.command.ids))
                return True
            case Fault():
                self.fail(fault_failure(frame))
                self._controls.cancel(self)  # once: the rest is of no use to anybody (S85)
                return False
            case Tokens() | Text():
                raise AssertionError("the session gives a request only frames of its own kind")

    def fail(self, error: ServiceError) -> None:
        """End the iteration with ``error``, after what has arrived; the first failure counts."""
        if self._error is None and not self._ended:
            self._error = error
            self._wake()

    def release(self) -> None:
        """The engine holds nothing of it any more."""
        self._released.set()

    def _put(self, frame: EngineOutput) -> None:
        if self._error is not None:
            return
        if len(self._frames) >= MAX_UNREAD:
            self.fail(EngineFailed("The engine wrote more than any answer holds.", code=Code.ENGINE_PROTOCOL))
            self._controls.cancel(self)
            return
        self._frames.append(frame)
        self._wake()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)


class Reply:
    """The one answer to a TOKENIZE or DETOKENIZE, with the same life as a ``Stream``."""

    __slots__ = ("accepted", "answer", "cancelled", "command", "deadline", "replayed", "sent", "since")

    def __init__(self, command: TokenizeCommand | DetokenizeCommand) -> None:
        self.command = command
        self.accepted = False
        self.cancelled = False
        self.replayed = False
        self.sent = False
        self.since = 0.0
        self.deadline: float | None = None
        self.answer: asyncio.Future[Tokens | Text] = asyncio.get_running_loop().create_future()

    def take(self, frame: RequestFrame) -> bool:
        """Pass the answer on; true when it is one."""
        match frame:
            case Tokens() | Text():
                if not self.answer.done():
                    self.answer.set_result(frame)
            case Error():
                self.fail(request_failure(frame, ids=isinstance(self.command, DetokenizeCommand)))
            case Fault():
                self.fail(fault_failure(frame))
            case _:
                raise AssertionError("the session gives a question only frames of its own kind")
        return True

    def fail(self, error: ServiceError) -> None:
        """Raise ``error`` where the answer is awaited, unless nobody waits any more."""
        if not self.answer.done():
            self.answer.set_exception(error)

    def release(self) -> None:
        """Nothing else waits for the end of a question."""


Call: TypeAlias = Stream | Reply
