"""Turn by turn: each round starts every server in its turn, gives it every load, and stops it.

The order is reversed from round to round, so that a machine that slows down or warms up hits all alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import load, servers
from bench.client import Refused
from bench.measures import throughput
from bench.servers import Server
from bench.streams import BrokenStream, Stream
from bench.workloads import Workload


@dataclass(frozen=True, slots=True)
class Cell:
    """A workload with a number of clients."""

    workload: Workload
    clients: int


@dataclass(frozen=True, slots=True)
class Process:
    """One run of a server: seconds until it was healthy, and the most bytes that it held."""

    load_seconds: float
    peak_bytes: int


@dataclass(slots=True)
class Results:
    """All that was measured. Keys are names of servers, workloads with clients, and rounds.

    A cell that failed once has the reason in ``failures`` and is not measured further on that server.
    """

    streams: dict[tuple[str, str, int], dict[int, tuple[Stream, ...]]] = field(default_factory=dict)
    processes: dict[str, list[Process]] = field(default_factory=dict)
    failures: dict[tuple[str, str, int], str] = field(default_factory=dict)

    def rounds(self, server: str, workload: str, clients: int) -> list[tuple[Stream, ...]]:
        """What the clients of one cell saw, round by round; empty where it was not measured."""
        return list(self.streams.get((server, workload, clients), {}).values())

    def paired(
        self, ours: str, theirs: str, workload: str, clients: int
    ) -> list[tuple[tuple[Stream, ...], tuple[Stream, ...]]]:
        """The same of two servers, for the rounds in which both were measured."""
        mine = self.streams.get((ours, workload, clients), {})
        other = self.streams.get((theirs, workload, clients), {})
        return [(mine[round_], other[round_]) for round_ in mine if round_ in other]


async def measure(
    candidates: Sequence[Server], cells: Sequence[Cell], rounds: int, logs: Path, tell: Callable[[str], None]
) -> Results:
    """Measure every cell on every server, ``rounds`` times. Raises ``servers.Failed`` when one does not start."""
    results = Results()
    for round_ in range(rounds):
        order = candidates if round_ % 2 == 0 else tuple(reversed(candidates))
        for server in order:
            if round_ >= server.max_rounds:
                continue
            tell(f"round {round_ + 1} of {rounds}: {server.name}")
            async with servers.running(server, logs / f"{server.name}.log") as running:
                await load.warm_up(running.port)
                for cell in cells:
                    await _measure_cell(results, server, running.port, cell, round_)
                    tell(f"  {cell.workload.name}, {cell.clients} clients: {_told(results, server, cell, round_)}")
                process = Process(running.load_seconds, running.peak_resident_bytes())
                results.processes.setdefault(server.name, []).append(process)
    return results


def _told(results: Results, server: Server, cell: Cell, round_: int) -> str:
    key = (server.name, cell.workload.name, cell.clients)
    if key in results.failures:
        return results.failures[key]
    return f"{throughput(results.streams[key][round_]):.1f} tokens/s"


async def _measure_cell(results: Results, server: Server, port: int, cell: Cell, round_: int) -> None:
    key = (server.name, cell.workload.name, cell.clients)
    if key in results.failures:
        return
    try:
        streams = await load.run(port, cell.workload, cell.clients, round_)
    except* (Refused, BrokenStream, ConnectionError, TimeoutError) as group:
        results.failures[key] = f"{type(group.exceptions[0]).__name__}: {group.exceptions[0]}"
    else:
        results.streams.setdefault(key, {})[round_] = streams
