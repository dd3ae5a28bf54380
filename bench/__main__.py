"""The command line of the benchmark: `python -m bench --help`."""

from __future__ import annotations

import argparse
import asyncio
import datetime as dt
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import uvloop

from bench import gateway, machine, peers, report, rounds
from bench.rounds import Cell, Results
from bench.servers import SERVERS, Failed, Server, Setup, demo_model
from bench.workloads import WORKLOADS

_DOCUMENT: Final = Path("docs/benchmarks.md")
_FULL: Final = ("dragoman", "llama-server", "xllamacpp")
_QUICK: Final = ("dragoman", "llama-server")
_QUICK_CLIENTS: Final = {"distinct": (1, 8, 16), "shared": (8,), "conversation": (4,), "contexts": ()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to run."""

    servers: tuple[str, ...]
    cells: tuple[Cell, ...]
    rounds: int
    gateway_seconds: float
    setup: Setup
    output: Path | None


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark, print the block, and put it into the document. Returns the exit status."""
    try:
        plan = _plan(arguments)
        block = report.render(uvloop.run(_run(plan, arguments)))
    except Failed as failure:
        _tell(str(failure))
        return 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        _tell("ended before all was measured; nothing is written")
        return 130
    sys.stdout.write(f"{block}\n")
    if plan.output is not None:
        document = plan.output.read_text() if plan.output.exists() else "# Benchmarks\n"
        plan.output.write_text(report.place(document, block))
        _tell(f"written to {plan.output}")
    return 0


async def _run(plan: Plan, arguments: Sequence[str]) -> report.Report:
    if (task := asyncio.current_task()) is not None:  # a benchmark that is ended leaves no server behind
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    host = machine.describe()
    unavailable: dict[str, str] = {}
    candidates = _candidates(plan, unavailable)
    logs = Path(tempfile.mkdtemp(prefix="dragoman-bench-"))
    _tell(f"logs of the servers are in {logs}")
    results = await rounds.measure(candidates, plan.cells, plan.rounds, logs, _tell) if candidates else Results()
    cost = None
    if plan.gateway_seconds:
        _tell("the gateway alone")
        cost = await gateway.measure(logs / "gateway.log", seconds=plan.gateway_seconds)
    setup = plan.setup
    return report.Report(
        date=dt.datetime.now(tz=dt.UTC).date().isoformat(),
        command=" ".join(["python -m bench", *arguments]),
        machine=host,
        model=setup.model.name,
        conditions=f"{setup.threads} threads, {setup.slots} slots of {setup.context} tokens, {plan.rounds} rounds",
        versions={server.name: server.version for server in candidates},
        cells=plan.cells,
        results=results,
        gateway=cost,
        unavailable=unavailable,
    )


def _candidates(plan: Plan, unavailable: dict[str, str]) -> list[Server]:
    """The servers that can be had; the reasons of the others are added to ``unavailable``."""
    candidates = []
    for name in plan.servers:
        _tell(f"preparing {name}")
        try:
            candidates.append(SERVERS[name](plan.setup))
        except peers.Unavailable as reason:
            unavailable[name] = str(reason)
    return candidates


def _plan(arguments: Sequence[str]) -> Plan:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Dragoman and its peers under the same load.")
    parser.add_argument("--quick", action="store_true", help="under two minutes; prints only, unless --output is given")
    parser.add_argument("--servers", nargs="*", choices=SERVERS, metavar="NAME", help=f"among {', '.join(SERVERS)}")
    parser.add_argument(
        "--workloads", nargs="*", choices=WORKLOADS, metavar="NAME", help=f"among {', '.join(WORKLOADS)}"
    )
    parser.add_argument(
        "--clients", nargs="*", type=int, metavar="N", help="numbers of clients at once, for each workload"
    )
    parser.add_argument("--rounds", type=int, metavar="N", help="turns of each server (default 3; 1 with --quick)")
    parser.add_argument("--model", type=Path, metavar="GGUF", help="default: the demo model")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="of each server (default: the cores)")
    parser.add_argument("--gateway-seconds", type=float, metavar="S", help="per gateway figure; 0 leaves them out")
    parser.add_argument("--output", type=Path, help=f"document that gets the figures (default: {_DOCUMENT})")
    options = parser.parse_args(arguments)
    quick: bool = options.quick
    return Plan(
        servers=tuple(options.servers if options.servers is not None else _QUICK if quick else _FULL),
        cells=tuple(
            Cell(workload, clients)
            for name, workload in WORKLOADS.items()
            if options.workloads is None or name in options.workloads
            for clients in options.clients or (_QUICK_CLIENTS[name] if quick else workload.clients)
        ),
        rounds=options.rounds or (1 if quick else 3),
        gateway_seconds=options.gateway_seconds if options.gateway_seconds is not None else (1.0 if quick else 3.0),
        setup=Setup(model=options.model or demo_model(), threads=options.threads),
        output=options.output or (None if quick else _DOCUMENT),
    )


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
