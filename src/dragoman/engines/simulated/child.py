"""A script as a child process: what ``SimulatedEngine`` plays in memory, over stdin and stdout."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator

from dragoman.engines.base import EngineInfo
from dragoman.engines.clock import LoopClock
from dragoman.engines.simulated.engine import modern
from dragoman.engines.simulated.simulation import Simulation
from dragoman.engines.simulated.tape import Delay, Script, Startup, Step


def run(script: Script, info: EngineInfo, *, load: float = 0.0) -> None:
    """Serve one session, after ``load`` seconds. The process ends with it."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it; an engine dies of it (S111)
    asyncio.run(_serve(script, info, load))


async def _serve(script: Script, info: EngineInfo, load: float) -> None:
    simulation = Simulation(info, script, clock=LoopClock(), spawn=0, write=_write, leave=_leave)
    simulation.load(_slow(modern(info), load))
    await asyncio.get_running_loop().connect_read_pipe(lambda: _Pipe(simulation), sys.stdin.buffer)
    await asyncio.get_running_loop().create_future()


class _Pipe(asyncio.Protocol):
    """Standard input."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def data_received(self, data: bytes) -> None:
        self._simulation.feed(data)

    def eof_received(self) -> None:
        self._simulation.end_input()


def _write(data: bytes) -> None:
    """Write all of it, and wait as a real engine does: a slow reader slows the engine, and loses nothing."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def _leave(code: int) -> None:
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)  # nothing is left to clean up, and tasks must not have a last word


def _slow(startup: Startup, seconds: float) -> Iterator[Step]:
    yield Delay(seconds)
    yield from startup(0)
