"""The bounds are those of the issue that asked for this benchmark."""

from __future__ import annotations

import pytest

from bench.gateway import GatewayCost
from bench.goals import verdicts
from bench.rounds import Results
from bench.streams import Stream


def stream(first, last, tokens):
    return Stream(sent=0.0, arrivals=(first, last), text="x", prompt_tokens=9, cached_tokens=0, output_tokens=tokens)


def results(**cells):
    """``workload=(clients, our stream, their stream)``, one round."""
    found = Results()
    for workload, (clients, ours, theirs) in cells.items():
        found.streams["dragoman", workload, clients] = {0: (ours,)}
        found.streams["llama-server", workload, clients] = {0: (theirs,)}
    return found


def found(verdicts):
    return {(verdict.bound, verdict.kind): (verdict.measured, verdict.met) for verdict in verdicts}


def test_a_cold_shared_prefix_must_be_three_and_a_half_times_as_fast():
    slow = stream(1.0, 7.0, 7)
    assert found(verdicts(results(shared=(8, stream(1.0, 2.0, 7), slow)), None)) == {(3.5, "at least"): (3.5, True)}
    assert found(verdicts(results(shared=(8, stream(1.0, 2.0, 6), slow)), None)) == {(3.5, "at least"): (3.0, False)}


def test_distinct_contexts_must_be_twice_as_fast():
    assert found(verdicts(results(contexts=(8, stream(1, 2, 8), stream(1, 4, 8))), None)) == {
        (2.0, "at least"): (2.0, True)
    }


@pytest.mark.parametrize("clients", [1, 4, 8, 16])
def test_distinct_prompts_must_not_be_slower_nor_start_later(clients):
    ours, theirs = stream(0.5, 2.0, 8), stream(0.25, 2.0, 8)
    assert found(verdicts(results(distinct=(clients, ours, theirs)), None)) == {
        (1.0, "at least"): (1.0, True),
        (1.0, "at most"): (2.0, False),
    }


def test_a_cell_that_only_one_server_has_decides_nothing():
    lonely = Results()
    lonely.streams["dragoman", "shared", 8] = {0: (stream(1, 2, 8),)}
    assert list(verdicts(lonely, None)) == []


def test_the_gateway_is_held_to_a_millisecond_and_sixty_microseconds():
    cost = GatewayCost(
        requests_per_second=1.0,
        first_token_p50=0.0009,
        first_token_p95=0.5,
        processor_per_token={1: 59e-6, 8: 61e-6},
    )
    met = [(round(verdict.measured, 3), verdict.bound, verdict.met) for verdict in verdicts(Results(), cost)]
    assert met == [(0.9, 1.0, True), (59.0, 60.0, True), (61.0, 60.0, False)]
