"""The figures as Markdown, and where they go in docs/benchmarks.md. Pure text."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from bench.gateway import GatewayCost
from bench.goals import OURS, verdicts
from bench.machine import Machine
from bench.measures import first_token, ratio, summarise, throughput
from bench.rounds import Cell, Results

BEGIN: Final = "<!-- figures: written by `make bench` -->"
END: Final = "<!-- end of the figures -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One run. ``unavailable`` has the peers that could not be had, and why."""

    date: str
    command: str
    machine: Machine
    model: str
    conditions: str
    versions: dict[str, str]
    cells: Sequence[Cell]
    results: Results
    gateway: GatewayCost | None = None
    unavailable: dict[str, str] = field(default_factory=dict)


def render(report: Report) -> str:
    """The whole block, without the markers."""
    sections = [_heading(report), _goals(report), *_workloads(report), _memory(report), _gateway(report)]
    return "\n\n".join(section for section in sections if section)


def place(document: str, block: str) -> str:
    """Put a block between the markers of a document, in place of the last one; at its end if it has none.

    Raises ``ValueError`` when only one of the markers is there: what to replace would be a guess.
    """
    if document.count(BEGIN) != document.count(END):
        raise ValueError("the document has one marker without the other")
    marked = f"{BEGIN}\n\n{block}\n\n{END}"
    before, begin, rest = document.partition(BEGIN)
    if not begin:
        return f"{document.rstrip()}\n\n{marked}\n".lstrip()
    return f"{before}{marked}{rest.partition(END)[2]}"


def _heading(report: Report) -> str:
    machine = report.machine
    processor = f"{machine.processor}, {machine.cores} cores ({machine.instructions}), {machine.memory_gib:.0f} GiB"
    lines = [
        f"Measured on {report.date} by `{report.command}`, with {report.conditions}.",
        "",
        f"- Machine: {processor}, {machine.system}; load average {machine.load:.2f} before the start",
        f"- Model: {report.model}",
        *(f"- {name}: {version}" for name, version in report.versions.items()),
        *(f"- {name}: not measured: {reason}" for name, reason in report.unavailable.items()),
    ]
    return "\n".join(lines)


def _goals(report: Report) -> str:
    rows = [
        (verdict.goal, f"{verdict.measured:.2f}", f"{verdict.kind} {verdict.bound:g}", verdict.unit, _yes(verdict.met))
        for verdict in verdicts(report.results, report.gateway)
    ]
    return _section("Goals", ("goal", "measured", "bound", "unit", "met"), rows)


def _workloads(report: Report) -> Iterator[str]:
    header = (
        *("clients", "server", "tokens/s", "first token p50, ms", "p95", "between tokens p50, ms", "p95"),
        *("prompt tokens", "cached", f"{OURS}'s tokens/s", f"{OURS}'s first token"),
    )
    for workload in dict.fromkeys(cell.workload.name for cell in report.cells):
        cells = [cell for cell in report.cells if cell.workload.name == workload]
        rows = [_row(report.results, cell, server) for cell in cells for server in report.versions]
        yield _section(f"Workload `{workload}`: {cells[0].workload.title}", header, rows)


def _row(results: Results, cell: Cell, server: str) -> tuple[str, ...]:
    name, clients = cell.workload.name, cell.clients
    if failure := results.failures.get((server, name, clients)):
        return (str(clients), server, f"failed: {failure.replace('|', '/').splitlines()[0][:120]}", *[""] * 8)
    rounds = results.rounds(server, name, clients)
    if not rounds:
        return (str(clients), server, "not measured", *[""] * 8)
    summary = summarise(rounds)
    paired = results.paired(OURS, server, name, clients) if server != OURS else []
    return (
        *(str(clients), server, f"{summary.tokens_per_second:.0f}"),
        *(_milliseconds(summary.first_token_p50), _milliseconds(summary.first_token_p95)),
        *(_milliseconds(summary.between_p50), _milliseconds(summary.between_p95)),
        *(f"{summary.prompt_tokens:.0f}", f"{summary.cached_share:.0%}"),
        f"{ratio(paired, throughput):.2f} x" if paired else "",
        f"{ratio(paired, first_token):.2f} x" if paired else "",
    )


def _memory(report: Report) -> str:
    rows = [
        (
            name,
            f"{max(process.peak_bytes for process in processes) / 2**20:.0f}",
            f"{statistics.median(process.load_seconds for process in processes):.1f}",
        )
        for name, processes in report.results.processes.items()
    ]
    return _section("Memory and start", ("server", "peak resident, MiB, all processes", "healthy after, s"), rows)


def _gateway(report: Report) -> str:
    cost = report.gateway
    if cost is None:
        return ""
    rows = [
        ("requests per second (one token each, 16 connections)", f"{cost.requests_per_second:.0f}"),
        ("time to first token, p50, ms", f"{cost.first_token_p50 * 1e3:.2f}"),
        ("time to first token, p95, ms", f"{cost.first_token_p95 * 1e3:.2f}"),
        *(
            (f"processor time of the gateway per streamed token, {streams} streams, µs", f"{seconds * 1e6:.1f}")
            for streams, seconds in cost.processor_per_token.items()
        ),
    ]
    return _section("The gateway alone, in front of an engine that computes nothing", ("cost", "measured"), rows)


def _section(title: str, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A heading and a table; nothing without rows."""
    if not rows:
        return ""
    table = [header, tuple("---" for _ in header), *rows]
    return "\n".join([f"### {title}", "", *(f"| {' | '.join(row)} |" for row in table)])


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.0f}" if seconds >= 0.1 else f"{seconds * 1e3:.1f}"


def _yes(met: bool) -> str:
    return "yes" if met else "**no**"
