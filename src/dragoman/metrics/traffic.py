"""Requests, tokens and their speed, by surface and model. All series of a surface are made once, before they are used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, get_args

from prometheus_client import Counter, Histogram

from dragoman.core.observer import Outcome
from dragoman.metrics.instruments import Instruments

FIRST_TOKEN_SECONDS: Final = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 15, 30, 60, 120, 300,
)  # fmt: skip
"""From a cached prompt on a small model to the longest wait in the queue before a long prompt."""

TOKEN_GAP_SECONDS: Final = (
    0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5,
)  # fmt: skip
"""Close together where models are: a thousand tokens a second to one; slower is a stall."""

ANSWER_TOKENS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000)

MISSES: Final = ("cold", "diverged", "evicted", "answer", "indivisible", "busy", "short", "echo")
"""The scheduler's words for why a prompt was computed again; any other is counted as ``OTHER``, so labels stay few."""

OTHER: Final = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceTraffic:
    """The series of one surface, looked up already: one of them moves with each generated token."""

    requests: dict[Outcome, Counter]
    prompt_tokens: Counter
    cached_tokens: Counter
    completion_tokens: Counter
    misses: dict[str, Counter]
    first_token: Histogram
    token_gap: Histogram
    answer: Histogram

    def missed(self, reason: str) -> None:
        """A prompt was not cached as far as it could be."""
        self.misses.get(reason, self.misses[OTHER]).inc()


class Traffic:
    """Series for each of ``surfaces`` from the start, at zero; another one is added when it is first heard of."""

    def __init__(self, instruments: Instruments, *, model: str, surfaces: Sequence[str]) -> None:
        labels = ("surface", "model")
        counter, histogram = instruments.counter, instruments.histogram
        self._model = model
        self._requests = counter("requests", "Requests that had a slot and ended.", labels=(*labels, "outcome"))
        self._prompt = counter("prompt_tokens", "Tokens of accepted prompts, cached ones included.", labels=labels)
        self._cached = counter("cached_prompt_tokens", "Prompt tokens that were not computed again.", labels=labels)
        self._completion = counter("completion_tokens", "Tokens generated for clients.", labels=labels)
        self._misses = counter(
            "prefix_misses", "Prompts that were not cached as far as they could be.", labels=(*labels, "reason")
        )
        self._first_token = histogram(
            "time_to_first_token_seconds",
            "From a request to its first text, its wait in the queue included.",
            buckets=FIRST_TOKEN_SECONDS,
            labels=labels,
        )
        self._token_gap = histogram(
            "inter_token_latency_seconds",
            "Between two outputs of one sequence.",
            buckets=TOKEN_GAP_SECONDS,
            labels=labels,
        )
        self._answer = histogram(
            "request_completion_tokens", "Tokens generated for one request.", buckets=ANSWER_TOKENS, labels=labels
        )
        self._surfaces = {surface: self._series(surface) for surface in surfaces}

    def of(self, surface: str) -> SurfaceTraffic:
        """The series of a surface."""
        found = self._surfaces.get(surface)
        if found is None:
            found = self._surfaces[surface] = self._series(surface)
        return found

    def _series(self, surface: str) -> SurfaceTraffic:
        here = (surface, self._model)
        outcomes: tuple[Outcome, ...] = get_args(Outcome)
        return SurfaceTraffic(
            requests={outcome: self._requests.labels(*here, outcome) for outcome in outcomes},
            prompt_tokens=self._prompt.labels(*here),
            cached_tokens=self._cached.labels(*here),
            completion_tokens=self._completion.labels(*here),
            misses={reason: self._misses.labels(*here, reason) for reason in (*MISSES, OTHER)},
            first_token=self._first_token.labels(*here),
            token_gap=self._token_gap.labels(*here),
            answer=self._answer.labels(*here),
        )
