"""The simulated engine as a child process: ``python -m dragoman.engines.simulated --tokens 100 --delay 0.01``.

A prompt that contains ``!exit N`` ends the process with status N after ACCEPT, ``!kill N`` by signal N, ``!half`` in the middle of a
DATA frame, and ``!flood N`` answers with N bytes in frames of 60,000.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from dragoman.engines.simulated.child import run
from dragoman.engines.simulated.engine import INFO, SEEING
from dragoman.engines.simulated.tape import Begin, Delay, Emit, Exit, Raw, Script, SimulatedRequest, Step, canned

_ORDER: Final = re.compile(r"!(exit|kill|half|flood) ?(\d*)")

FLOOD_BYTES: Final = 60_000


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
    info = replace(SEEING if options.images else INFO, slots=options.slots, context_length=options.context)
    run(_obedient(canned(tokens=options.tokens, delay=options.delay)), info, load=options.load)


if __name__ == "__main__":
    main()
