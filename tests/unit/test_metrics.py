"""Names, buckets and meanings of the exposition (S145 to S149)."""

from __future__ import annotations

import pytest
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from dragoman.core.events import Usage
from dragoman.metrics import Metrics

USAGE = Usage(prompt_tokens=7, completion_tokens=3, cached_tokens=2)


def numbers(metrics: Metrics) -> dict[str, float]:
    text, _ = metrics.exposition()
    samples = [sample for family in text_string_to_metric_families(text.decode()) for sample in family.samples]
    return {
        sample.name + "".join(f"{{{key}={value}}}" for key, value in sorted(sample.labels.items())): sample.value
        for sample in samples
    }


@pytest.mark.seeds("S146", "S147", "S148")
def test_the_documented_names_are_there_from_the_start_and_zero() -> None:
    found = numbers(Metrics(max_queue=8, surfaces=("chat",)))
    names = [f"dragoman_scheduler_{name}" for name in ("active", "queued", "capacity")]
    names += [
        f"dragoman_scheduler_{name}_total"
        for name in ("admitted", "completed", "failed", "rejected", "timed_out", "cancelled")
    ]
    names += [
        f"dragoman_scheduler_{name}_seconds_count"
        for name in ("queue_wait", "slot_duration", "first_output", "engine_call")
    ]
    names += [f"dragoman_cancellations_total{{phase={phase}}}" for phase in ("queue", "prefill", "decode")]
    names += [f"dragoman_requests_total{{outcome={o}}}{{surface=chat}}" for o in ("completed", "failed", "cancelled")]
    names += [f"dragoman_{name}_total" for name in ("prompt_tokens", "cached_prompt_tokens", "completion_tokens")]
    names += ["dragoman_engine_restarts_total"]
    assert {name: found.get(name) for name in names} == dict.fromkeys(names, 0.0)
    assert found["dragoman_scheduler_max_queue"] == 8


@pytest.mark.seeds("S148")
def test_the_buckets_are_the_documented_ones() -> None:
    found = numbers(Metrics(max_queue=8))
    prefix = "dragoman_scheduler_queue_wait_seconds_bucket{le="
    bounds = [name[len(prefix) : -1] for name in found if name.startswith(prefix)]
    assert bounds == ["0.001", "0.01", "0.05", "0.1", "0.5", "1.0", "5.0", "10.0", "30.0", "60.0", "300.0", "+Inf"]


@pytest.mark.seeds("S146", "S147", "S148")
def test_each_event_moves_its_own_numbers_and_no_other() -> None:
    moves = {
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
            lambda m: m.accepted(prompt_tokens=7, cached_tokens=2),
            {"prompt_tokens_total": 7, "cached_prompt_tokens_total": 2},
        ),
        "first_output": (lambda m: m.first_output(after=0.5), {"scheduler_first_output_seconds_sum": 0.5}),
        "engine_restarted": (lambda m: m.engine_restarted(), {"engine_restarts_total": 1}),
    }
    for event, (play, expected) in moves.items():
        metrics = Metrics(max_queue=8)
        before = numbers(metrics)
        play(metrics)
        moved = {
            name.removeprefix("dragoman_"): value
            for name, value in numbers(metrics).items()
            if value != before.get(name) and not name.endswith("_count") and "_bucket" not in name
        }
        assert moved == expected, event


@pytest.mark.seeds("S147", "S148")
@pytest.mark.parametrize(
    ("outcome", "completed", "failed"), [("completed", 1, 0), ("failed", 0, 1), ("cancelled", 0, 0)]
)
def test_a_cancelled_request_is_neither_completed_nor_failed(outcome, completed, failed) -> None:
    metrics = Metrics(max_queue=8)
    metrics.finished(outcome, surface="chat", usage=USAGE, engine_seconds=2.0, slot_seconds=3.0)
    found = numbers(metrics)
    assert found["dragoman_scheduler_completed_total"] == completed
    assert found["dragoman_scheduler_failed_total"] == failed
    assert found[f"dragoman_requests_total{{outcome={outcome}}}{{surface=chat}}"] == 1
    assert found["dragoman_completion_tokens_total"] == 3
    assert found["dragoman_scheduler_engine_call_seconds_sum"] == 2.0
    assert found["dragoman_scheduler_slot_duration_seconds_sum"] == 3.0


def test_two_servers_share_no_number_and_the_global_registry_stays_empty() -> None:
    first, second = Metrics(max_queue=1), Metrics(max_queue=2)
    first.rejected()
    assert numbers(second)["dragoman_scheduler_rejected_total"] == 0
    assert not [family.name for family in REGISTRY.collect() if "dragoman" in family.name]
