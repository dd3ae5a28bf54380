"""Keeps one engine alive: opens a link, reads it to its end, says why it ended, and opens the next.

Whatever goes wrong (a frame that breaks the framing, a write that fails, silence, a killed child) becomes one event, the
end of the link, with one cause. ``Owner`` has the calls that run on it, and decides what becomes of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Final, Literal, Protocol, TypeAlias, assert_never

from dragoman.core.errors import Code, EngineFailed
from dragoman.engines.base import EngineInfo
from dragoman.engines.clock import Clock
from dragoman.engines.description import read_description
from dragoman.engines.failures import (
    broken_protocol,
    exit_failure,
    load_failure,
    not_started,
    shutting_down,
    undescribed,
    unwritable,
)
from dragoman.engines.link import Link, LinkBroken, LinkFactory
from dragoman.engines.restart import RestartPolicy
from dragoman.protocol.errors import RemoteProtocolError
from dragoman.protocol.frames import (
    Accept,
    Caps,
    Command,
    Data,
    Done,
    Echo,
    Error,
    Fault,
    Frame,
    LoadFail,
    LoadProgress,
    Model,
    Progress,
    Ready,
    RequestFrame,
    Telemetry,
    Text,
    Tokens,
    Tool,
)
from dragoman.protocol.session import GatewaySession

EXIT_SECONDS: Final = 1.0
"""What a child that closed its output may take to end by itself, so that we learn how."""

Status: TypeAlias = Literal["loading", "ready", "failed"]

_log = logging.getLogger(__name__)


class Owner(Protocol):
    """Who has calls on the engine."""

    def resume(self) -> None:
        """An engine is ready, the first or the next: ``Supervisor.send`` reaches it."""
        ...

    def deliver(self, frame: RequestFrame) -> None:
        """A frame for one of the calls."""
        ...

    def lost(self, cause: EngineFailed, *, final: bool) -> None:
        """The engine is gone, and what it had not answered it never will; after ``final`` none follows."""
        ...


class Supervisor:
    """The life of an engine, one link after another. Made by ``EngineClient``, which has the same arguments."""

    def __init__(
        self,
        links: LinkFactory,
        owner: Owner,
        *,
        defaults: EngineInfo | None,
        clock: Clock,
        restarts: RestartPolicy,
        on_progress: Callable[[float, str], None],
        on_restart: Callable[[], None],
    ) -> None:
        self.status: Status = "loading"
        self.failure: EngineFailed | None = None
        self.info: EngineInfo | None = None
        self.unknown_frames = 0
        self._links = links
        self._owner = owner
        self._defaults = defaults
        self._clock = clock
        self._restarts = restarts
        self._on_progress = on_progress
        self._on_restart = on_restart
        self._crashes: deque[float] = deque(maxlen=len(restarts.delays) + 1)
        self._closing = False
        self._changed = asyncio.Event()  # set at every change of status, and replaced
        self._task: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._pause: asyncio.Future[None] | None = None
        # Of the link at hand:
        self.extended = False
        self.heard = 0.0
        self._link: Link | None = None
        self._session = GatewaySession()
        self._doom: EngineFailed | None = None
        self._loaded_since: float | None = None
        self._served = False

    @property
    def live(self) -> frozenset[int]:
        """Ids that the engine at hand has not ended."""
        return self._session.live

    def start(self) -> None:
        """Begin to load; ``settled`` tells when it is known how that went."""
        self._task = asyncio.create_task(self._run())

    async def settled(self) -> None:
        """Return when the status is no longer ``loading``."""
        while self.status == "loading":
            await self._changed.wait()

    async def close(self, *, drain: float) -> None:
        """End the engine, giving it ``drain`` seconds for what runs. Nothing is started any more."""
        self._closing = True
        if self._task is not None:
            # The task is not cancelled: a child that is just being started, or buried, must not be left behind.
            if self._link is not None:
                await self._link.close(drain=drain)
            if self._pause is not None:
                self._pause.cancel()
            await asyncio.wait((self._task,))
        self._change("failed", shutting_down())
        self._owner.lost(shutting_down(), final=True)

    # --- writing -----------------------------------------------------------------------------------------------------

    def send(self, command: Command) -> None:
        """Write a command whole. A write that fails ends the link, which the owner hears of; nothing is raised (S108)."""
        link = self._link
        if link is None:
            return
        data = self._session.send(command)
        try:
            link.write(data)
        except LinkBroken as broken:
            self._let_go(link, broken)

    async def drain(self) -> None:
        """Wait until the engine has read most of what was written to it."""
        link = self._link
        if link is None:
            return
        try:
            await link.drain()
        except LinkBroken as broken:
            self._let_go(link, broken)

    def _let_go(self, link: Link, broken: LinkBroken) -> None:
        """It does not read any more. Usually it is dead: give it a moment, so that we learn of what."""
        if self._link is link and not self._closing:
            self._link = None
            self._change("loading", unwritable(broken))
            self._ending = asyncio.create_task(link.close(drain=EXIT_SECONDS))

    def condemn(self, cause: EngineFailed) -> None:
        """Kill the engine at hand: it can not be trusted, or does not listen."""
        if self._link is not None and not self._closing:
            self._link.kill()
            self._link = None
            self._doom = cause
            self._change("loading", cause)

    def assume_loaded(self, settle: float) -> None:
        """Take an engine for ready that said READY ``settle`` seconds ago, and has not described itself since."""
        if self._loaded_since is not None and self._clock.now() - self._loaded_since >= settle:
            self._open(self._defaults)

    # --- the life of a link ------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            while not self._closing and (delay := self._bury(await self._live())) is not None:
                self._pause = asyncio.ensure_future(self._clock.sleep(delay))
                await asyncio.wait((self._pause,))
        except Exception as error:  # noqa: BLE001 - the process shell is where a bug must not leave anybody waiting
            _log.exception("the engine's supervisor failed")
            cause = EngineFailed(f"The engine's supervisor failed: {error!r}.", code=Code.INTERNAL)
            self._change("failed", cause)
            self._owner.lost(cause, final=True)

    async def _live(self) -> EngineFailed:
        """Open a link and serve from it until it ends; why it did, with the last lines of its log as notes."""
        try:
            link = await self._links()
        except LinkBroken as broken:
            return not_started(broken)
        if self._closing:
            await link.close(drain=0.0)
            return shutting_down()
        self._adopt(link)
        try:
            try:
                await self._pump(link)
            except RemoteProtocolError as error:
                self.condemn(broken_protocol(error))
            self._link = None  # nothing more is written to it
            if self.status == "ready":
                self._change("loading", exit_failure(link.exit_status, loading=False))
            await link.close(drain=EXIT_SECONDS)
        except BaseException:
            link.kill()
            raise
        cause = self._doom or exit_failure(link.exit_status, loading=not self._served)
        for line in link.last_words:
            cause.add_note(line)
        return cause

    def _adopt(self, link: Link) -> None:
        self._link, self._session = link, GatewaySession()
        self._doom = self._loaded_since = None
        self._served = self.extended = False

    async def _pump(self, link: Link) -> None:
        session = self._session
        while data := await link.read():
            self.heard = self._clock.now()
            session.receive_data(data)
            while (frame := session.next_frame()) is not None:
                self._route(frame)
                if self._doom is not None:
                    return

    def _bury(self, cause: EngineFailed) -> float | None:
        """Seconds until the next link; None when there will be none."""
        if self._closing:
            return None
        now = self._clock.now()
        self._crashes.append(now)
        # An engine that has never loaded has a wrong setting, not an accident.
        delay = None if self.info is None else self._restarts.delay(self._crashes, now)
        _log.error("%s %s", cause.message, "It is not started again." if delay is None else "It is started again.")
        self._change("failed" if delay is None else "loading", cause)
        self._owner.lost(cause, final=delay is None)
        return delay

    def _change(self, status: Status, failure: EngineFailed | None) -> None:
        self.status, self.failure = status, failure
        self._changed.set()
        self._changed = asyncio.Event()

    # --- frames ------------------------------------------------------------------------------------------------------

    def _route(self, frame: Frame) -> None:
        match frame:
            case Data() | Accept() | Done() | Error() | Progress() | Echo() | Tool() | Tokens() | Text() | Fault():
                self._owner.deliver(frame)
            case Telemetry():
                self.unknown_frames += not frame.known
                if frame.kind == "STAT" and self._loaded_since is not None:
                    self._open(self._defaults)  # an older engine's first status line ends its start-up (seeds.md 2.2)
            case LoadProgress():
                self._on_progress(frame.fraction, frame.phase)
            case Ready():
                self._loaded_since = self._clock.now()
            case Caps():
                self.extended = frame.values.get("ext") == "1"
            case Model():
                try:
                    self._open(read_description(frame.description))
                except EngineFailed as error:
                    self.condemn(error)
            case LoadFail():
                self.condemn(load_failure(frame))
            case _:
                assert_never(frame)

    def _open(self, info: EngineInfo | None) -> None:
        if info is None:
            self.condemn(undescribed())
        else:
            self._ready(info)

    def _ready(self, info: EngineInfo) -> None:
        again = self.info is not None
        self.info, self._served, self._loaded_since = info, True, None
        self._change("ready", None)
        if again:
            self._on_restart()
        self._owner.resume()
