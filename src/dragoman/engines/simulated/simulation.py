"""An engine without a model: commands in, the steps of a script, frames out. Knows no pipe.

``link.SimulatedLink`` runs it in memory, ``__main__`` as a child process. Each request is a task that walks its steps; what
they write in one turn of the loop leaves in one piece, as the step of a real engine does.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final, NoReturn, assert_never

from dragoman.engines.base import IMAGES, EngineInfo
from dragoman.engines.clock import Clock
from dragoman.engines.simulated import vocabulary
from dragoman.engines.simulated.reading import Refused, read_pieces, read_submit, read_tokens
from dragoman.engines.simulated.tape import (
    Begin,
    CloseInput,
    Delay,
    Emit,
    Exit,
    Fail,
    Hang,
    Hold,
    Raw,
    Say,
    Script,
    SimulatedRequest,
    Step,
)
from dragoman.protocol.frames import (
    Accept,
    BadCommand,
    Cancel,
    Command,
    Data,
    DetokenizeCommand,
    Done,
    Echo,
    Error,
    Frame,
    Numeric,
    Stop,
    Submit,
    Text,
    TokenizeCommand,
    Tokens,
)
from dragoman.protocol.session import EngineSession
from dragoman.scheduler.miss import Miss

REMEMBERED: Final = 64
"""Sequences whose prefixes count as cached."""

BROKEN: Final = 70
"""Exit status of an engine whose script raised (EX_SOFTWARE of sysexits.h)."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Run:
    """A request at work."""

    request: SimulatedRequest
    limit: int
    cached: int
    accepted: bool = False
    emitted: int = 0
    generated: list[int] = field(default_factory=list)
    task: asyncio.Task[None] | None = None


class Simulation:
    """One engine. ``write`` takes its output, ``leave`` the status with which it ends; neither may call back."""

    def __init__(
        self,
        info: EngineInfo,
        script: Script,
        *,
        clock: Clock,
        spawn: int,
        write: Callable[[bytes], None],
        leave: Callable[[int], None],
    ) -> None:
        self.deaf = False
        self._info = info
        self._script = script
        self._clock = clock
        self._spawn = spawn
        self._sink = write
        self._leave = leave
        self._session = EngineSession()
        self._output = bytearray()
        self._runs: dict[int, _Run] = {}
        self._cache: deque[tuple[str, tuple[int, ...]]] = deque(maxlen=REMEMBERED)
        self._hung = False
        self._ending = False
        self._ended = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def _sees(self) -> bool:
        return IMAGES in self._info.features

    def load(self, startup: Iterable[Step]) -> None:
        """Begin to walk the steps of loading."""
        self._start(self._walk_startup(startup))

    def feed(self, data: bytes) -> None:
        """Take bytes from the gateway. Raises ``RemoteProtocolError`` when the gateway breaks the framing."""
        if self._hung or self._ended:
            return
        self._session.receive_data(data)
        while (command := self._session.next_command()) is not None:
            self._handle(command)

    def end_input(self) -> None:
        """No more commands: end when nothing runs any more (seeds.md 2.1)."""
        self._ending = True
        self._end_if_idle()

    def exit(self, code: int) -> None:
        """End now."""
        if self._ended:
            return
        self._flush()
        self._ended = True
        current = asyncio.current_task()
        for task in self._tasks:
            if task is not current:
                task.cancel()
        self._leave(code)

    # --- commands ----------------------------------------------------------------------------------------------------

    def _handle(self, command: Command | BadCommand) -> None:
        try:
            match command:
                case Submit():
                    self._submit(command)
                case Cancel(id):
                    self._end(self._find(id), Error(id, "CANCELLED"))
                case Stop(id):
                    self._finish(self._find(id), limited=False)
                case TokenizeCommand():
                    self._write(Tokens(command.id, read_tokens(command, sees=self._sees)))
                case DetokenizeCommand():
                    self._write(Text(command.id, read_pieces(command)))
                case BadCommand():
                    self._write(Error(command.id, command.code, command.detail))
                case _:
                    assert_never(command)
        except Refused as refusal:
            self._write(Error(command.id, *refusal.args))

    def _find(self, request_id: int) -> _Run:
        if request_id not in self._runs:
            raise Refused("NOT_FOUND")
        return self._runs[request_id]

    def _submit(self, command: Submit) -> None:
        if command.slot >= self._info.slots:
            raise Refused("BAD_REQUEST", "invalid cache slot")
        if any(run.request.slot == command.slot for run in self._runs.values()):
            raise Refused("SLOT_BUSY")
        capacity = self._info.context_length
        request = read_submit(command, spawn=self._spawn, capacity=capacity, sees=self._sees)
        run = _Run(
            request=request,
            limit=min(command.max_tokens, self._info.context_length - len(request.ids)),
            cached=self._shared(request),
        )
        self._runs[command.id] = run
        run.task = self._start(self._serve(run))

    def _shared(self, request: SimulatedRequest) -> int:
        """The longest prefix that an earlier sequence had, too; the last token is always computed, and for an echo all are."""
        longest = 0
        for key, known in self._cache if request.echo is None else ():
            if key == request.isolation:
                longest = max(longest, sum(1 for _ in takewhile(_equal, zip(request.ids, known, strict=False))))
        return min(longest, len(request.ids) - 1)

    # --- steps -------------------------------------------------------------------------------------------------------

    async def _walk_startup(self, steps: Iterable[Step]) -> None:
        for step in steps:
            await self._take(step)

    async def _serve(self, run: _Run) -> None:
        stopped = False
        for step in self._script(run.request):
            match step:
                case Begin():
                    self._accept(run)
                case Emit():
                    if run.emitted < run.limit:
                        self._emit(run, step)
                        stopped = run.emitted > run.request.min_tokens and step.token in run.request.stop_token_ids
                    if stopped or run.emitted >= run.limit:
                        break
                case Fail():
                    self._end(run, Error(run.request.id, step.code, step.detail))
                    return
                case _:
                    await self._take(step)
        self._finish(run, limited=not stopped and run.emitted >= run.limit)

    async def _take(self, step: Step) -> None:
        match step:
            case Say():
                self._write(step.frame)
            case Raw():
                self._put(step.data)
            case Delay():
                await self._clock.sleep(step.seconds)
            case Hold():
                await step.event.wait()
            case Exit():
                self.exit(step.code)
                await self._for_ever()
            case Hang():
                self._flush()
                self._hung = True
                await self._for_ever()
            case CloseInput():
                self.deaf = True
            case Begin() | Emit() | Fail():
                raise TypeError(f"{step} is a step of a request")
            case _:
                assert_never(step)

    async def _for_ever(self) -> NoReturn:
        await asyncio.get_running_loop().create_future()
        raise AssertionError("nobody ends the wait of an engine that is gone")

    def _accept(self, run: _Run) -> None:
        if run.accepted:
            return
        run.accepted = True
        request = run.request
        self._cache.append((request.isolation, request.ids))
        self._write(Accept(request.id, len(request.ids), run.cached, _miss(run)))
        if request.echo is not None:
            self._echo(request, request.echo)

    def _echo(self, request: SimulatedRequest, alternatives: int) -> None:
        for position, token in enumerate(request.ids):
            numeric = _numeric(token, alternatives) if position else Numeric(float("nan"))
            shown = token if request.extended else None
            self._write(Echo(request.id, position, vocabulary.PIECES[token], numeric, shown))

    def _emit(self, run: _Run, step: Emit) -> None:
        self._accept(run)
        run.emitted += 1
        request = run.request
        # As the next prompt will spell it, so that a conversation finds its own answers in the cache.
        run.generated += (step.token,) if vocabulary.is_special(step.token) and step.token else step.payload
        if vocabulary.is_special(step.token) and not request.extended:
            return
        numeric = step.numeric
        if numeric is None and request.logprobs is not None:
            numeric = _numeric(step.token or 0, request.logprobs)
        self._write(Data(request.id, step.payload, numeric, step.token if request.extended else None))

    def _finish(self, run: _Run, *, limited: bool) -> None:
        self._accept(run)
        request = run.request
        self._cache.append((request.isolation, request.ids + tuple(run.generated)))
        done = Done(
            id=request.id,
            emitted=run.emitted,
            tokens_per_second=0.0,
            hit_percent=100.0 * run.cached / len(request.ids),
            rss_gb=0.0,
            prompt_tokens=len(request.ids),
            length_limited=limited,
            computed_tokens=len(request.ids) - run.cached,
        )
        self._end(run, done)

    def _end(self, run: _Run, frame: Done | Error) -> None:
        self._runs.pop(run.request.id, None)
        self._write(frame)
        if run.task is not None and run.task is not asyncio.current_task():
            run.task.cancel()
        self._end_if_idle()

    def _end_if_idle(self) -> None:
        if self._ending and not self._runs and not self._hung:
            self.exit(0)

    # --- output ------------------------------------------------------------------------------------------------------

    def _write(self, frame: Frame) -> None:
        self._put(self._session.encode(frame))

    def _put(self, data: bytes) -> None:
        if self._hung or self._ended:
            return
        if not self._output:
            asyncio.get_running_loop().call_soon(self._flush)
        self._output += data

    def _flush(self) -> None:
        if self._output and not self._hung and not self._ended:
            data = bytes(self._output)
            self._output.clear()
            self._sink(data)

    def _start(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a script failed, and the engine with it", exc_info=error)
            self.exit(BROKEN)


def _equal(pair: tuple[int, int]) -> bool:
    return pair[0] == pair[1]


def _miss(run: _Run) -> str:
    """Why not more of a prompt was cached: what a scheduler says that never forgets, and shares nothing that is too short."""
    if run.cached == len(run.request.ids) - 1:
        return ""
    if run.request.echo is not None:
        return Miss.ECHO
    return Miss.DIVERGED if run.cached else Miss.COLD


def _numeric(token: int, alternatives: int) -> Numeric:
    """The chosen token at -0.25, the lowest other ids below it."""
    others = [other for other in range(alternatives) if other != token]
    ranked = [token, *others][:alternatives]
    return Numeric(-0.25, tuple((ranked_id, -0.25 - rank) for rank, ranked_id in enumerate(ranked)))
