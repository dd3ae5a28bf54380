"""What the figures are held to: the limits that this project set itself, and whether a run met them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from bench.gateway import GatewayCost
from bench.measures import first_token, ratio, throughput
from bench.rounds import Results

OURS: Final = "dragoman"
PEER: Final = "llama-server"
"""Built with our flags, so that only the server differs."""

_THROUGHPUT: Final = (
    ("distinct", 1, 1.0),
    ("distinct", 4, 1.0),
    ("distinct", 8, 1.0),
    ("distinct", 16, 1.0),
    ("shared", 8, 3.5),
    ("contexts", 8, 2.0),
)
_FIRST_TOKEN: Final = (("distinct", 1, 1.0), ("distinct", 4, 1.0), ("distinct", 8, 1.0), ("distinct", 16, 1.0))
_GATEWAY_MILLISECONDS: Final = 1.0
_GATEWAY_MICROSECONDS_PER_TOKEN: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A goal, what was measured, and the bound that it is held to."""

    goal: str
    measured: float
    bound: float
    kind: Literal["at least", "at most"]
    unit: Literal["times", "ms", "µs"] = "times"

    @property
    def met(self) -> bool:
        """Whether the figure is on the right side of the bound."""
        return self.measured >= self.bound if self.kind == "at least" else self.measured <= self.bound


def verdicts(results: Results, gateway: GatewayCost | None) -> Iterator[Verdict]:
    """The goals that this run has figures for."""
    for workload, clients, bound in _THROUGHPUT:
        if rounds := results.paired(OURS, PEER, workload, clients):
            goal = f"{workload}, {clients} clients: tokens per second, against {PEER}"
            yield Verdict(goal=goal, measured=ratio(rounds, throughput), bound=bound, kind="at least")
    for workload, clients, bound in _FIRST_TOKEN:
        if rounds := results.paired(OURS, PEER, workload, clients):
            goal = f"{workload}, {clients} clients: time to first token (p50), against {PEER}"
            yield Verdict(goal=goal, measured=ratio(rounds, first_token), bound=bound, kind="at most")
    if gateway is not None:
        yield Verdict(
            goal="gateway: time to first token (p50), with an engine that computes nothing",
            measured=gateway.first_token_p50 * 1e3,
            bound=_GATEWAY_MILLISECONDS,
            kind="at most",
            unit="ms",
        )
        for streams, seconds in gateway.processor_per_token.items():
            yield Verdict(
                goal=f"gateway: processor time per streamed token, {streams} streams",
                measured=seconds * 1e6,
                bound=_GATEWAY_MICROSECONDS_PER_TOKEN,
                kind="at most",
                unit="µs",
            )
