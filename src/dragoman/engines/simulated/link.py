"""A simulated engine behind a ``Link``, in memory, with everything that was written to it on record."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from dragoman.engines.base import EngineInfo
from dragoman.engines.clock import Clock, within
from dragoman.engines.link import DRAIN_SECONDS, READ_BYTES, ExitStatus, LinkBroken
from dragoman.engines.simulated.simulation import BROKEN, Simulation
from dragoman.engines.simulated.tape import Script, Startup, Step
from dragoman.protocol.errors import RemoteProtocolError


class SimulatedLink:
    """One engine. ``received`` is what it was sent, from its first byte: a golden transcript needs nothing else."""

    def __init__(self, info: EngineInfo, script: Script, startup: Iterable[Step], *, clock: Clock, spawn: int) -> None:
        self.received = bytearray()
        self.last_words: tuple[str, ...] = ()
        self._clock = clock
        self._output = bytearray()
        self._news = asyncio.Event()
        self._gone = asyncio.Event()
        self._status: ExitStatus | None = None
        self._closed = False
        self._simulation = Simulation(
            info, script, clock=clock, spawn=spawn, write=self._take_output, leave=self._take_status
        )
        self._simulation.load(startup)

    @property
    def exit_status(self) -> ExitStatus | None:
        return self._status

    async def read(self) -> bytes:
        while not self._output and self._status is None:
            self._news.clear()
            await self._news.wait()
        data = bytes(self._output[:READ_BYTES])
        del self._output[:READ_BYTES]
        return data

    def write(self, data: bytes) -> None:
        if self._closed or self._simulation.deaf or self._status is not None:
            raise LinkBroken("the engine closed its input")
        self.received += data
        asyncio.get_running_loop().call_soon(self._feed, data)

    async def drain(self) -> None:
        await asyncio.sleep(0)

    def kill(self) -> None:
        """End it as SIGKILL does: also when it hangs."""
        self._simulation.exit(-9)

    async def close(self, *, drain: float = DRAIN_SECONDS) -> None:
        if not self._closed:
            self._closed = True
            asyncio.get_running_loop().call_soon(self._simulation.end_input)
        if not self._gone.is_set():
            try:
                await within(self._clock, drain, self._gone.wait())
            except TimeoutError:
                self.kill()

    def _feed(self, data: bytes) -> None:
        try:
            self._simulation.feed(data)
        except RemoteProtocolError:
            self._simulation.exit(BROKEN)

    def _take_output(self, data: bytes) -> None:
        self._output += data
        self._news.set()

    def _take_status(self, code: int) -> None:
        self._status = ExitStatus(code)
        self._news.set()
        self._gone.set()


class SimulatedLinks:
    """A ``LinkFactory``; ``spawned`` has its engines, the first one first."""

    def __init__(self, info: EngineInfo, script: Script, startup: Startup, *, clock: Clock) -> None:
        self.spawned: list[SimulatedLink] = []
        self._info = info
        self._script = script
        self._startup = startup
        self._clock = clock

    async def __call__(self) -> SimulatedLink:
        spawn = len(self.spawned)
        link = SimulatedLink(self._info, self._script, self._startup(spawn), clock=self._clock, spawn=spawn)
        self.spawned.append(link)
        return link
