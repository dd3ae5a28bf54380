"""The gateway's side of an engine that speaks the protocol: the calls that run on it, and their fate when it dies.

The rule of a crash: a call that the engine had accepted fails by name; one that it had not is sent once more, to the next
engine, and fails if that dies, too. So nothing is lost silently, no client sees an answer begin twice, and a request that
kills engines kills two at most.

A watch task looks at all deadlines once a second: no timer per request.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from dragoman.core.errors import Code, EngineFailed, Internal, Unsupported
from dragoman.core.request import TextPrompt
from dragoman.engines.base import EngineImage, EngineInfo, EngineRequest
from dragoman.engines.calls import Call, Reply, Stream
from dragoman.engines.clock import Clock, LoopClock, within
from dragoman.engines.failures import not_accepted, shutting_down, silent, still_loading
from dragoman.engines.link import DRAIN_SECONDS, LinkFactory
from dragoman.engines.restart import RestartPolicy
from dragoman.engines.submitting import submit_command, tokenize_command
from dragoman.engines.supervisor import Status, Supervisor
from dragoman.protocol.errors import LocalProtocolError
from dragoman.protocol.frames import (
    Cancel,
    DetokenizeCommand,
    RequestFrame,
    Stop,
    Submit,
    Text,
    TokenizeCommand,
    Tokens,
)

_log = logging.getLogger(__name__)

A = TypeVar("A", Tokens, Text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How many seconds the client waits for what.

    ``accept``: ACCEPT, from an engine that was asked for what it had not announced (1.0.1, S88). One that had is trusted to
    read a long prompt first.
    ``stall``: any frame at all, from an engine with extensions while calls run. It reports progress through a prefill, so
    silence means that it hangs.
    ``restart``: an engine that is coming back, on behalf of a call that waits for it.
    ``cancel``: the end of a cancelled request.
    ``settle``: the description of an engine that has said READY and nothing more.
    ``drain``: running requests, at the end.
    ``tick``: the next look at the deadlines.
    """

    accept: float = 30.0
    stall: float = 120.0
    restart: float = 60.0
    cancel: float = 10.0
    settle: float = 5.0
    drain: float = DRAIN_SECONDS
    tick: float = 1.0


class EngineClient:
    """An ``Engine`` behind a link.

    ``defaults`` describes an engine that does not describe itself (one without ``CAPS ext=1``). ``on_progress`` hears what
    part is loaded, 0 to 1, and what is being done; ``on_restart`` that a new engine has taken the place of a dead one.
    """

    def __init__(
        self,
        links: LinkFactory,
        *,
        defaults: EngineInfo | None = None,
        clock: Clock | None = None,
        patience: Patience | None = None,
        restarts: RestartPolicy | None = None,
        on_progress: Callable[[float, str], None] | None = None,
        on_restart: Callable[[], None] | None = None,
    ) -> None:
        self._clock = clock or LoopClock()
        self._patience = patience or Patience()
        self._supervisor = Supervisor(
            links,
            self,
            defaults=defaults,
            clock=self._clock,
            restarts=restarts or RestartPolicy(),
            on_progress=on_progress or (lambda _fraction, _phase: None),
            on_restart=on_restart or (lambda: None),
        )
        self._ids = itertools.count(1)
        self._calls: dict[int, Call] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._closing = False
        self._watcher: asyncio.Task[None] | None = None

    # --- the engine's interface --------------------------------------------------------------------------------------

    @property
    def info(self) -> EngineInfo:
        """The model; raises ``EngineFailed`` before the first load."""
        if self._supervisor.info is None:
            raise self._supervisor.failure or still_loading()
        return self._supervisor.info

    @property
    def status(self) -> Status:
        """``loading`` also while a dead engine is replaced; ``failed`` when nobody tries any more."""
        return self._supervisor.status

    @property
    def failure(self) -> str | None:
        """Why the engine is not ready; while it is replaced, what became of the last one."""
        failure = self._supervisor.failure
        return None if failure is None else failure.message

    @property
    def pending(self) -> int:
        """Calls that the engine has not ended."""
        return len(self._calls)

    @property
    def unknown_frames(self) -> int:
        """Lines of a kind that we do not know, which were skipped (seeds.md 4.1.20)."""
        return self._supervisor.unknown_frames

    async def start(self) -> None:
        """Load the model; raises ``EngineFailed`` when it cannot. The last lines of the engine's log are its notes."""
        self._watcher = asyncio.create_task(self._watch())
        self._supervisor.start()
        await self._supervisor.settled()
        if self._supervisor.status == "failed":
            raise self._supervisor.failure or shutting_down()

    async def submit(self, request: EngineRequest) -> Stream:
        """Hand a request over. Waits for an engine that is coming back, but not for ever.

        Raises ``EngineFailed`` when there is no engine (``engine_loading``, ``engine_crashed``, ``shutting_down``),
        ``Unsupported`` naming a feature that it did not announce, ``InvalidRequest`` for a prompt that cannot be sent.
        """
        info = await self._ready()
        extended = self._supervisor.extended
        command = submit_command(next(self._ids), request, info, extended=extended)
        stream = Stream(command, self, request, extended=extended)
        await self._hand_over(stream)
        return stream

    async def tokenize(self, prompt: TextPrompt, images: tuple[EngineImage, ...] = ()) -> tuple[int, ...]:
        """Token ids of a text, with ``vocabulary_size`` for each position of a picture. Raises as ``submit`` does."""
        info = await self._ready()
        return (await self._ask(tokenize_command(next(self._ids), prompt, images, info), Tokens)).ids

    async def detokenize(self, ids: tuple[int, ...], *, special: bool = True) -> tuple[bytes, ...]:
        """The bytes of each id. Raises as ``submit`` does, and ``InvalidRequest`` for an id that is none."""
        command = DetokenizeCommand(id=next(self._ids), ids=ids, special=special)
        return (await self._ask(command, Text)).pieces

    async def aclose(self) -> None:
        """Refuse new requests, let running ones end for ``Patience.drain`` seconds, then stop the engine."""
        self._closing = True
        drain = self._patience.drain if self._supervisor.status == "ready" else 0.0
        if self._calls:
            try:
                await within(self._clock, drain, self._idle.wait())
            except TimeoutError:
                _log.warning("%d requests were still running at the end", len(self._calls))
        await self._supervisor.close(drain=drain)
        if self._watcher is not None:
            self._watcher.cancel()

    # --- what streams ask for (calls.Controls) -----------------------------------------------------------------------

    def stop(self, call: Stream) -> None:
        """Send STOP, if the request still runs."""
        if call.sent and call.command.id in self._calls:
            self._supervisor.send(Stop(call.command.id))

    def cancel(self, call: Call) -> None:
        """Send CANCEL, if the request still runs. It holds its slot until the engine says that it has ended."""
        if call.cancelled or call.command.id not in self._calls:
            return
        call.cancelled = True
        if not call.sent:
            self._drop(call)
        elif isinstance(call, Stream):  # a question is answered before it could be cancelled
            self._supervisor.send(Cancel(call.command.id))

    async def until_released(self, call: Stream) -> None:
        """Wait for the end of a cancelled request, at most ``Patience.cancel`` seconds."""
        try:
            await within(self._clock, self._patience.cancel, call.released())
        except TimeoutError:
            _log.warning("the engine has not ended a cancelled request; its slot is still taken")

    # --- what the supervisor tells (supervisor.Owner) ----------------------------------------------------------------

    def resume(self) -> None:
        """An engine is ready: send it what waits."""
        for call in self._calls.values():
            self._send(call)

    def deliver(self, frame: RequestFrame) -> None:
        """Pass a frame to its call; one that nobody waits for any more is dropped."""
        call = self._calls.get(frame.id)
        if call is not None and call.take(frame):
            self._drop(call)

    def lost(self, cause: EngineFailed, *, final: bool) -> None:
        """The engine is gone: fail what it had accepted, keep what it had not for the next one, once."""
        now = self._clock.now()
        for call in list(self._calls.values()):
            if final or call.accepted or call.cancelled or (call.sent and call.replayed):
                self._fail(call, cause)
            elif call.sent:
                call.sent, call.replayed, call.deadline, call.since = False, True, None, now

    # --- calls -------------------------------------------------------------------------------------------------------

    async def _ready(self) -> EngineInfo:
        supervisor = self._supervisor
        if supervisor.status == "loading" and not self._closing:
            try:
                await within(self._clock, self._patience.restart, supervisor.settled())
            except TimeoutError:
                raise still_loading() from None
        if self._closing:
            raise shutting_down()
        if supervisor.status != "ready" or supervisor.info is None:
            raise EngineFailed(f"There is no engine: {self.failure}", code=Code.ENGINE_STOPPED)
        return supervisor.info

    async def _ask(self, command: TokenizeCommand | DetokenizeCommand, kind: type[A]) -> A:
        info = await self._ready()
        if not self._supervisor.extended or "tokenize" not in info.features:
            message = "This engine does not offer its tokenizer."
            raise Unsupported(message, code=Code.UNSUPPORTED_VALUE, feature="tokenize")
        reply = Reply(command)
        await self._hand_over(reply)
        answer = await reply.answer
        if not isinstance(answer, kind):
            raise EngineFailed(f"The engine answered with {type(answer).__name__}.", code=Code.ENGINE_PROTOCOL)
        return answer

    async def _hand_over(self, call: Call) -> None:
        self._calls[call.command.id] = call
        self._idle.clear()
        try:
            self._send(call)
        except LocalProtocolError as error:  # our bug, and nothing was written
            self._drop(call)
            raise Internal(f"The request can not be put into a command: {error}.", code=Code.INTERNAL) from error
        try:
            await self._supervisor.drain()
        except asyncio.CancelledError:
            self.cancel(call)
            raise

    def _send(self, call: Call) -> None:
        command, now = call.command, self._clock.now()
        call.sent, call.since = True, now
        if not self._supervisor.extended and isinstance(command, Submit) and (command.logprobs or command.ids):
            call.deadline = now + self._patience.accept
        self._supervisor.send(command)

    def _fail(self, call: Call, error: EngineFailed) -> None:
        # An exception belongs to one raise: its traceback grows with each.
        call.fail(EngineFailed(error.message, code=error.code, retry_after=error.retry_after))
        self._drop(call)

    def _drop(self, call: Call) -> None:
        """Forget a call that has ended: every way out leads through here (S112)."""
        self._calls.pop(call.command.id, None)
        call.release()
        if not self._calls:
            self._idle.set()

    # --- deadlines ---------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        while True:
            await self._clock.sleep(self._patience.tick)
            self._look(self._clock.now())

    def _look(self, now: float) -> None:
        patience, supervisor = self._patience, self._supervisor
        supervisor.assume_loaded(patience.settle)
        for call in list(self._calls.values()):
            if not call.sent and now - call.since >= patience.restart:
                self._fail(call, still_loading())
            elif call.deadline is not None and now >= call.deadline:
                call.deadline = None
                call.fail(not_accepted(patience.accept))
                self.cancel(call)
            elif call.cancelled and call.command.id not in supervisor.live:
                self._drop(call)  # the session does not show how a request with a fault goes on, only that it has ended
        running = [call.since for call in self._calls.values() if call.sent]
        # The silence of an idle engine does not count: the clock runs from its first call.
        if supervisor.extended and running and now - max(supervisor.heard, min(running)) >= patience.stall:
            supervisor.condemn(silent(patience.stall))
