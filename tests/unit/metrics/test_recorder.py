"""Names, buckets and meanings of the exposition (S145 to S150)."""

from __future__ import annotations

import itertools
import math
import re

import pytest
from prometheus_client import REGISTRY

from dragoman import __version__
from dragoman.core.events import Usage
from dragoman.metrics import Metrics
from dragoman.scheduler.miss import Miss
from support.exposition import bounds, moved, numbers

USAGE = Usage(prompt_tokens=7, completion_tokens=3, cached_tokens=2)
HERE = "model=small,surface=chat"


def new() -> Metrics:
    return Metrics(max_queue=8, model="small", surfaces=("chat", "completions"))


@pytest.mark.seeds("S146", "S147", "S148")
def test_the_documented_names_are_there_from_the_start_and_zero() -> None:
    found = numbers(new())
    names = [f"scheduler_{name}" for name in ("active", "queued", "capacity")]
    names += [
        f"scheduler_{name}_total" for name in ("admitted", "completed", "failed", "rejected", "timed_out", "cancelled")
    ]
    names += [
        f"scheduler_{name}_seconds_count" for name in ("queue_wait", "slot_duration", "first_output", "engine_call")
    ]
    names += [f"cancellations_total{{phase={phase}}}" for phase in ("queue", "prefill", "decode")]
    names += ["engine_restarts_total"]
    assert {name: found.get(name) for name in names} == dict.fromkeys(names, 0.0)
    assert found["scheduler_max_queue"] == 8


@pytest.mark.seeds("S150")
def test_every_surface_has_all_its_series_from_the_start_so_that_a_rate_sees_the_first_request() -> None:
    found = numbers(new())
    for surface in ("chat", "completions"):
        here = f"model=small,surface={surface}"
        outcomes = [f"model=small,outcome={o},surface={surface}" for o in ("completed", "failed", "cancelled")]
        reasons = [f"model=small,reason={r},surface={surface}" for r in (*Miss, "other")]
        names = [f"requests_total{{{labels}}}" for labels in outcomes]
        names += [f"prefix_misses_total{{{labels}}}" for labels in reasons]
        names += [f"{name}_total{{{here}}}" for name in ("prompt_tokens", "cached_prompt_tokens", "completion_tokens")]
        names += [
            f"{name}_count{{{here}}}"
            for name in ("time_to_first_token_seconds", "inter_token_latency_seconds", "request_completion_tokens")
        ]
        assert {name: found.get(name) for name in names} == dict.fromkeys(names, 0.0)


@pytest.mark.seeds("S148")
@pytest.mark.parametrize("name", ["queue_wait", "slot_duration", "first_output", "engine_call"])
def test_the_schedulers_buckets_are_the_documented_ones(name) -> None:
    expected = [0.001, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, math.inf]
    assert bounds(new(), f"scheduler_{name}_seconds") == expected


def test_token_gaps_are_told_apart_from_a_thousand_tokens_a_second_to_one() -> None:
    per_surface = bounds(Metrics(max_queue=8, model="small", surfaces=("chat",)), "inter_token_latency_seconds")
    assert [per_surface[0], per_surface[-1]] == [0.001, math.inf]
    fine = [bound for bound in per_surface if bound <= 1]
    assert fine[-1] == 1
    assert all(after / before <= 2 for before, after in itertools.pairwise(fine)), "a factor of two, at most"


MOVES = {
    "configured": (lambda m: m.configured(slots=16), {"scheduler_capacity": 16}),
    "queue_changed": (
        lambda m: m.queue_changed(active=2, queued=5),
        {"scheduler_active": 2, "scheduler_queued": 5},
    ),
    "admitted": (
        lambda m: m.admitted(waited=0.25),
        {"scheduler_admitted_total": 1, "scheduler_queue_wait_seconds_sum": 0.25},
    ),
    "rejected": (lambda m: m.rejected(), {"scheduler_rejected_total": 1}),
    "timed_out": (lambda m: m.timed_out(), {"scheduler_timed_out_total": 1}),
    "cancelled": (
        lambda m: m.cancelled("prefill"),
        {"scheduler_cancelled_total": 1, "cancellations_total{phase=prefill}": 1},
    ),
    "accepted": (
        lambda m: m.accepted(surface="chat", prompt_tokens=7, cached_tokens=2, miss=""),
        {f"prompt_tokens_total{{{HERE}}}": 7, f"cached_prompt_tokens_total{{{HERE}}}": 2},
    ),
    "accepted, with a miss": (
        lambda m: m.accepted(surface="chat", prompt_tokens=7, cached_tokens=0, miss="cold"),
        {f"prompt_tokens_total{{{HERE}}}": 7, "prefix_misses_total{model=small,reason=cold,surface=chat}": 1},
    ),
    "first_token": (
        lambda m: m.first_token(surface="chat", after=0.5),
        {f"time_to_first_token_seconds_sum{{{HERE}}}": 0.5},
    ),
    "token_gap": (
        lambda m: m.token_gap(surface="chat", seconds=0.02),
        {f"inter_token_latency_seconds_sum{{{HERE}}}": 0.02},
    ),
    "first_output": (lambda m: m.first_output(after=0.5), {"scheduler_first_output_seconds_sum": 0.5}),
    "finished": (
        lambda m: m.finished("completed", surface="chat", usage=USAGE, engine_seconds=2, slot_seconds=3),
        {
            "scheduler_completed_total": 1,
            "requests_total{model=small,outcome=completed,surface=chat}": 1,
            f"completion_tokens_total{{{HERE}}}": 3,
            f"request_completion_tokens_sum{{{HERE}}}": 3,
            "scheduler_engine_call_seconds_sum": 2,
            "scheduler_slot_duration_seconds_sum": 3,
        },
    ),
    "finished, without usage": (
        lambda m: m.finished("failed", surface="chat", usage=None, engine_seconds=2, slot_seconds=3),
        {
            "scheduler_failed_total": 1,
            "requests_total{model=small,outcome=failed,surface=chat}": 1,
            "scheduler_engine_call_seconds_sum": 2,
            "scheduler_slot_duration_seconds_sum": 3,
        },
    ),
    "engine_restarted": (lambda m: m.engine_restarted(), {"engine_restarts_total": 1}),
}


@pytest.mark.seeds("S146", "S147", "S148", "S151")
@pytest.mark.parametrize("event", MOVES)
def test_each_event_moves_its_own_numbers_and_no_other(event) -> None:
    play, expected = MOVES[event]
    metrics = new()
    before = numbers(metrics)
    play(metrics)
    assert moved(metrics, before) == expected


@pytest.mark.seeds("S147", "S148")
@pytest.mark.parametrize(
    ("outcome", "completed", "failed"), [("completed", 1, 0), ("failed", 0, 1), ("cancelled", 0, 0)]
)
def test_a_cancelled_request_is_neither_completed_nor_failed(outcome, completed, failed) -> None:
    metrics = new()
    metrics.finished(outcome, surface="chat", usage=USAGE, engine_seconds=2.0, slot_seconds=3.0)
    found = numbers(metrics)
    assert found["scheduler_completed_total"] == completed
    assert found["scheduler_failed_total"] == failed
    assert found["scheduler_cancelled_total"] == 0, "it was counted when the client left"
    assert found[f"requests_total{{model=small,outcome={outcome},surface=chat}}"] == 1


def test_a_reason_that_is_not_known_does_not_become_a_label() -> None:
    """An engine of another make chooses its words, and a label of its choice would grow without end."""
    metrics = new()
    before = numbers(metrics)
    for word in ("moon", "0xdeadbeef", "x" * 1000):
        metrics.accepted(surface="chat", prompt_tokens=0, cached_tokens=0, miss=word)
    assert moved(metrics, before) == {"prefix_misses_total{model=small,reason=other,surface=chat}": 3}


def test_each_reason_that_our_scheduler_gives_has_its_own_label() -> None:
    metrics = new()
    before = numbers(metrics)
    for miss in Miss:
        metrics.accepted(surface="chat", prompt_tokens=0, cached_tokens=0, miss=miss)
    assert moved(metrics, before) == {f"prefix_misses_total{{model=small,reason={m},surface=chat}}": 1 for m in Miss}


def test_a_surface_that_was_not_announced_is_counted_all_the_same() -> None:
    metrics = new()
    metrics.first_token(surface="messages", after=0.1)
    metrics.first_token(surface="messages", after=0.1)
    assert numbers(metrics)["time_to_first_token_seconds_count{model=small,surface=messages}"] == 2


def test_the_build_is_named() -> None:
    assert numbers(new())[f"build_info{{model=small,version={__version__}}}"] == 1


@pytest.mark.seeds("S145")
def test_the_text_is_format_0_0_4_and_each_family_is_described_and_has_our_prefix() -> None:
    text, content_type = new().exposition()
    assert content_type == "text/plain; version=0.0.4; charset=utf-8"
    lines = text.decode().splitlines()
    helped = {line.split()[2] for line in lines if line.startswith("# HELP ")}
    types = {line.split()[2]: line.split()[3] for line in lines if line.startswith("# TYPE ")}
    assert helped == set(types)
    assert all(re.fullmatch(r"dragoman_[a-z_]+", name) for name in types)
    assert all((kind == "counter") == name.endswith("_total") for name, kind in types.items())
    assert all(re.match(r"dragoman_[a-z_]+(\{.*\})? \S+$", line) for line in lines if not line.startswith("#"))
    assert text.endswith(b"\n")


def test_a_name_with_quotes_and_line_breaks_stays_one_label() -> None:
    metrics = Metrics(max_queue=8, model='a "b"\n\\c', surfaces=("chat",))
    assert 'completion_tokens_total{model=a "b"\n\\c,surface=chat}' in numbers(metrics)


def test_two_servers_share_no_number_and_the_global_registry_stays_empty() -> None:
    first, second = new(), new()
    first.rejected()
    assert numbers(second)["scheduler_rejected_total"] == 0
    assert not [family.name for family in REGISTRY.collect() if "dragoman" in family.name]
