"""The simulated engine as a child process: ``python -m dragoman.engines.simulated --tokens 100 --delay 0.01``.

A prompt that contains ``!exit N`` ends the process with status N after ACCEPT, ``!kill N`` by signal N, ``!half`` in the middle of a
DATA frame, and ``!flood N`` answers with N bytes in frames of 60,000.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import signal
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from dragoman.engines.clock import LoopClock
from dragoman.engines.simulated.engine import INFO, SEEING, modern
from dragoman.engines.simulated.simulation import Simulation
from dragoman.engines.simulated.tape import (
    Begin,
    Delay,
    Emit,
    Exit,
    Raw,
    Script,
    SimulatedRequest,
    Startup,
    Step,
    canned,
)

_ORDER: Final = re.compile(r"!(exit|kill|half|flood) ?(\d*)")

FLOOD_BYTES: Final = 60_000


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


def _obedient(otherwise: Script) -> Script:
    def script(request: SimulatedRequest) -> Iterable[Step]:
        order = _ORDER.search(request.text)
        if order is None:
            return otherwise(request)
        number = int(order[2] or 0)
        match order[1]:
            case "exit":
                return [Begin(), Exit(number)]
            case "kill":
                return [Begin(), Exit(-number)]
            case "half":
                return [Begin(), Raw(b"DATA %d 100\nhalf" % request.id), Exit(0)]
            case _:
                return _flood(number)

    return script


def _flood(size: int) -> Iterator[Step]:
    for start in range(0, size, FLOOD_BYTES):
        yield Emit(b"x" * min(FLOOD_BYTES, size - start))
        yield Delay()


def _slow(startup: Startup, seconds: float) -> Iterator[Step]:
    yield Delay(seconds)
    yield from startup(0)


async def _serve(options: argparse.Namespace) -> None:
    info = replace(SEEING if options.images else INFO, slots=options.slots, context_length=options.context)
    script = _obedient(canned(tokens=options.tokens, delay=options.delay))
    simulation = Simulation(info, script, clock=LoopClock(), spawn=0, write=_write, leave=_leave)
    simulation.load(_slow(modern(info), options.load))
    await asyncio.get_running_loop().connect_read_pipe(lambda: _Pipe(simulation), sys.stdin.buffer)
    await asyncio.get_running_loop().create_future()


def main() -> None:
    """Serve one session over stdin and stdout."""
    parser = argparse.ArgumentParser(prog="dragoman.engines.simulated", description=__doc__)
    parser.add_argument("--tokens", type=int, default=None, help="words of an answer (one sentence)")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each of them")
    parser.add_argument("--load", type=float, default=0.0, help="seconds before READY")
    parser.add_argument("--slots", type=int, default=INFO.slots)
    parser.add_argument("--context", type=int, default=INFO.context_length)
    parser.add_argument("--images", action="store_true", help="take pictures, each as four tokens")
    options = parser.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it; an engine dies of it (S111)
    asyncio.run(_serve(options))


if __name__ == "__main__":
    main()
